package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/stack/line"
)

// nodeRemote is the source that is another host's device.
const nodeRemote = "nvmeof"

// Reach assigns remote devices to those of e's stacks that only name a transport, as nvmeof(transport=tcp) does: each
// gets the remote of its transport, and keeps its other options of the connection. leftOut has the reason for each
// stack without a remote, which is removed. It is an error if a remote is not used by any stack, or if there are no
// remotes for stacks that wait for one.
func Reach(e *Experiment, remotes []line.Node) (leftOut []string, err error) {
	used := make([]bool, len(remotes))
	var kept []Stack
	var waiting []string
	for _, s := range e.Stacks {
		missing := ""
		sources := slices.Clone(s.Line.Sources())
		for i, source := range sources {
			if !Unreached(source) {
				continue
			}
			transport, _ := source.Option("transport")
			number := slices.IndexFunc(remotes, func(r line.Node) bool { t, _ := r.Option("transport"); return t == transport })
			if number < 0 {
				missing = transport
				continue
			}
			used[number] = true
			sources[i] = joinOptions(remotes[number], source)
		}
		if missing != "" {
			waiting = append(waiting, missing)
			leftOut = append(leftOut, fmt.Sprintf("stack %s: no --remote says where a target is over %s", s.Name, missing))
			if e.Baseline == s.Name {
				e.Baseline = ""
			}
			continue
		}
		s.Line = line.Line{Nodes: append([]line.Node{line.Join(sources...)}, s.Line.Nodes[1:]...)}
		s.Text = s.Line.String()
		kept = append(kept, s)
	}
	if len(remotes) == 0 && len(waiting) > 0 {
		slices.Sort(waiting)
		return nil, fmt.Errorf("%s measures other hosts' devices, over %s, and nothing says where they are. Export "+
			"them there with plimsoll target export, and name each with --remote 'nvmeof(...)', as that prints it. "+
			"plimsoll lab run does all of that by itself",
			e.Name, strings.Join(slices.Compact(waiting), " and "))
	}
	var problems []error
	for i, r := range remotes {
		if !used[i] {
			problems = append(problems, fmt.Errorf("--remote %s: no stack of %s takes it: none waits for a target "+
				"over its transport, or another --remote came first", r, e.Name))
		}
	}
	if len(problems) == 0 && len(leftOut) > 0 && len(kept) == 0 {
		problems = append(problems, fmt.Errorf("no stack of %s is left: %s", e.Name, lines(leftOut)))
	}
	e.Stacks = kept
	run := len(e.Mixes) > 0
	leftOut = append(leftOut, e.prune()...)
	if len(problems) == 0 && run && len(e.Mixes) == 0 {
		problems = append(problems, fmt.Errorf("no mix of %s is left: %s", e.Name, lines(leftOut)))
	}
	return leftOut, errors.Join(problems...)
}

// Unreached reports whether a source is another host's device of which only the transport is known.
func Unreached(source line.Node) bool {
	_, named := source.Option("nqn")
	return source.Name == nodeRemote && !named
}

// joinOptions returns a node with the options of other that it lacks.
func joinOptions(n, other line.Node) line.Node {
	n.Options = slices.Clone(n.Options)
	for _, o := range other.Options {
		if _, has := n.Option(o.Key); !has {
			n.Options = append(n.Options, o)
		}
	}
	return n
}
