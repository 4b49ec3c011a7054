package capture

import (
	"math/bits"

	"plimsoll/internal/iotrace"
)

// The types and numbers of bpf/shared.h; a test compares them with the types
// that the compiled programs carry.
const (
	stepBits    = 4
	firstOctave = 8
	lastOctave  = 33
	bins        = (1 << stepBits) * (lastOctave - firstOctave + 2)

	calls = 512
)

// What is counted of a device.
const (
	countBackMerges = iota
	countFrontMerges
	countOtherMerges
	countSplits
	countRemaps
	countRequeues
	countPlugs
	countUnplugs
	countTimerUnplugs
	countUnseen
	countSequential
	countIssues
	counters
)

// What there was no room for.
const (
	lostPending = iota
	lostOwners
	lostCells
	lostDists
	lostEvents
	lostCalls
	lostReaps
	losses
)

// What a system call does.
const (
	_ = iota
	callSync
	callSubmit
	callReap
	callRing
)

type kernelDist struct {
	Cell, Interval  uint64
	Count, Sum, Max uint64
	Notmin          uint64
	SquaresLow      uint64
	SquaresHigh     uint64
	Requests, Bytes uint64
	Bins            [bins]uint32
}

type ownerKey struct {
	Cgroup uint64
	PID    uint32
	Kernel uint32
	Comm   [16]byte
}

type pending struct {
	Key, Q, D, N, Entered    uint64
	Owner, Task              uint32
	CPU                      uint16
	Weight, Queued           uint8
	Merged                   uint16
	Dev, Over                uint8
	Call, Requeued, Into, Op uint8
	Bytes                    uint32
	G, I                     uint64
	_                        [6]uint64
}

type pace struct {
	Since                                  uint64
	Left, Turns, Weight, TID, Owner, Slice uint32
	Timed, Stood                           uint64
}

// somebody is the owner of requests that were counted, and not timed.
const somebody = 1<<32 - 1

// cellKey is a cell's key as the programs have it.
type cellKey uint64

func (k cellKey) owner() uint32  { return uint32(k) }
func (k cellKey) dev() int       { return int(uint8(k >> 32)) }
func (k cellKey) op() iotrace.Op { return iotrace.Op(k >> 40 & 0xff) }
func (k cellKey) call() bool     { return k>>56&1 != 0 }

func (k cellKey) size() iotrace.SizeClass {
	e := k >> 48 & 0xff
	if e == 0 {
		return 0
	}
	return 1 << (e - 1)
}

// middle is a time in the middle of a bin of the programs' histogram.
func middle(index int) uint64 {
	const steps = 1 << stepBits
	if index < steps {
		return uint64(index)<<(firstOctave-stepBits) + 1<<(firstOctave-stepBits-1)
	}
	octave := firstOctave + index/steps - 1
	width := uint64(1) << (octave - stepBits)
	return 1<<octave + uint64(index%steps)*width + width/2
}

// fineBin is the index of a time's bin in iotrace.Dist: see Dist.AddBin.
func fineBin(ns uint64) int {
	if ns < 128 {
		return int(ns)
	}
	b := bits.Len64(ns) - 1
	return min((b-5)*64+int(ns>>(b-6))&63, iotrace.Bins-1)
}

// dist returns the distribution that one CPU counted. A bin's times are taken to lie in its middle, within the least
// and the greatest.
func (d *kernelDist) dist() *iotrace.Dist {
	out := &iotrace.Dist{Count: d.Count, SumNS: d.Sum, MinNS: ^d.Notmin, MaxNS: d.Max,
		Squares: [2]uint64{d.SquaresHigh, d.SquaresLow}}
	for i, n := range d.Bins {
		if n > 0 {
			out.AddBin(fineBin(min(max(middle(i), out.MinNS), out.MaxNS)), uint64(n))
		}
	}
	return out
}

type requestRecord struct {
	Q, G, I, D, N, C        uint64
	Sector                  uint64
	Bytes, Owner, CPU       uint32
	Error                   int32
	Merged                  uint16
	Dev, Op, Requeued, Call uint8
	_                       [2]uint8
}

type eventRecord struct {
	Time, Sector, Data, DataDev uint64
	Bytes, Opf, TID, CPU        uint32
	Error                       int32
	Dev, Action                 uint8
	_                           [2]uint8
	Comm                        [16]byte
}
