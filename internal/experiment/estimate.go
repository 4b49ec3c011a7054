package experiment

import (
	"strings"
	"time"

	"plimsoll/internal/field"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/workload"
)

// What a run spends beside the measured time, as seen on a host of two slow
// cores. Estimates need not be better than a third off.
const (
	perTrial    = 450 * time.Millisecond // start of the load generator, flushing, counters, storing
	perNode     = 300 * time.Millisecond // attach, make a file system, mount, and undo it
	perInstance = 100 * time.Millisecond // one more instance of a mix: its start, its output
	perServer   = 1 * time.Second        // start of the servers of a trial until they answer, and their end
	perView     = 1 * time.Second        // a container on an engine that is up, and undo it
	perPlace    = 300 * time.Millisecond // one more on the same, for another instance
	perEngine   = 2 * time.Second        // an engine of the stack's own, its image, and undo them

	// Bytes per second that files are laid out with: on a device of its own,
	// and on whatever a loop device or directory shares with others.
	deviceSpeed = 1 << 30
	sharedSpeed = 400 << 20

	// Bytes per second that the region of a block is written with, and of how many bytes
	// regions are made: later blocks use them again.
	regionSpeed = 600 << 20
	regionBytes = 16 << 30
)

// Estimate returns the expected duration of a run of e, set-up and tear-down of its stacks included, and its
// measurements at the load line, where these are asked for.
func Estimate(e *Experiment) time.Duration { return EstimateOf(e, Trials(e, 0)) }

// EstimateOf returns the same for a run of these trials.
func EstimateOf(e *Experiment, trials []Planned) time.Duration {
	total := ElasticityTakes(e)
	for _, cost := range Costs(e, trials) {
		total += cost
	}
	return total
}

// Costs returns the expected duration of each of the trials. The time to bring a stack up and down counts for the
// trial that brings it up, and the time to make a region of the disk for the first trial on it.
func Costs(e *Experiment, trials []Planned) []time.Duration {
	stacks, mixes := map[string]line.Line{}, map[string]Mix{}
	for _, s := range e.Stacks {
		stacks[s.Name] = s.Line
	}
	workloads, timings := e.workloads(), map[string]workload.Timing{}
	for _, m := range e.Mixes {
		mixes[m.Name], timings[m.Name] = m, longest(e, workloads.workloadsOf(m))
	}
	type bringUp struct {
		base  string
		block int
	}
	needs := map[string]laying{}
	for name, w := range workloads {
		needs[name] = layingOf(w)
	}
	var (
		up     bringUp
		laid   map[laidOut]bool  // of what is up
		region = map[int64]int{} // how many files of so many bytes were made, in the block
		block  int
		costs  = make([]time.Duration, len(trials))
	)
	for i, t := range trials {
		m := mixes[t.Mix]
		timing := timings[t.Mix]
		costs[i] = timing.Ramp + timing.Runtime + perTrial + time.Duration(m.Count()-1)*perInstance
		if t.Block != block {
			block, region = t.Block, map[int64]int{}
		}
		on := m.On()
		if m.Crossed() {
			on = []string{t.Stack}
		}
		now := bringUp{strings.Join(on, "\x00"), t.Block}
		if now != up {
			up, laid = now, map[laidOut]bool{}
			made := map[int64]int{}
			for _, s := range on {
				l := stacks[s]
				costs[i] += setupCost(l)
				bytes := loopBytes(l)
				made[bytes]++
				again := int64(t.Block-1)*bytes >= regionBytes
				if bytes > 0 && made[bytes] > region[bytes] && !again {
					region[bytes]++
					costs[i] += seconds(float64(bytes) / regionSpeed)
				}
			}
		}
		for _, instance := range m.Instances(t.Stack) {
			need := needs[instance.Workload]
			speed := sharedSpeed
			if len(devices(stacks[instance.Stack])) > 0 {
				speed = deviceSpeed
			}
			// Workloads that need the same space of the same files lay them out once.
			files := laidOut{stack: instance.Stack, place: instance.Place, layout: need.layout, bytes: need.bytes}
			if need.served != nil { // places get copies, which file systems share
				files.place = keptData
				costs[i] += perServer/time.Duration(m.Count()) + need.served.Starts // they start at the same time
			}
			if !laid[files] {
				laid[files] = true
				passes := max(1, e.Precondition.Passes)
				costs[i] += seconds(float64(passes) * float64(need.bytes) / float64(speed))
			}
			place := laidOut{stack: instance.Stack, place: instance.Place}
			if instance.Place > 0 && !laid[place] {
				laid[place] = true
				costs[i] += perPlace
			}
		}
		// At least a window of rounds; how many more it takes is not known.
		if rounds := (laidOut{mix: t.Mix}); e.Precondition.Rounds > 0 && !laid[rounds] {
			laid[rounds] = true
			costs[i] += time.Duration(stopping.SNIA.Window) * e.Precondition.Round
		}
	}
	return costs
}

// laidOut is what is done once while a stack is up: files laid out, a place made, or, where only a mix is named, rounds
// driven.
type laidOut struct {
	stack  string
	place  int
	layout string // of the files; "" for the place itself
	bytes  int64
	mix    string
}

// keptData is the place of data that each server gets a copy of.
const keptData = -1

// laying is what a workload lays out.
type laying struct {
	layout string
	bytes  int64
	served *workload.Serving // nil if it starts no server
}

func layingOf(w workload.Workload) laying {
	return laying{layout: w.Layout(), bytes: w.NeedBytes(), served: w.Abilities().Serving}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// loopBytes is the size of a line's loop devices.
func loopBytes(l line.Line) (bytes int64) {
	for _, n := range l.Sources() {
		if n.Name != "loop" {
			continue
		}
		text, ok := n.Option("size")
		if !ok {
			text = "1GiB"
		}
		size, err := field.Bytes.Parse(text)
		if err == nil {
			bytes += size
		}
	}
	return bytes
}

// Undo estimates the time to undo the changes of a run of e at its end, with one stack up, or those that a mix
// names.
func Undo(e *Experiment) (longest time.Duration) {
	takes := map[string]time.Duration{}
	for _, s := range e.Stacks {
		takes[s.Name] = setupCost(s.Line)
		longest = max(longest, takes[s.Name])
	}
	for _, m := range e.Mixes {
		var all time.Duration
		for _, s := range m.On() {
			all += takes[s]
		}
		longest = max(longest, all)
	}
	return longest/2 + perNode
}

// devices names the devices that a stack has to itself; sources that are made
// for each stack, and directories, are none.
func devices(l line.Line) (names []string) {
	for _, n := range l.Sources() {
		switch n.Name {
		case line.NameDevice, "by-id", "serial", "uuid", "nguid", nodeRemote:
			names = append(names, n.String())
		}
	}
	return names
}

// setupCost estimates the time to bring a stack up and down.
func setupCost(l line.Line) time.Duration {
	sources := len(l.Sources())
	total := time.Duration(sources+len(l.Nodes)-1) * perNode
	// A third node, or a second one on a directory, is what the workload sees.
	views := 2
	if sources > 1 {
		views = 3 // what makes one device of several takes a place
	}
	if len(l.Nodes) > views || len(l.Nodes) == 2 && (l.Nodes[0].Name == "dir" || l.Nodes[0].Name == "tmpfs") {
		total += perView
		// Volumes share the host's engine; a writable layer needs the driver's.
		if view := l.Nodes[len(l.Nodes)-1].Name; view != "volume" {
			total += perEngine
		}
	}
	return total
}

// quietShare is the share of a budget that trials may wait until other processes use little.
const quietShare = 0.1

// QuietWait returns how long all trials together may wait until other processes use little.
func (e *Experiment) QuietWait() time.Duration {
	switch {
	case e.NoWait:
		return 0
	case e.WaitForQuiet > 0:
		return e.WaitForQuiet
	}
	return time.Duration(quietShare * float64(e.Budget))
}
