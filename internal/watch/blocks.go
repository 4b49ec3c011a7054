package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/result/hist"
)

// mostTraced is how many devices are traced at once: an NVMe device counts with its paths.
const mostTraced = 8

// blocks follows block requests by the programs that trials use, from one interval to the next.
type blocks struct {
	recorder *capture.Recorder
	devices  []string // MAJ:MIN
	last     map[blockKey]blockSum
	lost     uint64
	time     time.Time // of last
	why      string    // it cannot record; "" where it does
}

// blockKey identifies requests of an owner: reads or writes of a device.
type blockKey struct {
	device  string // kernel name
	write   bool
	path    string // of the group that asked; "" for unknown
	command string // of requests of no group
}

// blockSum is what was counted since the recorder began.
type blockSum struct {
	requests, bytes uint64
	sum             float64 // ns of all
	latency         hist.Histogram
}

// follow makes the recorder record those devices. Its tables have room for so many owners: once they lose something, or
// the devices are others, it begins anew, and the interval has nothing of what was before.
func (b *blocks) follow(devices []string, lost uint64) {
	if b.recorder != nil && lost == b.lost && slices.Equal(devices, b.devices) {
		return
	}
	b.close()
	b.devices, b.last, b.lost = devices, map[blockKey]blockSum{}, 0
	if len(devices) == 0 {
		b.why = "this host has no block device with I/O"
		return
	}
	b.recorder, b.why = nil, ""
	recorder, err := capture.Start(context.Background(), nil, capture.Options{Devices: devices, Way: "bpf"})
	if err != nil {
		b.why = err.Error()
		return
	}
	b.recorder, b.time = recorder, time.Now()
}

func (b *blocks) close() {
	if b.recorder != nil {
		_, _ = b.recorder.Stop() // the kernel takes its programs back in any case
		b.recorder = nil
	}
}

// since returns the I/O since its last call, by owner, and the seconds since then.
func (b *blocks) since() (done map[blockKey]blockSum, seconds float64, missing []string, lost uint64) {
	if b.recorder == nil {
		return nil, 0, nil, 0
	}
	account, err := b.recorder.Snapshot()
	if err != nil {
		b.close()
		b.devices, b.why = nil, err.Error()
		return nil, 0, nil, 0
	}
	now, moment := sums(account), time.Now()
	seconds = moment.Sub(b.time).Seconds()
	b.time = moment
	done = map[blockKey]blockSum{}
	for key, s := range now {
		early := b.last[key]
		s.latency = s.latency.Since(early.latency)
		// Of what was timed by chance, the share that each owner is charged with may change a little.
		s.requests -= min(s.requests, early.requests)
		s.bytes -= min(s.bytes, early.bytes)
		s.sum = max(0, s.sum-early.sum)
		if s.requests > 0 {
			done[key] = s
		}
	}
	b.last = now
	if account.Lost > b.lost {
		missing = append(missing, fmt.Sprintf("%d events of block requests, which the recorder had no room for: it begins "+
			"anew", account.Lost-b.lost))
	}
	return done, seconds, missing, account.Lost
}

// sums adds up the cells of an account by owner.
func sums(account *iotrace.Account) map[blockKey]blockSum {
	type parts struct {
		sum   blockSum
		times iotrace.Dist
	}
	cells := map[blockKey]*parts{}
	for _, c := range account.Cells {
		if c.Op != iotrace.Read && c.Op != iotrace.Write {
			continue
		}
		key := blockKey{device: c.Device, write: c.Op == iotrace.Write, path: c.Owner.Path}
		if key.path == "" || key.path == "/" {
			key.path, key.command = "", c.Owner.Command
			if c.Owner.Kernel {
				key.command = kernelName
			}
		}
		cell := cells[key]
		if cell == nil {
			cell = new(parts)
			cells[key] = cell
		}
		cell.sum.requests += c.Requests
		cell.sum.bytes += c.Bytes
		if d := c.Intervals[iotrace.Q2C]; d != nil {
			cell.times.Merge(d)
			cell.sum.sum += float64(d.SumNS)
		}
	}
	out := map[blockKey]blockSum{}
	for key, p := range cells {
		p.sum.latency = p.times.Latency()
		out[key] = p.sum
	}
	return out
}

// kernelName names requests that the kernel made of its own account: writes of pages that were written before, by
// somebody who is not known any more, and of file systems' journals.
const kernelName = "the kernel"

// stream returns what was done in so many seconds.
func (s blockSum) stream(seconds float64) Stream {
	out := Stream{PerSecond: float64(s.requests) / seconds, BytesPerSecond: float64(s.bytes) / seconds}
	if ns, ok := hist.Percentile(s.latency.Bins, 50); ok {
		out.P50 = float64(ns) / 1e9
	}
	if ns, ok := hist.Percentile(s.latency.Bins, 99); ok {
		out.P99 = float64(ns) / 1e9
	}
	return out
}

// charge gives each group the I/O that was done for it, and adds groups of processes for the rest.
func charge(groups []Group, done map[blockKey]blockSum, seconds float64) []Group {
	type stream struct {
		group  int
		device string
		write  bool
	}
	streams := map[stream]blockSum{}
	for key, s := range done {
		i := -1
		if key.path != "" {
			i = groupOf(groups, key.path)
		}
		if i < 0 {
			name := cmp.Or(key.path, key.command, "not attributed") // the path is of a group that ended
			i = slices.IndexFunc(groups, func(g Group) bool { return g.Kind == Process && g.Name == name })
			if i < 0 {
				groups = append(groups, Group{Kind: Process, Name: name})
				i = len(groups) - 1
			}
		}
		sum := streams[stream{i, key.device, key.write}]
		sum.requests += s.requests
		sum.bytes += s.bytes
		sum.sum += s.sum
		sum.latency = hist.Merge(sum.latency, s.latency)
		streams[stream{i, key.device, key.write}] = sum
	}
	for key, s := range streams {
		use := groups[key.group].use(key.device)
		use.Depth += s.sum / 1e9 / seconds
		if key.write {
			use.Write = s.stream(seconds)
		} else {
			use.Read = s.stream(seconds)
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.Drives, func(a, b Use) int { return strings.Compare(a.Device, b.Device) })
	}
	return groups
}

// use returns the group's use of a device, a new one where it has none.
func (g *Group) use(device string) *Use {
	i := slices.IndexFunc(g.Drives, func(u Use) bool { return u.Device == device })
	if i < 0 {
		g.Drives = append(g.Drives, Use{Device: device})
		i = len(g.Drives) - 1
	}
	return &g.Drives[i]
}

// counted gives each group what the kernel counted for it by device between two readings: where requests cannot be
// recorded, that is all there is.
func counted(g *Group, before, after map[string]cgroup.IO, names map[string]string, seconds float64) {
	for number, io := range after {
		early, known := before[number]
		if !known || names[number] == "" || io.Reads < early.Reads || io.Writes < early.Writes {
			continue
		}
		reads, writes := io.Reads-early.Reads, io.Writes-early.Writes
		if reads+writes == 0 {
			continue
		}
		use := g.use(names[number])
		use.Read = Stream{PerSecond: float64(reads) / seconds,
			BytesPerSecond: float64(io.ReadBytes-min(io.ReadBytes, early.ReadBytes)) / seconds}
		use.Write = Stream{PerSecond: float64(writes) / seconds,
			BytesPerSecond: float64(io.WrittenBytes-min(io.WrittenBytes, early.WrittenBytes)) / seconds}
	}
}
