// Package stack brings storage stacks up and takes them down: a source, the
// layers on it, and the path that a workload sees. Each kind of node is one
// file and one entry of the table in table.go.
//
// Hazards. This package writes to block devices, makes file systems, mounts
// them and starts Docker engines. Every such change goes through the run's
// journal first; a real block device is only written where the user named and
// allowed it and nothing uses it (see protect.go).
package stack

import (
	"context"
	"fmt"
	"slices"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

// Env is the environment in which stacks are made.
type Env struct {
	Journal  *journal.Journal
	RunID    string            // part of every name that is made
	State    string            // the directory that Work is made below; checks look there before it is
	Work     string            // the run's own directory on disk, journalled by the runner
	Scratch  string            // holds the scratch directories of steps; seen by containers too
	Programs []string          // what steps start; images carry them
	Self     string            // path of this program, for steps of workload.Self
	Secrets  map[string]string // that steps read, by where they are
	Host     *hostinfo.Host
	KeepFree float64           // share of a file system that files of stacks leave free
	Allow    []Permission      // permissions that the user gave with --destroy
	Trace    func(text string) // shows a step to the user; nil shows none. Called concurrently, by the goroutines of places
	Regions  *Regions          // that loop devices stand on in turn; nil for a file of each one's own

	// Bases come up and go down one after the other: places, which have goroutines, read no field below.
	volumes map[string]*engine // by storage driver
	engines int                // of volumes that were started so far
}

// trace prints a step for the user.
func (e *Env) trace(format string, args ...any) {
	if e.Trace != nil {
		e.Trace(fmt.Sprintf(format, args...))
	}
}

// Remote identifies a namespace at its target.
type Remote struct {
	Metrics   string // address of the target's metrics; "" for none
	NQN, UUID string
}

// part is a source or layer of a line.
type part struct {
	*layer
	node       line.Node
	nodesBelow []line.Node // the nodes under a layer, source first
}

// resolve returns the nodes of a checked line: its sources, and then the layers on them.
func resolve(l line.Line) ([]part, error) {
	kindBelow := line.Nothing
	var out []part
	add := func(n line.Node, nodesBelow []line.Node) error {
		i := slices.IndexFunc(table, func(k *layer) bool { return k.Name == n.Name && k.Below == kindBelow })
		if i < 0 {
			return fmt.Errorf("stack %s: no %q is on %s", l, n.Name, kindBelow)
		}
		out = append(out, part{table[i], n, nodesBelow})
		return nil
	}
	sources := l.Sources()
	for _, n := range sources {
		if err := add(n, nil); err != nil {
			return nil, err
		}
	}
	for i := 1; i < len(l.Nodes); i++ {
		kindBelow = out[len(out)-1].Gives
		if i == 1 && len(sources) > 1 {
			kindBelow = line.Blocks
		}
		if err := add(l.Nodes[i], l.Nodes[:i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Marks are the caveats that a stack's numbers carry wherever they are shown.
func Marks(l line.Line) []result.Mark {
	parts, err := resolve(l)
	if err != nil {
		return nil
	}
	var marks []result.Mark
	for _, p := range parts {
		for _, m := range p.marks {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
	}
	return marks
}

// Plan lists what bringing the stack up changes on the host, for people.
func Plan(l line.Line) ([]string, error) {
	parts, err := resolve(l)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range parts {
		if p.plan != nil {
			out = append(out, p.plan(p.node)...)
		}
	}
	return out, nil
}

// Occupies names, for each source in its order, what only one stack at a time
// can stand on: the MAJ:MIN of a block device, or "" for a source that stacks
// do not take from each other.
func (e *Env) Occupies(l line.Line) []string {
	var out []string
	for _, source := range l.Sources() {
		if source.Name == nvmeofSource.Name {
			nqn, _ := source.Option("nqn")
			out = append(out, "subsystem "+nqn) // by whatever way it is reached
			continue
		}
		d, err := e.device(source)
		if err != nil {
			d.MajMin = ""
		}
		out = append(out, d.MajMin)
	}
	return out
}

// Check returns an error if a stack that must hold need bytes cannot be made, without touching anything: *Refused for
// a protected device, *Unsupported for a host that lacks something.
func (e *Env) Check(ctx context.Context, l line.Line, need int64) error {
	parts, err := resolve(l)
	if err != nil {
		return err
	}
	sources := l.Sources()
	if err := e.checkSources(ctx, parts[:len(sources)], need); err != nil {
		return err
	}
	for _, p := range parts[len(sources):] {
		if p.Gives == line.View && sources[0].Name == dirSource.Name {
			if err := checkRoots(sources[0].Arg, "containers and their mounts"); err != nil {
				return err
			}
		}
		if p.check != nil {
			if err := p.check(ctx, e, p.node, need); err != nil {
				return err
			}
		}
		if p.checkOn != nil {
			if err := p.checkOn(e, p.nodesBelow, p.node); err != nil {
				return err
			}
		}
	}
	return nil
}
