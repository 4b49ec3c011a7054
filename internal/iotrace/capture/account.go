package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"plimsoll/internal/iotrace"
)

// account reads the sums and histograms from the programs' maps.
func (r *bpfRecorder) account() (*iotrace.Account, error) {
	until := r.ended
	if until.IsZero() {
		until = time.Now()
	}
	a := &iotrace.Account{Recorder: "BPF", Duration: until.Sub(r.began)}
	lost, err := r.losses()
	if err != nil {
		return nil, err
	}
	a.Lost = lost[lostPending] + lost[lostCells] + lost[lostDists] + lost[lostEvents] + misses(r.coll)
	if r.options.Events != nil {
		a.Recorder, a.Events = "BPF, every event", r.stream.records.Load()
		for _, d := range r.devices {
			a.Devices = append(a.Devices, iotrace.Device{Name: d.name, MajMin: d.majMin()})
		}
		a.Missing = slices.Clone(r.missing)
		return a, nil
	}
	if r.options.Requests != nil {
		a.Recorder, a.Events = "BPF, per request", r.stream.records.Load()
	}
	if err := r.newOwners(); err != nil {
		return nil, err
	}
	if a.Cells, err = r.cells(); err != nil {
		return nil, err
	}
	if a.Devices, err = r.deviceCounts(a); err != nil {
		return nil, err
	}
	timed, stood, err := r.sampleCounts()
	if err != nil {
		return nil, err
	}
	a.Missing = append(r.missingFigures(lost), unreturnedNotes(a.Cells)...)
	if stood > timed {
		a.Timed = timed
		a.Missing = append(a.Missing, fmt.Sprintf("the times of every request: at their rate %d were timed, by "+
			"chance, and stand for the others; numbers and bytes are of all, least and greatest of those timed", timed))
	}
	return a, nil
}

// missingFigures returns the names of the unknown figures.
func (r *bpfRecorder) missingFigures(lost [losses]uint64) []string {
	r.mu.Lock()
	missing := slices.Clone(r.missing)
	r.mu.Unlock()
	for _, d := range r.devices {
		if d.note != "" {
			missing = append(missing, d.note)
		}
		if d.bios {
			missing = append(missing, d.name+" has no requests of its own: of it Q2C alone is known")
		}
	}
	if !r.options.Stages {
		missing = append(missing, "Q2Q, Q2G, G2I, I2D, plugs and sequentiality: only the default events were recorded")
	}
	missing = append(missing, "series by second and the greatest depth: sums are made in the kernel")
	if n := lost[lostOwners]; n > 0 {
		missing = append(missing,
			fmt.Sprintf("the owners of some requests: more than %d tasks made some", r.coll.Maps["owners"].MaxEntries()))
	}
	if n := lost[lostReaps]; n > 0 {
		missing = append(missing, fmt.Sprintf("C2R of %d requests: the application's I/Os and requests are not one to one, "+
			"or it leaves completions alone", n))
	}
	return missing
}

// unreturnedNotes reports requests whose return to the application was not seen.
func unreturnedNotes(cells []iotrace.Cell) []string {
	var missing uint64
	for _, c := range cells {
		done, back := c.Intervals[iotrace.D2C], c.Intervals[iotrace.C2R]
		if !c.Owner.Call || done == nil {
			continue
		}
		missing += done.Count
		if back != nil {
			missing -= min(missing, back.Count)
		}
	}
	if missing == 0 {
		return nil
	}
	if missing == 1 {
		return []string{"C2R of one request: no process waited for it, or its application got it without a system call"}
	}
	return []string{fmt.Sprintf("C2R of %d requests: no process waited for them, or their application got them without a "+
		"system call", missing)}
}

// misses counts the events that the kernel did not show to a program, as it was
// at work already on that CPU.
func misses(c *ebpf.Collection) (n uint64) {
	for _, p := range c.Programs {
		if s, err := p.Stats(); err == nil { // older kernels do not count
			n += s.RecursionMisses
		}
	}
	return n
}

// sampleCounts returns how many requests were timed, and how many requests these represent.
func (r *bpfRecorder) sampleCounts() (timed, stood uint64, err error) {
	perCPU, err := r.paces()
	if err != nil {
		return 0, 0, err
	}
	for _, p := range perCPU {
		timed, stood = timed+p.Timed, stood+p.Stood
	}
	return timed, stood, nil
}

func (r *bpfRecorder) losses() (all [losses]uint64, err error) {
	var perCPU []uint64
	for i := range uint32(losses) {
		if err := r.coll.Maps["losses"].Lookup(&i, &perCPU); err != nil {
			return all, fmt.Errorf("read what was lost: %w", err)
		}
		for _, n := range perCPU {
			all[i] += n
		}
	}
	return all, nil
}

// cells reads the sums. Distributions take their places in order, so several empty places in a row are behind the last.
func (r *bpfRecorder) cells() ([]iotrace.Cell, error) {
	found := map[iotrace.Key]*iotrace.Cell{}
	untimed := map[iotrace.Key]*iotrace.Cell{}
	places := r.coll.Maps["dists"]
	var perCPU []kernelDist
	for i, empty := uint32(1), 0; i < places.MaxEntries() && empty < 8; i++ {
		if err := places.Lookup(&i, &perCPU); err != nil {
			return nil, fmt.Errorf("read the distributions: %w", err)
		}
		empty++
		for cpu := range perCPU {
			if d := &perCPU[cpu]; d.Count > 0 || d.Requests > 0 {
				empty = 0
				if cellKey(d.Cell).owner() == somebody {
					r.take(untimed, d)
				} else {
					r.take(found, d)
				}
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(untimed), compare) {
		charge(found, untimed[key])
	}
	var cells []iotrace.Cell
	for _, c := range found {
		stretch(c)
		cells = append(cells, *c)
	}
	slices.SortFunc(cells, func(a, b iotrace.Cell) int { return compare(a.Key, b.Key) })
	return cells, nil
}

func (r *bpfRecorder) take(found map[iotrace.Key]*iotrace.Cell, d *kernelDist) {
	k := cellKey(d.Cell)
	if k.dev() >= len(r.devices) || d.Interval >= uint64(iotrace.Intervals) {
		return // half written
	}
	key := iotrace.Key{Device: r.devices[k.dev()].name, Op: k.op(), Size: k.size(), Owner: r.owner(k.owner(), k.call())}
	c := found[key]
	if c == nil {
		c = &iotrace.Cell{Key: key}
		found[key] = c
	}
	c.Requests += d.Requests
	c.Bytes += d.Bytes
	if d.Count == 0 {
		return
	}
	i := iotrace.Interval(d.Interval)
	if c.Intervals[i] == nil {
		c.Intervals[i] = new(iotrace.Dist)
	}
	c.Intervals[i].Merge(d.dist())
}

func (r *bpfRecorder) owner(id uint32, call bool) iotrace.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.owners[id]; ok {
		return r.cgroups.owner(k, call)
	}
	return ownerless
}

// deviceCounts adds the counts of whole devices.
func (r *bpfRecorder) deviceCounts(a *iotrace.Account) ([]iotrace.Device, error) {
	var devices []iotrace.Device
	unfinished, err := r.unfinished()
	if err != nil {
		return nil, err
	}
	for i, d := range r.devices {
		var n [counters]uint64
		for c := range n {
			var perCPU []uint64
			slot := uint32(i*counters + c)
			if err := r.coll.Maps["counters"].Lookup(&slot, &perCPU); err != nil {
				return nil, fmt.Errorf("read the counters of %s: %w", d.name, err)
			}
			for _, v := range perCPU {
				n[c] += v
			}
		}
		out := iotrace.Device{
			Name: d.name, MajMin: d.majMin(),
			BackMerges: n[countBackMerges], FrontMerges: n[countFrontMerges], OtherMerges: n[countOtherMerges],
			Splits: n[countSplits], Remaps: n[countRemaps], Requeues: n[countRequeues],
			Plugs: n[countPlugs], Unplugs: n[countUnplugs], UnpluggedByTimer: n[countTimerUnplugs],
			Unfinished: unfinished[i],
		}
		if n[countIssues] > 0 {
			out.Sequential = float64(n[countSequential]) / float64(n[countIssues])
		}
		var busy uint64
		for _, c := range a.Cells {
			if c.Device != d.name {
				continue
			}
			out.Requests += c.Requests
			out.Bytes += c.Bytes
			if i := c.Intervals[iotrace.D2C]; i != nil {
				busy += i.SumNS
			}
		}
		if a.Duration > 0 { // Little's law
			out.Depth = float64(busy) / float64(a.Duration)
		}
		devices = append(devices, out)
	}
	return devices, nil
}

// unfinished counts, by device, requests that were queued or issued and have not completed.
func (r *bpfRecorder) unfinished() (n [maxDevices]uint64, err error) {
	text := make([]byte, r.memory.Size())
	if _, err := r.memory.ReadAt(text, 0); err != nil {
		return n, fmt.Errorf("read the table of requests: %w", err)
	}
	size := binary.Size(pending{})
	for ; len(text) >= size; text = text[size:] {
		if binary.NativeEndian.Uint64(text) == 0 {
			continue
		}
		var p pending
		if err := binary.Read(bytes.NewReader(text[:size]), binary.NativeEndian, &p); err == nil && int(p.Dev) < maxDevices {
			n[p.Dev]++
		}
	}
	return n, nil
}

// learnOwners looks up the names of cgroups as they appear, until ctx ends: they may be gone at the end of the
// recording.
func (r *bpfRecorder) learnOwners(ctx context.Context) {
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = r.newOwners() // tried again
		}
	}
}

func (r *bpfRecorder) newOwners() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var key ownerKey
	var id uint32
	ids := map[uint64]bool{}
	iterator := r.coll.Maps["owners"].Iterate()
	for iterator.Next(&key, &id) {
		r.owners[id] = key
		ids[key.Cgroup] = true
	}
	if err := iterator.Err(); err != nil {
		return fmt.Errorf("read the owners of requests: %w", err)
	}
	r.cgroups.learn(ids)
	return nil
}
