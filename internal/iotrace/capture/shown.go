package capture

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// coverage compares recorded completions with /proc/diskstats. Kernels of some sandboxes show no event of a CPU while
// it runs a task of the sandbox itself, and completions are handled on any CPU. Such events are not counted as lost.
type coverage struct {
	devices []device // those that have requests: of bios, kernels count differently
	before  map[string]deviceCounters
	ends    map[uint32]uint64 // by device number, where every event is recorded
}

// deviceCounters are the counters of a device in /proc/diskstats.
type deviceCounters struct {
	requests uint64 // completed reads, writes, discards, and flushes
	inFlight uint64
}

// watch reads the counters of devices. The recording must have begun.
func (s *coverage) watch(devices []device) {
	for _, d := range devices {
		if !d.bios {
			s.devices = append(s.devices, d)
		}
	}
	s.before = diskstats(s.devices)
}

// countEnds returns a function that counts completions among the events and passes them to to.
func (s *coverage) countEnds(to func(*blktrace.Record)) func(*blktrace.Record) {
	s.ends = map[uint32]uint64{}
	return func(e *blktrace.Record) {
		// The flush of a cache, which is all flush, is part of somebody's request.
		part := e.Action&blktrace.CatFlush != 0 && e.Action&blktrace.CatWrite == 0
		if e.Action.Event() == blktrace.Complete && !e.Action.IsNote() && !part {
			s.ends[e.Device]++
		}
		to(e)
	}
}

// addUnshown adds to an account the number of completions that the recorder did not see. For a busy device it may be
// too low by the requests in flight when the recording began, and is never too high.
func (s *coverage) addUnshown(a *iotrace.Account, after map[string]deviceCounters) {
	for _, d := range s.devices {
		before, known := s.before[d.name]
		now, still := after[d.name]
		for i := range a.Devices {
			counted := &a.Devices[i]
			if counted.MajMin != d.majMin() && counted.Name != d.name || !known || !still {
				continue
			}
			seen := counted.Requests
			if s.ends != nil {
				seen = s.ends[blktrace.DeviceNumber(d.major, d.minor)]
			}
			requests := now.requests - before.requests
			n := requests - min(requests, seen+before.inFlight)
			if n == 0 {
				continue
			}
			counted.Unshown = n
			counted.Unfinished -= min(counted.Unfinished, n)
			a.Lost += n
			a.Missing = append(a.Missing, fmt.Sprintf("the ends of %d of the %d requests of %s: the device counts "+
				"them, and the kernel did not show them", n, requests, d.name))
		}
	}
}

// diskstats reads the counters of devices, by name. Devices that the file lacks are left out.
func diskstats(devices []device) map[string]deviceCounters {
	f, err := os.Open("/proc/diskstats")
	if err != nil {
		return nil
	}
	defer f.Close()
	counters := map[string]deviceCounters{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var major, minor uint32
		var name string
		var n [12]uint64
		fields := []any{&major, &minor, &name}
		for i := range n {
			fields = append(fields, &n[i])
		}
		// Kernels before 4.18 count no discards.
		if got, _ := fmt.Fscan(strings.NewReader(in.Text()), fields...); got < len(fields)-1 {
			continue
		}
		for _, d := range devices {
			if d.name == name {
				counters[name] = deviceCounters{requests: n[0] + n[4] + n[11], inFlight: n[8]}
			}
		}
	}
	return counters
}
