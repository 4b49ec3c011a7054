package experiment

import (
	"fmt"
	"time"

	"plimsoll/internal/stack/line"
	"plimsoll/internal/steady"
)

// What a run spends beside the measured time, as seen on a host of two slow
// cores. Estimates need not be better than a third off.
const (
	perTrial = 450 * time.Millisecond // start of the load generator, flushing, counters, storing
	perNode  = 300 * time.Millisecond // attach, make a file system, mount, and undo it
	perView  = 3 * time.Second        // image, engine, container, and undo them

	// Bytes per second that files are laid out with: on a device of its own,
	// and on whatever a loop device or directory shares with others.
	deviceSpeed = 1 << 30
	sharedSpeed = 200 << 20
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
// needs to come up, and to go, counts for the trial that brings it up.
func Costs(e *Experiment, trials []Planned) []time.Duration {
	stacks, workloads := map[string]line.Line{}, map[string]Workload{}
	for _, s := range e.Stacks {
		stacks[s.Name] = s.Line
	}
	for _, w := range e.Workloads {
		workloads[w.Name] = w
	}
	up := map[string]map[string]bool{} // stacks, and the files that were laid out on them
	holder := map[string]string{}      // of a device: the stack that is up on it
	costs := make([]time.Duration, len(trials))
	for i, t := range trials {
		l, w := stacks[t.Stack], workloads[t.Workload]
		timing := w.Timing(e.Timing)
		costs[i] = timing.Ramp + timing.Runtime + perTrial
		speed := sharedSpeed
		for _, d := range devices(l) {
			speed = deviceSpeed
			if holder[d] != t.Stack {
				delete(up, holder[d])
			}
			holder[d] = t.Stack
		}
		if up[t.Stack] == nil {
			up[t.Stack] = map[string]bool{}
			costs[i] += setUp(l)
		}
		// Workloads that need the same space of the same files lay them out once.
		if files := fmt.Sprint(w.Layout(), w.NeedBytes()); !up[t.Stack][files] {
			up[t.Stack][files] = true
			passes := max(1, e.Precondition.Passes)
			costs[i] += time.Duration(float64(passes) * float64(w.NeedBytes()) / float64(speed) * float64(time.Second))
		}
		// At least a window of rounds; how many more it takes is not known.
		if rounds := "rounds of " + t.Workload; e.Precondition.Rounds > 0 && !up[t.Stack][rounds] {
			up[t.Stack][rounds] = true
			costs[i] += time.Duration(steady.SNIA.Window) * e.Precondition.Round
		}
	}
	return costs
}

// Undo is how long it takes to undo what a run of e changes.
func Undo(e *Experiment) time.Duration {
	var total time.Duration
	for _, s := range e.Stacks {
		total += setUp(s.Line) / 3
	}
	return total
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
	}
	return total
}
