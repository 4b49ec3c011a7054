package capture

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// shown holds what was recorded against what the devices say themselves. Not
// all that happens is shown to a recorder: the kernels of some sandboxes show
// nothing that happens on a CPU while a task of the sandbox's own is on it, and
// the end of a request is handled on whatever task is there. Nobody counts such
// events as lost.
type shown struct {
	devices []device // those that have requests: of bios, kernels count differently
	before  map[string]served
	ends    map[uint32]uint64 // by device number, where every event is recorded
}

// served is what a device counts, by /proc/diskstats.
type served struct {
	requests uint64 // that are complete: reads, writes, discards, and whoever asked for a flush
	inFlight uint64
}

// watch begins to hold devices against what is recorded of them from now on:
// call it when recording has begun.
func (s *shown) watch(devices []device) {
	for _, d := range devices {
		if !d.bios {
			s.devices = append(s.devices, d)
		}
	}
	s.before = diskstats(s.devices)
}

// counted has the ends of requests be counted among events.
func (s *shown) counted(to func(*blktrace.Record)) func(*blktrace.Record) {
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

// tell adds to an account what was not shown, by what the devices counted until
// then. Of a busy device it may be too little, by what was under way when the
// recording began, and never too much.
func (s *shown) tell(a *iotrace.Account, after map[string]served) {
	for _, d := range s.devices {
		before, known := s.before[d.name]
		now, still := after[d.name]
		for i := range a.Devices {
			told := &a.Devices[i]
			if told.MajMin != d.majMin() && told.Name != d.name || !known || !still {
				continue
			}
			seen := told.Requests
			if s.ends != nil {
				seen = s.ends[blktrace.DeviceNumber(d.major, d.minor)]
			}
			all := now.requests - before.requests
			n := all - min(all, seen+before.inFlight)
			if n == 0 {
				continue
			}
			told.Unshown = n
			told.Unfinished -= min(told.Unfinished, n)
			a.Lost += n
			a.Missing = append(a.Missing, fmt.Sprintf("the ends of %d of the %d requests of %s: the device counts "+
				"them, and the kernel did not show them", n, all, d.name))
		}
	}
}

// diskstats reads what devices count; of those that the file lacks there is none.
func diskstats(devices []device) map[string]served {
	f, err := os.Open("/proc/diskstats")
	if err != nil {
		return nil
	}
	defer f.Close()
	all := map[string]served{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var major, minor uint32
		var name string
		var n [12]uint64
		into := []any{&major, &minor, &name}
		for i := range n {
			into = append(into, &n[i])
		}
		// Kernels before 4.18 count no discards.
		if got, _ := fmt.Fscan(strings.NewReader(in.Text()), into...); got < len(into)-1 {
			continue
		}
		for _, d := range devices {
			if d.name == name {
				all[name] = served{requests: n[0] + n[4] + n[11], inFlight: n[8]}
			}
		}
	}
	return all
}
