// Package synthetic makes captures that look like those of busy hosts: many CPUs
// and devices, requests that are merged, split and requeued, completions on other
// CPUs, and times with long tails. The same Shape gives the same capture. It is
// for tests and benchmarks, which remove from what it makes; nothing in a capture
// is of a real host.
package synthetic

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/iotrace/blktrace"
)

// Shape is what a capture is like.
type Shape struct {
	Events   int // about so many
	CPUs     int
	Devices  int  // every second one has a scheduler
	Depth    int  // requests that each device is asked for at once; 0: 32
	Blocks   int  // of 128 sectors of a device that are asked for; 0: 131,072. Fewer meet again sooner
	Shared   bool // blocks may be asked for several times at once
	Seed     uint64
	Merges   float64 // share of requests that bios are merged into, 1 to 7 each
	Splits   float64 // share of bios that are cut in two
	Requeues float64 // share of requests that the driver gives back once
	Remote   float64 // share of completions, and of issues by a kernel worker, on another CPU
}

const processes = 48

// DeviceNumber is that of the nth device.
func DeviceNumber(n int) uint32 { return blktrace.DeviceNumber(259, uint32(n)) }

// Generate writes a capture in the order of time.
func (s Shape) Generate(w *blktrace.Writer) error {
	if s.Depth == 0 {
		s.Depth = 32
	}
	if s.Blocks == 0 {
		s.Blocks = 1 << 17
	}
	g := &generator{Shape: s, random: rand.New(rand.NewPCG(s.Seed, 2)), busy: map[block]bool{}}
	for pid := range uint32(processes) {
		name := &blktrace.Record{Action: blktrace.NoteProcess | blktrace.CatNotify, Time: 1, Device: DeviceNumber(0),
			PID: 1000 + pid,
			CPU: pid % uint32(s.CPUs), PDU: fmt.Appendf(nil, "worker%d\x00", pid)}
		if err := w.Write(name); err != nil {
			return err
		}
	}
	for device := range s.Devices {
		for i := range s.Depth {
			l := &slot{device: device, pid: 1000 + uint32((device+s.Devices*i)%processes),
				free: 1000 + uint64(g.random.IntN(1e6))}
			g.request(l)
			heap.Push(g, l)
		}
	}
	for range s.Events {
		l := g.slots[0]
		if err := w.Write(&l.plan[l.done]); err != nil {
			return err
		}
		l.done++
		if l.done == len(l.plan) {
			g.request(l)
		}
		heap.Fix(g, 0)
	}
	return w.Flush()
}

// slot makes one request after the other.
type slot struct {
	device int
	pid    uint32
	plan   []blktrace.Record // of the present request, by time
	done   int
	free   uint64 // when the next request begins

	// of the request that is planned
	block block
	began uint64
	cpu   uint32
	op    blktrace.Action
}

type block struct{ device, number int }

type generator struct {
	Shape
	random *rand.Rand
	slots  []*slot // a heap
	busy   map[block]bool
}

func (g *generator) Len() int { return len(g.slots) }
func (g *generator) Less(i, j int) bool {
	a, b := g.slots[i], g.slots[j]
	return a.plan[a.done].Time < b.plan[b.done].Time
}
func (g *generator) Swap(i, j int) { g.slots[i], g.slots[j] = g.slots[j], g.slots[i] }

// Push implements heap.Interface.
func (g *generator) Push(x any) { g.slots = append(g.slots, x.(*slot)) }

// Pop implements heap.Interface.
func (g *generator) Pop() any { panic("slots stay") }

func (g *generator) share(of float64) bool { return of > 0 && g.random.Float64() < of }

// wait lets time pass: an exponential distribution of this mean.
func (g *generator) wait(l *slot, ns float64) { l.began += 50 + uint64(g.random.ExpFloat64()*ns) }

func (g *generator) add(l *slot, a blktrace.Action, sector uint64, bytes uint32) *blktrace.Record {
	l.plan = append(l.plan,
		blktrace.Record{Time: l.began, Action: a, Device: DeviceNumber(l.device), Sector: sector, Bytes: bytes, PID: l.pid,
			CPU: l.cpu})
	return &l.plan[len(l.plan)-1]
}

// request plans the next request of a slot.
func (g *generator) request(l *slot) {
	const q = blktrace.CatQueue
	l.plan, l.done, l.began = l.plan[:0], 0, l.free
	l.cpu = uint32(g.random.IntN(g.CPUs))
	l.op = blktrace.CatRead
	if g.share(0.35) {
		l.op = blktrace.CatWrite | blktrace.CatSync
	}
	scheduler := l.device%2 == 1
	delete(g.busy, l.block)
	l.block = block{l.device, g.random.IntN(g.Blocks)}
	for !g.Shared && g.busy[l.block] {
		l.block.number = g.random.IntN(g.Blocks)
	}
	g.busy[l.block] = true
	sector := uint64(l.block.number) << 7
	bytes := uint32(4096) << g.random.IntN(3)
	g.add(l, blktrace.Queue|q|l.op, sector, bytes)
	g.wait(l, 300)
	if g.share(g.Splits) {
		rest := sector + 4
		g.add(l, blktrace.Split|l.op, sector, bytes).PDU = blktrace.CountPDU(rest)
		g.wait(l, 100)
		g.add(l, blktrace.GetRequest|q|l.op, sector, 4<<9)
		g.wait(l, 100)
		g.add(l, blktrace.GetRequest|q|l.op, rest, bytes-4<<9)
		g.wait(l, 100)
		begin := l.began
		g.serve(l, scheduler, sector, 4<<9)
		end := l.began
		l.began = begin + 70
		g.serve(l, scheduler, rest, bytes-4<<9)
		l.free = max(l.began, end)
		slices.SortStableFunc(l.plan, func(a, b blktrace.Record) int { return cmp.Compare(a.Time, b.Time) })
		g.wait(l, 3000)
		return
	}
	g.add(l, blktrace.GetRequest|q|l.op, sector, bytes)
	if g.share(g.Merges) {
		g.add(l, blktrace.Plug|q, 0, 0)
		for range 1 + g.random.IntN(7) {
			next := sector + uint64(bytes>>9)
			g.wait(l, 300)
			g.add(l, blktrace.Queue|q|l.op, next, 4096)
			g.wait(l, 200)
			g.add(l, blktrace.BackMerge|q|l.op, next, 4096)
			bytes += 4096
		}
		g.wait(l, 200)
		g.add(l, blktrace.Unplug|q, 0, 0).PDU = blktrace.CountPDU(1)
	}
	g.wait(l, 500)
	g.serve(l, scheduler, sector, bytes)
	g.wait(l, 3000)
	l.free = l.began
}

// serve plans a request from where it is made to its completion.
func (g *generator) serve(l *slot, scheduler bool, sector uint64, bytes uint32) {
	home := l.cpu
	if scheduler {
		g.add(l, blktrace.Insert|blktrace.CatQueue|l.op, sector, bytes)
		g.wait(l, 40_000)
	}
	if g.share(g.Remote / 2) {
		l.cpu = uint32(g.random.IntN(g.CPUs))
	}
	g.add(l, blktrace.Issue|blktrace.CatIssue|l.op, sector, bytes)
	if g.share(g.Requeues) {
		g.wait(l, 5000)
		g.add(l, blktrace.Requeue|blktrace.CatRequeue|l.op, sector, bytes)
		g.wait(l, 30_000)
		g.add(l, blktrace.Issue|blktrace.CatIssue|l.op, sector, bytes)
	}
	mean := 80_000 * float64(1+l.device%3)
	if g.share(0.02) {
		mean *= 6 // collects garbage
	}
	g.wait(l, min(mean*g.random.ExpFloat64(), 8*mean)/2)
	g.wait(l, mean/2)
	if g.share(g.Remote) {
		l.cpu = uint32(g.random.IntN(g.CPUs))
	}
	g.add(l, blktrace.Complete|blktrace.CatComplete|l.op, sector, bytes).PID = 0
	l.cpu = home
}
