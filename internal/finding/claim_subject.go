package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload/fio"
)

// The block sizes of the papers' random and sequential workloads.
const (
	randomBytes     = 4 << 10
	sequentialBytes = 128 << 10
)

// roles are the papers' names of fio's patterns.
var papersRoles = []struct {
	name, pattern string
	bytes         int64
}{
	{"RR", "randread", randomBytes}, {"RW", "randwrite", randomBytes},
	{"SR", "read", sequentialBytes}, {"SW", "write", sequentialBytes},
}

// roleOf is what the papers call a load: RR, RW, SR, SW; "" for another.
func roleOf(l fio.Load) string {
	for _, r := range papersRoles {
		if l.Direct && l.Pattern == r.pattern && l.BlockBytes == r.bytes {
			return r.name
		}
	}
	return ""
}

// wanted is the load that a claim is about.
type wanted struct {
	role string
	low  bool // one I/O at a time
	// Otherwise at least so many jobs, and so many I/Os in flight.
	jobs, inFlight int
	paper          fio.Load // what the paper had, as far as it says
}

// busy is how many I/Os in flight it takes at least to call a load high.
const busy = 32

// highLoad is the load of MSST'17 section 5: 32 jobs, 32 I/Os in flight each.
func highLoad(role string, jobs int) wanted {
	return wanted{role: role, jobs: jobs, inFlight: busy, paper: fio.Load{Jobs: 32, Depth: 32}}
}

func lowLoad(role string) wanted {
	return wanted{role: role, low: true, paper: fio.Load{Jobs: 1, Depth: 1}}
}

func (w wanted) fits(l fio.Load) bool {
	if w.low {
		return l.Jobs == 1 && l.Depth == 1
	}
	return l.Jobs >= w.jobs && l.InFlight() >= w.inFlight
}

// String says what load is wanted: "RR of at least 16 jobs".
func (w wanted) String() string {
	switch {
	case w.low:
		return w.role + " of 1 job x depth 1"
	case w.jobs > 1:
		return fmt.Sprintf("%s of at least %d jobs and %d I/Os in flight", w.role, w.jobs, w.inFlight)
	}
	return fmt.Sprintf("%s of at least %d I/Os in flight", w.role, w.inFlight)
}

// distance is how far a load is from the paper's, as a ratio on a log scale.
func (w wanted) distance(l fio.Load) float64 {
	return math.Abs(math.Log(float64(l.Jobs)/float64(w.paper.Jobs))) + math.Abs(math.Log(float64(l.Depth)/float64(w.paper.Depth)))
}

// driven is a workload whose load is known.
type driven struct {
	name string
	load fio.Load
}

// driven are the workloads whose declarations can be read, in their order.
func (v *view) driven() []driven {
	var out []driven
	for _, w := range v.workloads {
		if l, ok := fio.LoadOf(w.Declared); ok {
			out = append(out, driven{w.Name, l})
		}
	}
	return out
}

// workload finds the workload that is nearest to what the paper ran. ok is
// false when none will do; like then has those that only differ in the number
// of I/Os in flight.
func (v *view) workload(w wanted) (best driven, like []driven, ok bool) {
	for _, d := range v.driven() {
		switch {
		case roleOf(d.load) != w.role:
		case !w.fits(d.load):
			like = append(like, d)
		case !ok || w.distance(d.load) < w.distance(best.load):
			best, ok = d, true
		}
	}
	return best, like, ok
}

// lacking says why none of the run's workloads of a role will do.
func (w wanted) lacking(like []driven) judgement {
	var have []string
	for _, d := range like {
		have = append(have, fmt.Sprintf("%s (%s)", d.name, loadText(d.load)))
	}
	return notTestable("the claim is about %s, and the run has %s", w, plural.And(have))
}

func loadText(l fio.Load) string {
	return fmt.Sprintf("%s x depth %d", plural.Count(l.Jobs, "job"), l.Depth)
}

// otherLoad says how a load differs from the paper's.
func (w wanted) otherLoad(l fio.Load) []string {
	if l.Jobs == w.paper.Jobs && l.Depth == w.paper.Depth {
		return nil
	}
	return []string{fmt.Sprintf("%s here, %s in the paper", loadText(l), loadText(w.paper))}
}

// onDevice tells whether a stack stands on a block device that does not cache.
func onDevice(l line.Line) bool { return onBlocks(l) && !cachingLoop(l) }

func onBlocks(l line.Line) bool {
	source, _, _ := split(l)
	return source != nil && source.Name != nodeDir && source.Name != nodeTmpfs
}

// bare tells whether a stack is a block device and nothing on it.
func bare(l line.Line) bool { return onBlocks(l) && len(l.Nodes) == 1 }

// hosts tells whether a stack is that file system, on a block device, as the
// host sees it.
func hosts(l line.Line, fileSystem string) bool {
	return onDevice(l) && len(l.Nodes) == 2 && l.Nodes[1].Name == fileSystem
}

// viewed tells whether a stack is a view on a file system on a block device.
func viewed(l line.Line, names ...string) bool {
	_, fileSystem, view := split(l)
	return onDevice(l) && fileSystem != nil && view != nil && slices.Contains(names, view.Name)
}

// cachingLoop tells whether a stack stands on a loop device that keeps its
// file in the page cache.
func cachingLoop(l line.Line) bool {
	source, _, _ := split(l)
	if source == nil || source.Name != nodeLoop {
		return false
	}
	direct, _ := source.Option("direct-io")
	return direct == "off"
}

// with gives the line with the node at an index changed.
func with(l line.Line, at int, change func(line.Node) line.Node) line.Line {
	nodes := slices.Clone(l.Nodes)
	n := nodes[at]
	n.Options = slices.Clone(n.Options)
	nodes[at] = change(n)
	return line.Line{Nodes: nodes}
}

// below gives the line without its upper nodes.
func below(l line.Line, nodes int) line.Line { return line.Line{Nodes: l.Nodes[:nodes]} }

func withoutOption(n line.Node, key string) line.Node {
	n.Options = slices.DeleteFunc(n.Options, func(o line.Option) bool { return o.Key == key })
	return n
}

// canonical writes lines that mean the same alike: the order of options does
// not matter, nor does a default that is spelled out.
func canonical(l line.Line) string {
	if len(l.Nodes) == 0 {
		return ""
	}
	nodes := append(canonicalNodes(l.Sources()), canonicalNodes(l.Nodes[1:])...)
	sources := len(l.Sources())
	nodes = append([]line.Node{line.Join(nodes[:sources]...)}, nodes[sources:]...)
	// On a file system, devicemapper makes its pool in loop-lvm.
	nodes = slices.DeleteFunc(nodes, func(n line.Node) bool { _, loops := n.Option("loop-lvm"); return n.Name == nodeThin && loops })
	return line.Line{Nodes: nodes}.String()
}

func canonicalNodes(nodes []line.Node) (out []line.Node) {
	for _, n := range nodes {
		n.Options = slices.Clone(n.Options)
		n.Options = slices.DeleteFunc(n.Options, func(o line.Option) bool {
			return n.Name == nodeLoop && o.Key == "direct-io" && o.Value == "on" || o.Key == "mount" && o.Value == ""
		})
		for i, o := range n.Options {
			if o.Key == "mount" {
				flags := strings.Split(o.Value, ",")
				slices.Sort(flags)
				n.Options[i].Value = strings.Join(flags, ",")
			}
		}
		slices.SortFunc(n.Options, func(a, b line.Option) int {
			return strings.Compare(a.Key+"="+a.Value, b.Key+"="+b.Value)
		})
		out = append(out, n)
	}
	return out
}

// find gives the first stack with such a line, or nil.
func (v *view) find(l line.Line) *stack {
	text := canonical(l)
	i := slices.IndexFunc(v.stacks, func(s *stack) bool { return len(s.line.Nodes) > 0 && canonical(s.line) == text })
	if i < 0 {
		return nil
	}
	return v.stacks[i]
}

// unmeasured says why a stack has no measurement under a workload.
func (v *view) unmeasured(s *stack, workload string) string {
	for _, t := range v.run.Trials {
		if t.Stack != s.Name || t.Workload != workload || t.Problem == nil {
			continue
		}
		why := strings.TrimRight(t.Problem.Why, ".")
		if t.Problem.Remedy != "" {
			why += " (" + t.Problem.Remedy + ")"
		}
		if t.Status == result.TrialSkipped || t.Status == result.TrialFailed {
			return fmt.Sprintf("%s was %s: %s", s.Name, map[result.TrialStatus]string{result.TrialSkipped: "skipped", result.TrialFailed: "tried and failed"}[t.Status], why)
		}
	}
	return fmt.Sprintf("%s has no measurement of %s", s.Name, workload)
}

// unfit says why numbers cannot be taken for the device's; "" when they can.
func unfit(cells ...*cell) string {
	var why []string
	for _, c := range cells {
		switch c.source() {
		case result.SourceMemory:
			why = append(why, fmt.Sprintf("%s answered from memory: %s", c.stack.Name, served(c)))
		case result.SourceUnknown:
			why = append(why, fmt.Sprintf("no device counter of %s could be read: nobody knows what answered", c.stack.Name))
		}
	}
	return strings.Join(why, "; ")
}
