package observe

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

// Judge checks what fio said against what the devices counted while it ran.
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
func Judge(m result.Measurement, counted Counters, measured float64) result.Honesty {
	h := result.Honesty{Source: result.SourceUnknown, Served: counted}
	ios := float64(m.IOs())
	if ios == 0 {
		h.Reason = "fio completed no I/O"
		return h
	}
	told := []string{fmt.Sprintf("fio issued %d reads and %d writes", m.Read.IOs, m.Write.IOs)}
	for i := range counted {
		c := &counted[i]
		c.PerIO = float64(c.Reads+c.Writes) * measured / ios
		told = append(told, fmt.Sprintf("%s counted %d reads and %d writes", c.Device.Name, c.Reads, c.Writes))
	}
	served := counted.least()
	switch {
	case len(counted) == 0:
		told = append(told, "no device holds the bytes")
	case !counted.reachBottom():
		served = result.DeviceCounter{}
		told = append(told, "the file under "+counted[len(counted)-1].Device.Name+" lies in memory")
	}
	// A direction that fio did not use is somebody else's, or metadata.
	h.Source = result.SourceDevice
	var sum float64
	for _, d := range []struct {
		fio        result.Direction
		ios, bytes uint64
	}{{m.Read, served.Reads, served.ReadBytes}, {m.Write, served.Writes, served.WriteBytes}} {
		if d.fio.IOs == 0 {
			continue
		}
		sum += float64(d.ios) * measured
		// Merging makes I/Os fewer and copy-on-write makes them more; bytes
		// can only be missing when something else answered.
		if float64(d.ios)*measured < servedShare*float64(d.fio.IOs) && float64(d.bytes)*measured < servedShare*float64(d.fio.Bytes) {
			h.Source = result.SourceMemory
		}
	}
	if cache := counted.answersWrites(m.Write.IOs); cache != "" {
		h.Source = result.SourceMemory
		told = append(told, cache+" has no direct I/O: a write is complete once it is in the page cache, and is written back later")
	}
	ratio := sum / ios
	h.Ratio, h.Reason = &ratio, strings.Join(told, "; ")
	return h
}

// answersWrites names the loop device without direct I/O at which writes end
// that are not flushed; "" for none.
func (c Counters) answersWrites(writes uint64) string {
	for _, d := range c {
		if d.Device.Buffered && writes > 0 && float64(d.Flushes) < flushedShare*float64(writes) {
			return d.Device.Name
		}
	}
	return ""
}

// reachBottom tells whether a device at the end of the chain holds the bytes.
func (c Counters) reachBottom() bool {
	return slices.ContainsFunc(c, func(d result.DeviceCounter) bool { return d.Device.Role == roleBottom })
}

// least gives the least that a level of the chain served. Devices at the same
// depth (the members of a stripe) are one level, and serve together; so do, at
// every depth below theirs, devices that hold the bytes: nothing is under them.
// Below the deepest, what is left out ends in memory.
func (c Counters) least() result.DeviceCounter {
	deepest := 0
	for _, d := range c {
		deepest = max(deepest, d.Device.Depth)
	}
	var least result.DeviceCounter
	for depth := range deepest + 2 {
		var level result.DeviceCounter
		for _, d := range c {
			if d.Device.Depth == depth || d.Device.Depth < depth && d.Device.Role == roleBottom {
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
