// Package verdict draws the one verdict of a run: which stack to use, or the answer to the question that its
// mixes ask.
package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/noise"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// candidate is a stack that may be recommended: its device answered under
// every workload that decides.
type candidate struct {
	stack *runview.Stack
	cells []*runview.Cell // one per deciding workload
	score float64         // its rate / the best candidate's under the workload under which that is lowest, 0 to 1
}

// Find draws one verdict for the whole run. It says how many runs it is from, where they are several.
func Find(v *runview.View) []fact.Finding {
	findings := find(v)
	for _, f := range findings {
		f.Recommendation.Headline += prose.FromRuns(v.Run)
		f.Recommendation.Runs = len(v.Run.Pooled)
	}
	return findings
}

func find(v *runview.View) []fact.Finding {
	if f, ok := answer(v); ok {
		return []fact.Finding{f}
	}
	f := fact.Finding{ID: "recommendation", Case: "stack", Kind: fact.KindRecommendation}
	inContainer := func(s *runview.Stack) bool { return s.InContainer() }
	onHost := func(s *runview.Stack) bool { return !s.InContainer() }
	containers := slices.ContainsFunc(v.All(), func(c *runview.Cell) bool { return c.Stack.InContainer() })
	eligible := func(*runview.Stack) bool { return true }
	switch {
	case containers:
		eligible = inContainer
	case slices.ContainsFunc(v.All(), func(c *runview.Cell) bool { return c.Honest() && onFileSystem(c.Stack) }):
		eligible = onFileSystem // the bare device is what these are held against
	}
	ranked := candidates(v, eligible)
	switch {
	case len(v.Cells) == 0:
		f.Case = "no stack"
		f.Recommendation, f.Facts = nothing(v, Facts{})
	case len(ranked) > 0:
		verdictOn(v, &f, ranked)
	default:
		f.Case = "no stack"
		stacks := slices.DeleteFunc(slices.Clone(v.Stacks), func(s *runview.Stack) bool { return !eligible(s) })
		f.Recommendation, f.Facts = nothing(v, Facts{Conditions: Conditions{
			Imported:           v.Run.Imported != nil,
			ContainersMeasured: containers, AnsweredCandidates: answeredBy(v, result.SourceMemory, stacks),
			UncheckedCandidates: answeredBy(v, result.SourceUnknown, stacks),
		}})
		if others := candidates(v, onHost); containers && len(others) > 0 {
			best := others[0]
			f.Stacks, f.Evidence, f.Caveats = []string{best.stack.Name}, runview.Points(best.cells...), runview.MarksOf(best.cells...)
		}
	}
	f.Caveats = append(f.Caveats, doubts(v)...)
	f.Facts.(Facts).say(&f)
	return []fact.Finding{f}
}

// doubts returns the reasons against any verdict that the run's control shows.
func doubts(v *runview.View) (all []string) {
	for _, d := range noise.TwinsApart(v) {
		all = append(all, doubt(d))
	}
	return all
}

// onFileSystem reports whether a stack has files: nobody asks which file system
// to take, and is helped by none.
func onFileSystem(s *runview.Stack) bool {
	source, fileSystem, _ := runview.Split(s.Parsed)
	return source == nil || source.Name == runview.NodeDir || source.Name == runview.NodeTmpfs || fileSystem != nil
}

// candidates ranks the eligible stacks, best first. The workloads that decide
// are those under which at least one of them was honest.
func candidates(v *runview.View, eligible func(*runview.Stack) bool) []candidate {
	var deciding []string
	best := map[string]float64{}
	honest := func(s *runview.Stack, workload string) *runview.Cell {
		if c := v.Cell(s.Name, workload); c != nil && c.Honest() {
			return c
		}
		return nil
	}
	for _, w := range v.Workloads {
		if slices.ContainsFunc(v.Stacks, func(s *runview.Stack) bool { return eligible(s) && honest(s, w.Name) != nil }) {
			deciding = append(deciding, w.Name)
		}
	}
	var out []candidate
	for _, s := range v.Stacks {
		if !eligible(s) {
			continue
		}
		c := candidate{stack: s}
		for _, w := range deciding {
			if cell := honest(s, w); cell != nil {
				c.cells = append(c.cells, cell)
			}
		}
		if len(c.cells) == 0 || len(c.cells) < len(deciding) {
			continue
		}
		for _, cell := range c.cells {
			best[cell.Workload.Name] = max(best[cell.Workload.Name], v.Level(cell))
		}
		out = append(out, c)
	}
	for i := range out {
		out[i].score = 1
		for _, c := range out[i].cells {
			out[i].score = min(out[i].score, share(v.Level(c), best[c.Workload.Name]))
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return out
}

// share returns a rate as a share of the best one; 0 where nothing was done.
func share(rate, best float64) float64 {
	if !(best > 0) {
		return 0
	}
	return rate / best
}

// verdictOn writes the recommendation of the best of the ranked candidates.
func verdictOn(v *runview.View, f *fact.Finding, ranked []candidate) {
	pick, contest := ranked[0], contestOf(v, ranked)
	if i := slices.IndexFunc(ranked, func(c candidate) bool {
		return !c.stack.DiesWithContainer() && (contest.asGood(c.stack) || contest.maybe(c, ranked[0]))
	}); i >= 0 {
		pick = ranked[i] // nothing that matters is known to be lost by taking the one that keeps its data
	}
	rest := slices.DeleteFunc(slices.Clone(ranked), func(c candidate) bool { return c.stack == pick.stack })

	f.Stacks = []string{pick.stack.Name}
	for _, c := range rest {
		f.Stacks = append(f.Stacks, c.stack.Name)
	}
	f.Evidence = runview.Points(pick.cells...)
	if len(rest) > 0 {
		f.Evidence = append(f.Evidence, runview.Points(rest[0].cells...)...)
	}
	f.Caveats = runview.MarksOf(pick.cells...)
	if len(rest) > 0 {
		f.Caveats = append(f.Caveats, prose.TooFew(fewest(v, pick, rest[0]))...)
	}
	for _, w := range v.Workloads {
		if len(v.Under(w.Name)) > 0 && !slices.Contains(workloadsOf(pick.cells), w.Name) {
			f.Caveats = append(f.Caveats, fmt.Sprintf("%s does not count: under it no such stack's device answered", w.Name))
		}
	}
	f.Recommendation, f.Facts = conclude(v, contest, pick, rest, keeper(pick, rest))
}

// keeper is where data goes that must outlive its container when the pick
// does not keep it; nil when there is no such candidate, or no need.
func keeper(pick candidate, rest []candidate) *candidate {
	i := slices.IndexFunc(rest, func(c candidate) bool { return !c.stack.DiesWithContainer() })
	if i < 0 || !pick.stack.DiesWithContainer() {
		return nil
	}
	return &rest[i]
}

// betterOnHost is a stack on the host that is significantly faster than the
// pick in its container, and slower under no workload, on a file system that no
// container was measured on; nil for none.
func betterOnHost(v *runview.View, pick candidate) *candidate {
	if !pick.stack.InContainer() {
		return nil
	}
	onHost := func(s *runview.Stack) bool {
		_, fileSystem, view := runview.Split(s.Parsed)
		return fileSystem != nil && view == nil && !slices.ContainsFunc(v.Stacks, func(o *runview.Stack) bool {
			_, ok := runview.Added(s.Parsed, o.Parsed)
			return ok
		})
	}
	for _, c := range candidates(v, onHost) {
		if !slices.Equal(workloadsOf(c.cells), workloadsOf(pick.cells)) {
			continue
		}
		better, worse := false, false
		for i := range c.cells {
			if e, _ := v.Compare(c.cells[i], pick.cells[i]); e.Differs {
				better, worse = better || e.Ratio > 1, worse || e.Ratio < 1
			}
		}
		if better && !worse {
			return &c
		}
	}
	return nil
}

// answeredBy returns the stacks that a source answered; with the workloads that it answered, unless these are all.
func answeredBy(v *runview.View, source result.Source, stacks []*runview.Stack) []AnsweredStack {
	var out []AnsweredStack
	for _, s := range stacks {
		var answered []string
		missed := false
		for _, w := range v.Workloads {
			switch c := v.Cell(s.Name, w.Name); {
			case c == nil || runview.Buffered(w):
			case c.Source() == source:
				answered = append(answered, w.Name)
			default:
				missed = true
			}
		}
		switch {
		case len(answered) > 0 && missed:
			out = append(out, AnsweredStack{s.Name, answered})
		case len(answered) > 0:
			out = append(out, AnsweredStack{Stack: s.Name})
		}
	}
	return out
}

// baselineOf returns the experiment's baseline under the candidate's workloads,
// when it is another stack and honest under all of them.
func baselineOf(v *runview.View, c candidate) (candidate, bool) {
	b := candidate{stack: v.Stack(v.Run.Experiment.Baseline)}
	if b.stack == nil || b.stack == c.stack {
		return b, false
	}
	for _, w := range workloadsOf(c.cells) {
		cell := v.Cell(b.stack.Name, w)
		if cell == nil || !cell.Honest() {
			return b, false
		}
		b.cells = append(b.cells, cell)
	}
	return b, true
}

// fewest is the comparison of two candidates that has the fewest pairs or
// trials.
func fewest(v *runview.View, a, b candidate) (least fact.Effect) {
	for i := range a.cells {
		e, _ := v.Compare(a.cells[i], b.cells[i])
		size := func(e fact.Effect) int { return max(e.Pairs, min(e.N[0], e.N[1])) }
		if i == 0 || e.TooFew && !least.TooFew || e.TooFew == least.TooFew && size(e) < size(least) {
			least = e
		}
	}
	return least
}

func workloadsOf(cells []*runview.Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.Workload.Name)
	}
	return out
}
