// Package illusion names the stacks that memory answered for, what their numbers would make one
// believe, and what to do.
package illusion

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
)

// Facts are the facts of a stack that the page cache answered for.
type Facts struct {
	Served  *fact.Served `json:"served"`            // how many of fio's I/Os the device served
	Judged  string       `json:"judged,omitempty"`  // the check's own words on the worst trial
	Cause   string       `json:"cause"`             // which cache it is
	Fastest bool         `json:"fastest,omitempty"` // it is held against the fastest honest stack, for lack of a baseline
}

// Find names every stack that answered from memory.
func Find(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		if v.Together(w.Name) {
			continue
		}
		r := v.Rank(w.Name)
		for _, c := range v.Under(w.Name) {
			if c.Source() != result.SourceMemory {
				continue
			}
			facts := Facts{Served: runview.Served(c), Judged: judged(c), Cause: cacheOf(c.Stack)}
			if runview.Buffered(w) {
				facts.Cause = "asked for"
			}
			f := fact.Finding{
				ID: "illusion/" + c.Stack.Name + "/" + w.Name, Case: "illusion", Kind: fact.KindIllusion, Workload: w.Name, Stacks: []string{c.Stack.Name},
				Evidence: runview.Points(c),
				Caveats:  runview.MarksOf(c),
			}
			if honest, fastest := yardstick(v, r); honest != nil {
				e, ok := v.Compare(c, honest)
				if ok {
					f.Effect, facts.Fastest = &e, fastest
					f.Evidence = runview.Points(c, honest)
					prose.RemarkTooFew(&f, e)
				}
			}
			f.Facts = facts
			f.Title = fmt.Sprintf("%s answers %s from memory: %s", c.Stack.Name, w.Name, prose.Served(facts.Served))
			f.Why = facts.why(c.Point.Median, f.Effect)
			out = append(out, f)
		}
	}
	return out
}

// yardstick is the honest stack that an illusion is held against: the
// baseline, or else the fastest.
func yardstick(v *runview.View, r runview.Ranking) (c *runview.Cell, fastest bool) {
	for _, c := range r.Honest {
		if c.Stack.Name == v.Run.Experiment.Baseline {
			return c, false
		}
	}
	if len(r.Honest) > 0 {
		return r.Honest[0], true
	}
	return nil, false
}

// judged returns the honesty check's own words on the trial of which memory
// served most.
func judged(c *runview.Cell) string {
	var judgements []*result.Honesty
	for _, t := range c.Trials {
		if t.Honesty() != nil && t.Honesty().Source == result.SourceMemory {
			judgements = append(judgements, t.Honesty())
		}
	}
	if len(judgements) == 0 {
		return ""
	}
	byDevice := func(h *result.Honesty) float64 {
		if h.Ratio == nil || !runview.Finite(*h.Ratio) {
			return math.Inf(1)
		}
		return *h.Ratio
	}
	worst := slices.MinFunc(judgements, func(a, b *result.Honesty) int {
		return cmp.Or(cmp.Compare(byDevice(a), byDevice(b)), cmp.Compare(a.Reason, b.Reason))
	})
	return strings.TrimRight(worst.Reason, ".")
}

// cacheOf names the part of a stack that answers from memory: a key of caches.
func cacheOf(s *runview.Stack) string {
	source, fileSystem, view := runview.Split(s.Parsed)
	if source == nil {
		source = &line.Node{}
	}
	asked, _ := source.Option("direct-io")
	_, cold := source.Option("cold")
	switch {
	case view != nil && view.Name == runview.NodeFuse:
		return "fuse"
	case view != nil && view.Name == runview.NodeDeviceMapper && fileSystem != nil:
		return "loop-lvm"
	case source.Name == runview.NodeTmpfs:
		return "tmpfs"
	case source.Name == runview.NodeLoop && asked != "off" && readBack(s, "loop direct-io", asked) == "off":
		return "loop refused"
	case source.Name == runview.NodeLoop && asked == "off" && cold:
		return "loop cold"
	case source.Name == runview.NodeLoop && asked == "off":
		return "loop"
	case source.Name == runview.NodeDir:
		return "directory"
	}
	return "unknown"
}

// readBack returns what was read back from the host, or else what was declared.
func readBack(s *runview.Stack, name, declared string) string {
	for _, f := range s.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return declared
}
