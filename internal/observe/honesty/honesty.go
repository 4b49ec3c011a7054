// Package honesty checks what a workload says that it did against what the devices counted meanwhile: whether the
// device answered, or memory did. It turns values into values.
package honesty

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
)

// servedShare is the share of what fio issued that the device must have
// served, in I/Os or in bytes, for the device to count as the one who
// answered. Honest stacks are at 1 or above (measured: ext4, xfs and overlay
// 1.00, btrfs above 1); whatever a cache answers is missing, and already a
// tenth of it makes a number that the device would not give.
const servedShare = 0.9

// flushedShare is the share of fio's writes above which flushes of a device
// are the workload's own: one flush serves all writers that wait for it. What
// file systems flush by themselves, every some seconds, is far below it.
const flushedShare = 0.01

// bottom is the Role of a device that holds the bytes.
const bottom = "bottom"

// Judge checks fio's counts against those of the devices while fio ran.
// measured is the share of that time that fio's numbers cover: runtime /
// (ramp + runtime).
//
// A stack serves no more than its least link: a loop device that counts every
// read while the disk under it counts none has a cache between them; a file
// system whose device counts nothing has one above. So reads and writes are
// compared each with their own, and at the device of the chain that counted
// least. That also keeps out what other programs do to a disk they share:
// they can add to a counter, never take from it.
//
// Counters cannot tell all of writes through a loop device without direct I/O:
// they are complete once they are in the page cache. Where the kernel writes
// them back before the trial ends, the disk counts them too, though none of
// them waited for it.
func Judge(m result.Measurement, counted []result.DeviceCounter, measured float64) result.Honesty {
	h := result.Honesty{Source: result.SourceUnknown, Served: counted}
	ios := float64(m.Operation(result.Read).Count + m.Operation(result.Write).Count) // fsync moves no bytes of its own
	if ios == 0 {
		h.Reason = "fio completed no I/O"
		return h
	}
	facts := []string{fmt.Sprintf("fio issued %d reads and %d writes", m.Operation(result.Read).Count,
		m.Operation(result.Write).Count)}
	for i := range counted {
		c := &counted[i]
		c.PerIO = float64(c.Reads+c.Writes) * measured / ios
		facts = append(facts, fmt.Sprintf("%s counted %d reads and %d writes", c.Device.Name, c.Reads, c.Writes))
	}
	served := least(counted)
	switch {
	case len(counted) == 0:
		facts = append(facts, "no device holds the bytes")
	case !reachBottom(counted):
		served = result.DeviceCounter{}
		facts = append(facts, "the file under "+counted[len(counted)-1].Device.Name+" lies in memory")
	}
	// A direction that fio did not use is somebody else's, or metadata.
	h.Source = result.SourceDevice
	var sum float64
	for _, d := range []struct {
		fio        result.Operation
		ios, bytes uint64
	}{{m.Operation(result.Read), served.Reads, served.ReadBytes},
		{m.Operation(result.Write), served.Writes, served.WriteBytes}} {
		if d.fio.Count == 0 {
			continue
		}
		sum += float64(d.ios) * measured
		// Merging makes I/Os fewer and copy-on-write makes them more; bytes
		// can only be missing when something else answered.
		if float64(d.ios)*measured < servedShare*float64(d.fio.Count) &&
			float64(d.bytes)*measured < servedShare*float64(d.fio.Bytes) {
			h.Source = result.SourceMemory
		}
	}
	if answers := cacheOfZFS(counted, m, measured); answers != "" {
		h.Source = result.SourceMemory
		facts = append(facts, answers)
	}
	if cache := answersWrites(counted, m.Operation(result.Write).Count); cache != "" {
		h.Source = result.SourceMemory
		facts = append(facts, cache+" has no direct I/O: a write is complete once it is in the page cache, and is "+
			"written back later")
	}
	ratio := sum / ios
	h.Ratio, h.Reason = &ratio, strings.Join(facts, "; ")
	return h
}

// Behind tells what the devices counted while servers did the operations of m, of which
// measured is the share of that time. Servers have caches of their own and write what
// they like, so that there is nothing to judge.
func Behind(m result.Measurement, counted []result.DeviceCounter, measured float64) result.Honesty {
	return behind(result.SourceServer, "the servers", m, counted, measured)
}

// Files is Behind for operations on files. Of these, only fsync waits for the device; the others are done in the page
// cache, and the journal takes them there later.
func Files(m result.Measurement, counted []result.DeviceCounter, measured float64) result.Honesty {
	return behind(result.SourceFiles, "the file system", m, counted, measured)
}

func behind(
	source result.Source, subject string, m result.Measurement, counted []result.DeviceCounter, measured float64,
) result.Honesty {
	h := result.Honesty{Source: source, Served: counted}
	done := float64(m.IOs())
	facts := []string{fmt.Sprintf("%s did %.0f operations", subject, done)}
	for i := range counted {
		c := &counted[i]
		if done > 0 {
			c.PerIO = float64(c.Reads+c.Writes) * measured / done
		}
		facts = append(facts, fmt.Sprintf("%s counted %d reads and %d writes", c.Device.Name, c.Reads, c.Writes))
	}
	if done > 0 && len(counted) > 0 {
		served := least(counted)
		ratio := float64(served.Reads+served.Writes) * measured / done
		h.Ratio = &ratio
	}
	h.Reason = strings.Join(facts, "; ")
	return h
}

// answersWrites names the loop device without direct I/O at which writes end
// that are not flushed; "" for none.
func answersWrites(c []result.DeviceCounter, writes uint64) string {
	for _, d := range c {
		if d.Device.Buffered && writes > 0 && float64(d.Flushes) < flushedShare*float64(writes) {
			return d.Device.Name
		}
	}
	return ""
}

// cacheOfZFS says what the cache of ZFS, the ARC, answered; "" for nothing, and without ZFS. Devices cannot show it: a
// record that is read for one I/O holds the data of many, so that bytes are no measure. The cache counts for all pools
// of the host: another's hits can only add to the doubt.
func cacheOfZFS(counted []result.DeviceCounter, m result.Measurement, measured float64) string {
	i := slices.IndexFunc(counted, func(c result.DeviceCounter) bool { return c.ARC != nil })
	if i < 0 {
		return ""
	}
	a, flushes := counted[i].ARC, float64(counted[i].Flushes)
	reads, writes := float64(m.Operation(result.Read).Count), float64(m.Operation(result.Write).Count)
	hits, served := float64(a.Hits)*measured, float64(a.Misses+a.DirectReads)*measured
	var answers []string
	if reads > 0 && (hits > (1-servedShare)*reads || served < servedShare*reads) {
		answers = append(answers, fmt.Sprintf("the ARC of ZFS, which is in memory, had %d blocks and lacked %d; %d reads "+
			"were direct", a.Hits, a.Misses, a.DirectReads))
	}
	if writes > 0 && float64(a.DirectWrites)*measured < servedShare*writes && flushes*measured < flushedShare*writes {
		answers = append(answers, fmt.Sprintf("%d writes were direct: of ZFS, any other that is not flushed is complete "+
			"once it is in memory", a.DirectWrites))
	}
	return strings.Join(answers, "; ")
}

// reachBottom reports whether a device at the end of the chain holds the bytes.
func reachBottom(c []result.DeviceCounter) bool {
	return slices.ContainsFunc(c, func(d result.DeviceCounter) bool { return d.Device.Role == bottom })
}

// least returns the least that a level of the chain served. Devices at the same
// depth (the members of a stripe) are one level, and serve together; so do, at
// every depth below theirs, devices that hold the bytes: nothing is under them.
// Below the deepest, what is left out ends in memory.
func least(c []result.DeviceCounter) result.DeviceCounter {
	deepest := 0
	for _, d := range c {
		deepest = max(deepest, d.Device.Depth)
	}
	var least result.DeviceCounter
	for depth := range deepest + 2 {
		var level result.DeviceCounter
		for _, d := range c {
			if d.Device.Depth == depth || d.Device.Depth < depth && d.Device.Role == bottom {
				level.Reads += d.Reads
				level.Writes += d.Writes
				level.ReadBytes += d.ReadBytes
				level.WriteBytes += d.WriteBytes
			}
		}
		if depth == 0 {
			least = level
			continue
		}
		least.Reads = min(least.Reads, level.Reads)
		least.Writes = min(least.Writes, level.Writes)
		least.ReadBytes = min(least.ReadBytes, level.ReadBytes)
		least.WriteBytes = min(least.WriteBytes, level.WriteBytes)
	}
	return least
}
