// Package verdict draws the one verdict of a run: which stack to use, or the answer to the question that its
// mixes ask.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/noise"
	"plimsoll/internal/finding/overload"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// candidate is a stack that may be recommended: its device answered under
// every workload that decides.
type candidate struct {
	stack *runview.Stack
	cells []*runview.Cell // one per deciding workload
	score float64         // geometric mean of median IOPS / the best candidate's, 0 to 1
}

// Find draws one verdict for the whole run.
func Find(v *runview.View) []fact.Finding {
	if f, ok := elsewhere(v); ok {
		f.Facts.(Facts).say(&f)
		return []fact.Finding{f}
	}
	for _, about := range []func(*runview.View) (fact.Finding, bool){
		answered(policies.Verdict, func(f *policies.Facts) Facts { return Facts{Answers: Answers{Policies: f}} }),
		carries,
		answered(tenants.Verdict, func(f *tenants.Facts) Facts { return Facts{Answers: Answers{Tenants: f}} }),
		answered(overload.Verdict, func(f *overload.Facts) Facts { return Facts{Answers: Answers{Overload: f}} }),
		answered(levels.Verdict, func(f *levels.Facts) Facts { return Facts{Answers: Answers{Levels: f}} }),
	} {
		if f, ok := about(v); ok {
			settle(v, &f)
			f.Facts.(Facts).say(&f)
			return []fact.Finding{f}
		}
	}
	f := fact.Finding{ID: "recommendation", Case: "recommendation", Kind: fact.KindRecommendation}
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
		f.Case = "nothing"
		f.Recommendation, f.Facts = nothing(v, Facts{})
	case len(ranked) > 0:
		verdictOn(v, &f, ranked)
	default:
		f.Case = "nothing"
		stacks := slices.DeleteFunc(slices.Clone(v.Stacks), func(s *runview.Stack) bool { return !eligible(s) })
		f.Recommendation, f.Facts = nothing(v, Facts{Conditions: Conditions{
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

// carries draws the verdict of a run that asks how many instances a host carries.
func carries(v *runview.View) (fact.Finding, bool) {
	f, told, ok := loadline.Verdict(v)
	if !ok {
		return f, false
	}
	if moves := elasticity.Moves(v, told.Cells()); moves != "" && f.Recommendation.Confidence != fact.TooEarly {
		f.Title += "; " + moves
	}
	f.Facts, f.Caveats = Facts{Answers: Answers{LoadLine: told}}, append(f.Caveats, doubts(v)...)
	return f, true
}

// answered draws the verdict of a run that asks one question: of asks it, and in is where its facts stand.
func answered[T any](of func(*runview.View, bool) (fact.Finding, T, bool), in func(T) Facts) func(*runview.View) (fact.Finding, bool) {
	return func(v *runview.View) (fact.Finding, bool) {
		f, told, ok := of(v, v.Neighbours() == nil)
		if ok {
			f.Facts, f.Caveats = in(told), append(f.Caveats, doubts(v)...)
		}
		return f, ok
	}
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
			best[cell.Workload.Name] = max(best[cell.Workload.Name], cell.Point.Median)
		}
		out = append(out, c)
	}
	for i := range out {
		out[i].score = geometricMean(out[i].cells, func(c *runview.Cell) float64 { return c.Point.Median / best[c.Workload.Name] })
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return out
}

// geometricMean is 0 when a ratio is 0 or none.
func geometricMean(cells []*runview.Cell, ratio func(*runview.Cell) float64) float64 {
	sum := 0.0
	for _, c := range cells {
		r := ratio(c)
		if !(r > 0) {
			return 0
		}
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(cells)))
}

// verdictOn writes the recommendation of the best of the ranked candidates.
func verdictOn(v *runview.View, f *fact.Finding, ranked []candidate) {
	best := ranked[0]
	level := []candidate{best} // with the best, under every workload
	for _, c := range ranked[1:] {
		if levelEverywhere(v, best, c) {
			level = append(level, c)
		}
	}
	pick := best
	if i := slices.IndexFunc(level, func(c candidate) bool { return !c.stack.DiesWithContainer() }); i >= 0 {
		pick = level[i] // nothing is lost by taking the one that keeps its data
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
	f.Recommendation, f.Facts = conclude(v, pick, rest, keeper(pick, rest))
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
			if !v.Level(c.cells[i], pick.cells[i]) {
				faster := c.cells[i].Point.Median > pick.cells[i].Point.Median
				better, worse = better || faster, worse || !faster
			}
		}
		if better && !worse {
			return &c
		}
	}
	return nil
}

// answeredBy are the stacks that such a source answered, with the workloads where
// it did not answer all of them.
func answeredBy(v *runview.View, source result.Source, stacks []*runview.Stack) []AnsweredStack {
	var out []AnsweredStack
	for _, s := range stacks {
		var so []string
		others := false
		for _, w := range v.Workloads {
			switch c := v.Cell(s.Name, w.Name); {
			case c == nil || runview.Buffered(w):
			case c.Source() == source:
				so = append(so, w.Name)
			default:
				others = true
			}
		}
		switch {
		case len(so) > 0 && others:
			out = append(out, AnsweredStack{s.Name, so})
		case len(so) > 0:
			out = append(out, AnsweredStack{Stack: s.Name})
		}
	}
	return out
}

// levelEverywhere reports whether no workload tells two candidates apart.
func levelEverywhere(v *runview.View, a, b candidate) bool {
	for i := range a.cells {
		if !v.Level(a.cells[i], b.cells[i]) {
			return false
		}
	}
	return true
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
