package experiment

import (
	"fmt"
	"time"

	"plimsoll/internal/stack/line"
	"plimsoll/internal/steady"
	"plimsoll/internal/units"
)

// What a run spends beside the measured time, as seen on a host of two slow
// cores. Estimates need not be better than a third off.
const (
	perTrial  = 450 * time.Millisecond // start of the load generator, flushing, counters, storing
	perNode   = 300 * time.Millisecond // attach, make a file system, mount, and undo it
	perView   = 1 * time.Second        // a container on an engine that is up, and undo it
	perEngine = 2 * time.Second        // an engine of the stack's own, its image, and undo them

	// Bytes per second that files are laid out with: on a device of its own,
	// and on whatever a loop device or directory shares with others.
	deviceSpeed = 1 << 30
	sharedSpeed = 400 << 20

	// Bytes per second that the region of a block is written with.
	regionSpeed = 600 << 20
)

// Estimate is how long a run of e will take, its stacks' set-up and tear-down
// included.
func Estimate(e *Experiment) time.Duration {
	var total time.Duration
	for _, cost := range Costs(e, Trials(e, 0)) {
		total += cost
	}
	return total
}

// Costs is how long each of the trials will take, in their order. What a stack
// needs to come up, and to go, counts for the trial that brings it up, and what
// a region of the disk needs to be made for the first trial on it.
func Costs(e *Experiment, trials []Planned) []time.Duration {
	stacks, workloads := map[string]line.Line{}, map[string]Workload{}
	for _, s := range e.Stacks {
		stacks[s.Name] = s.Line
	}
	for _, w := range e.Workloads {
		workloads[w.Name] = w
	}
	type bringUp struct {
		stack string
		block int
	}
	var (
		up     bringUp
		laid   map[string]bool    // of the stack that is up: files that were laid out, rounds that were driven
		region = map[int64]bool{} // files of so many bytes were made, in the block
		block  int
		costs  = make([]time.Duration, len(trials))
	)
	for i, t := range trials {
		l, w := stacks[t.Stack], workloads[t.Workload]
		timing := w.Timing(e.Timing)
		costs[i] = timing.Ramp + timing.Runtime + perTrial
		speed := sharedSpeed
		if len(devices(l)) > 0 {
			speed = deviceSpeed
		}
		if t.Block != block {
			block, region = t.Block, map[int64]bool{}
		}
		if now := (bringUp{t.Stack, t.Block}); now != up {
			up, laid = now, map[string]bool{}
			costs[i] += setUp(l)
			if bytes := loopBytes(l); bytes > 0 && !region[bytes] {
				region[bytes] = true
				costs[i] += seconds(float64(bytes) / regionSpeed)
			}
		}
		// Workloads that need the same space of the same files lay them out once.
		if files := fmt.Sprint(w.Layout(), w.NeedBytes()); !laid[files] {
			laid[files] = true
			passes := max(1, e.Precondition.Passes)
			costs[i] += seconds(float64(passes) * float64(w.NeedBytes()) / float64(speed))
		}
		// At least a window of rounds; how many more it takes is not known.
		if rounds := "rounds of " + t.Workload; e.Precondition.Rounds > 0 && !laid[rounds] {
			laid[rounds] = true
			costs[i] += time.Duration(steady.SNIA.Window) * e.Precondition.Round
		}
	}
	return costs
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
		size, err := units.ParseSize(text)
		if err == nil {
			bytes += size
		}
	}
	return bytes
}

// Undo is how long it takes to undo what a run of e changes, at its end: one
// stack is up then.
func Undo(e *Experiment) (longest time.Duration) {
	for _, s := range e.Stacks {
		longest = max(longest, setUp(s.Line))
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

// setUp is how long a stack takes to come up and go.
func setUp(l line.Line) time.Duration {
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
