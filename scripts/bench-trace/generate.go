package main

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"plimsoll/internal/iotrace/blktrace"
)

const (
	cpus      = 8
	processes = 48
	depth     = 32 // requests that each device is asked for at once
)

// devices are two with a scheduler, and two fast ones without.
var devices = []struct {
	number    uint32
	scheduler bool
	ns        float64 // mean time from D to C
}{
	{blktrace.DeviceNumber(8, 0), true, 400_000},
	{blktrace.DeviceNumber(8, 16), true, 400_000},
	{blktrace.DeviceNumber(259, 0), false, 80_000},
	{blktrace.DeviceNumber(259, 1), false, 80_000},
}

// generate writes a capture of about so many events: NAME.blktrace.CPU.
func generate(dir, name string, events int) (err error) {
	var buffers []*bufio.Writer
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		f, err := os.Create(filepath.Join(dir, blktrace.FileName(name, cpu)))
		if err != nil {
			return nil, err
		}
		buffers = append(buffers, bufio.NewWriterSize(f, 1<<20)) // the process ends with them
		return buffers[len(buffers)-1], nil
	})
	s := &simulation{w: w, random: rand.New(rand.NewPCG(1, 2))}
	for pid := range uint32(processes) {
		s.write(&blktrace.Record{Action: blktrace.NoteProcess | blktrace.CatNotify, Time: 1, Device: devices[0].number, PID: 1000 + pid, CPU: pid % cpus, PDU: fmt.Appendf(nil, "worker%d\x00", pid)})
	}
	for dev := range devices {
		for i := range depth {
			pid := uint32(dev + len(devices)*(i%(processes/len(devices)))) // each has a device of its own, as databases have
			heap.Push(s, &slot{at: uint64(1000 + s.random.IntN(1e6)), dev: dev, pid: pid, sequential: i%5 == 0, next: uint64(i) << 24})
		}
	}
	for s.written < events && s.err == nil {
		at := s.slots[0]
		s.step(at)
		heap.Fix(s, 0)
	}
	err = errors.Join(s.err, w.Flush())
	for _, b := range buffers {
		err = errors.Join(err, b.Flush())
	}
	return err
}

// slot makes one request after the other.
type slot struct {
	at         uint64 // when it makes its next event
	state      int
	dev        int
	pid        uint32
	sequential bool
	next       uint64 // sector

	sector uint64 // of the request
	bytes  uint32
	merges int // bios that are still to be merged into it
	op     blktrace.Action

	merging bool // a bio was queued that is merged next
}

type simulation struct {
	w       *blktrace.Writer
	random  *rand.Rand
	slots   []*slot
	written int
	err     error
}

func (s *simulation) Len() int           { return len(s.slots) }
func (s *simulation) Less(i, j int) bool { return s.slots[i].at < s.slots[j].at }
func (s *simulation) Swap(i, j int)      { s.slots[i], s.slots[j] = s.slots[j], s.slots[i] }
func (s *simulation) Push(x any)         { s.slots = append(s.slots, x.(*slot)) }
func (s *simulation) Pop() any           { panic("slots stay") }

func (s *simulation) write(r *blktrace.Record) {
	s.err = errors.Join(s.err, s.w.Write(r))
	s.written++
}

func (s *simulation) emit(l *slot, a blktrace.Action, sector uint64, bytes uint32) {
	r := blktrace.Record{Time: l.at, Action: a, Device: devices[l.dev].number, Sector: sector, Bytes: bytes, PID: l.pid + 1000, CPU: l.pid % cpus}
	if a.Event() == blktrace.Complete {
		r.PID = 0
		r.CPU = uint32(s.random.IntN(cpus))
	}
	if a.Event() == blktrace.Unplug {
		r.PDU = blktrace.CountPDU(1)
	}
	s.write(&r)
}

// wait lets time pass: an exponential distribution of this mean.
func (s *simulation) wait(l *slot, ns float64) { l.at += 50 + uint64(s.random.ExpFloat64()*ns) }

// step makes the next event of a slot's request.
func (s *simulation) step(l *slot) {
	const q = blktrace.CatQueue
	d := devices[l.dev]
	switch l.state {
	case 0:
		s.begin(l)
		s.emit(l, blktrace.Queue|q|l.op, l.sector, l.bytes)
		s.wait(l, 300)
	case 1:
		s.emit(l, blktrace.GetRequest|q|l.op, l.sector, l.bytes)
		s.emit(l, blktrace.Plug|q, 0, 0)
		s.wait(l, 500)
	case 2: // merges, each of a Q and an M
		at := l.sector + uint64(l.bytes>>9)
		switch {
		case l.merging:
			s.emit(l, blktrace.BackMerge|q|l.op, at, 4096)
			l.bytes += 4096
			l.merging = false
			s.wait(l, 500)
			return
		case l.merges > 0:
			s.emit(l, blktrace.Queue|q|l.op, at, 4096)
			l.merges--
			l.merging = true
			s.wait(l, 200)
			return
		case d.scheduler:
			s.emit(l, blktrace.Unplug|q, 0, 0)
			s.emit(l, blktrace.Insert|q|l.op, l.sector, l.bytes)
		default:
			s.emit(l, blktrace.Unplug|q, 0, 0)
		}
		s.wait(l, 2000)
	case 3:
		s.emit(l, blktrace.Issue|blktrace.CatIssue|l.op, l.sector, l.bytes)
		s.wait(l, d.ns)
	case 4:
		s.emit(l, blktrace.Complete|blktrace.CatComplete|l.op, l.sector, l.bytes)
		s.wait(l, 3000)
	}
	l.state = (l.state + 1) % 5
}

// begin chooses what a slot asks for. Each has sectors of its own, as files
// have: no two requests are for the same ones at once.
func (s *simulation) begin(l *slot) {
	l.op, l.bytes, l.merges = blktrace.CatRead, 4096<<(l.pid%4), 0
	if s.random.IntN(4) == 0 {
		l.bytes = 4096 // beside pages of its own size
	}
	if s.random.IntN(3) == 0 {
		l.op = blktrace.CatWrite | blktrace.CatSync
	}
	if l.sequential {
		l.op, l.bytes, l.merges = blktrace.CatWrite, 4096, s.random.IntN(8)
		l.sector = l.next
		l.next += uint64(4096*(l.merges+1)) >> 9
		return
	}
	l.sector = l.next&^(1<<24-1) | uint64(s.random.IntN(1<<17))<<6
}
