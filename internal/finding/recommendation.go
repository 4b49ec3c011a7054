package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// avoidBelow is the ratio to the recommended stack under which a slower one
// is named as to be avoided.
const avoidBelow = 0.8

// candidate is a stack that may be recommended: its device answered under
// every workload that decides.
type candidate struct {
	stack *stack
	cells []*cell // one per deciding workload
	score float64 // geometric mean of median IOPS / the best candidate's, 0 to 1
}

// recommend draws one verdict for the whole run.
func recommend(v *view) []Finding {
	f := Finding{ID: "recommendation", Kind: KindRecommendation}
	inContainer := func(s *stack) bool { return s.inContainer() }
	onHost := func(s *stack) bool { return !s.inContainer() }
	containers := slices.ContainsFunc(v.all(), func(c *cell) bool { return c.stack.inContainer() })
	eligible := func(*stack) bool { return true }
	if containers {
		eligible = inContainer
	}
	ranked := v.candidates(eligible)
	switch {
	case len(v.cells) == 0:
		f.Recommendation = v.nothing("nothing was measured")
		f.Why = "No trial finished. The findings on what was not measured say why."
	case len(ranked) > 0:
		v.verdict(&f, ranked)
	default:
		to := ""
		if containers {
			to = " for containers"
		}
		why := fmt.Sprintf("no stack can be recommended%s, because %s", to, v.noneHonest(eligible))
		if others := v.candidates(onHost); containers && len(others) > 0 {
			best := others[0]
			why += fmt.Sprintf("; on the host itself %s leads", best.stack.Name)
			f.Stacks, f.Evidence, f.Caveats = []string{best.stack.Name}, points(best.cells...), marksOf(best.cells...)
		}
		f.Recommendation = v.nothing(why)
		f.Why = "A stack is recommended when its device answered under every workload."
	}
	f.Title = strings.TrimSuffix(f.Recommendation.Headline, ".")
	f.Why = strings.TrimSpace(f.Why)
	f.Caveats = append(f.Caveats, v.warnings()...)
	return []Finding{f}
}

// candidates ranks the eligible stacks, best first. The workloads that decide
// are those under which at least one of them was honest.
func (v *view) candidates(eligible func(*stack) bool) []candidate {
	var deciding []string
	best := map[string]float64{}
	honest := func(s *stack, workload string) *cell {
		if c := v.cell(s.Name, workload); c != nil && c.honest() {
			return c
		}
		return nil
	}
	for _, w := range v.workloads {
		if slices.ContainsFunc(v.stacks, func(s *stack) bool { return eligible(s) && honest(s, w.Name) != nil }) {
			deciding = append(deciding, w.Name)
		}
	}
	var out []candidate
	for _, s := range v.stacks {
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
			best[cell.workload.Name] = max(best[cell.workload.Name], cell.point.Median)
		}
		out = append(out, c)
	}
	for i := range out {
		out[i].score = geometricMean(out[i].cells, func(c *cell) float64 { return c.point.Median / best[c.workload.Name] })
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return out
}

// geometricMean is 0 when a ratio is 0 or none.
func geometricMean(cells []*cell, ratio func(*cell) float64) float64 {
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

// verdict writes the recommendation of the best of the ranked candidates.
func (v *view) verdict(f *Finding, ranked []candidate) {
	best := ranked[0]
	level := []candidate{best} // with the best, under every workload
	for _, c := range ranked[1:] {
		if v.levelEverywhere(best, c) {
			level = append(level, c)
		}
	}
	pick := best
	if i := slices.IndexFunc(level, func(c candidate) bool { return !c.stack.diesWithContainer() }); i >= 0 {
		pick = level[i] // nothing is lost by taking the one that keeps its data
	}
	rest := slices.DeleteFunc(slices.Clone(ranked), func(c candidate) bool { return c.stack == pick.stack })

	f.Stacks = []string{pick.stack.Name}
	for _, c := range rest {
		f.Stacks = append(f.Stacks, c.stack.Name)
	}
	f.Evidence = points(pick.cells...)
	if len(rest) > 0 {
		f.Evidence = append(f.Evidence, points(rest[0].cells...)...)
	}
	f.Caveats = marksOf(pick.cells...)
	if len(rest) > 0 {
		f.Caveats = append(f.Caveats, tooFew(v.fewest(pick, rest[0]))...)
	}
	for _, w := range v.workloads {
		if len(v.under(w.Name)) > 0 && !slices.Contains(workloadsOf(pick.cells), w.Name) {
			f.Caveats = append(f.Caveats, fmt.Sprintf("%s does not count: under it no such stack's device answered", w.Name))
		}
	}
	f.Recommendation = v.conclude(pick, rest, keeper(pick, rest))
	f.Why = sentences(
		v.whyPick(pick, len(ranked)),
		v.whyOthers(pick, rest),
		v.whyBaseline(pick),
		v.whyPersistent(pick, rest),
		v.whyMeasureMore(pick),
	)
}

func (v *view) whyPick(pick candidate, of int) string {
	whose := "whose device answered"
	if pick.stack.inContainer() {
		whose = "that a container can use and whose device answered"
	}
	is := fmt.Sprintf("%s is %s. ", pick.stack.Name, pick.stack.Line)
	if of == 1 {
		return is + fmt.Sprintf("It is the only stack %s under %s.", whose, plural.And(workloadsOf(pick.cells)))
	}
	return is + fmt.Sprintf("Of %s %s, it reaches %s of the best median IOPS, as the geometric mean over %s.",
		plural.Count(of, "stack"), whose, units.Percent(pick.score), plural.And(workloadsOf(pick.cells)))
}

func (v *view) whyOthers(pick candidate, rest []candidate) string {
	if len(rest) == 0 {
		return ""
	}
	var parts []string
	for _, c := range rest {
		parts = append(parts, fmt.Sprintf("%s (%s)", c.stack.Name, v.perWorkload(c, pick)))
	}
	return "Against it, ~ where not significant: " + strings.Join(parts, ", ") + "."
}

func (v *view) whyBaseline(pick candidate) string {
	b, ok := v.baselineOf(pick)
	if !ok {
		return ""
	}
	return fmt.Sprintf("Against the baseline %s it reaches %s.", b.stack.Name, v.perWorkload(pick, b))
}

func (v *view) whyPersistent(pick candidate, rest []candidate) string {
	const source = "(MSST'17, section 3.1)"
	if !pick.stack.diesWithContainer() {
		if _, _, view := split(pick.stack.line); view != nil {
			return "A data volume outlives its container; the writable layer of a storage driver is removed with it " + source + "."
		}
		return ""
	}
	say := "The writable layer of a storage driver is removed with its container " + source + ": take it for what may be lost."
	keeps := keeper(pick, rest)
	if keeps == nil {
		return say + " No data volume was measured honestly; databases need one."
	}
	return fmt.Sprintf("%s Data that must stay belongs on %s (%s of it).", say, keeps.stack.Name, v.perWorkload(*keeps, pick))
}

// keeper is where data goes that must outlive its container when the pick
// does not keep it; nil when there is no such candidate, or no need.
func keeper(pick candidate, rest []candidate) *candidate {
	i := slices.IndexFunc(rest, func(c candidate) bool { return !c.stack.diesWithContainer() })
	if i < 0 || !pick.stack.diesWithContainer() {
		return nil
	}
	return &rest[i]
}

// whyMeasureMore names a file system that is better on the host than the pick
// is in its container, and that no container was measured on.
func (v *view) whyMeasureMore(pick candidate) string {
	c := v.betterOnHost(pick)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("On the host %s is faster (%s), and no container was measured on it: measure `%s > volume` too.",
		c.stack.Name, v.perWorkload(*c, pick), c.stack.line)
}

// betterOnHost is a stack on the host that is significantly faster than the
// pick in its container, and slower under no workload, on a file system that no
// container was measured on; nil for none.
func (v *view) betterOnHost(pick candidate) *candidate {
	if !pick.stack.inContainer() {
		return nil
	}
	onHost := func(s *stack) bool {
		_, fileSystem, view := split(s.line)
		return fileSystem != nil && view == nil && !slices.ContainsFunc(v.stacks, func(o *stack) bool {
			_, ok := added(s.line, o.line)
			return ok
		})
	}
	for _, c := range v.candidates(onHost) {
		if !slices.Equal(workloadsOf(c.cells), workloadsOf(pick.cells)) {
			continue
		}
		better, worse := false, false
		for i := range c.cells {
			if !v.level(c.cells[i], pick.cells[i]) {
				faster := c.cells[i].point.Median > pick.cells[i].point.Median
				better, worse = better || faster, worse || !faster
			}
		}
		if better && !worse {
			return &c
		}
	}
	return nil
}

// answeredBy names the stacks that such a source answered, with the workloads
// where it did not answer all of them.
func (v *view) answeredBy(source result.Source, stacks []*stack) []string {
	var out []string
	for _, s := range stacks {
		var so []string
		others := false
		for _, w := range v.workloads {
			switch c := v.cell(s.Name, w.Name); {
			case c == nil || buffered(w):
			case c.source() == source:
				so = append(so, w.Name)
			default:
				others = true
			}
		}
		switch {
		case len(so) > 0 && others:
			out = append(out, fmt.Sprintf("%s under %s", s.Name, plural.And(so)))
		case len(so) > 0:
			out = append(out, s.Name)
		}
	}
	return out
}

// noneHonest says why no eligible stack can be recommended.
func (v *view) noneHonest(eligible func(*stack) bool) string {
	stacks := slices.DeleteFunc(slices.Clone(v.stacks), func(s *stack) bool { return !eligible(s) })
	memory, unchecked := v.answeredBy(result.SourceMemory, stacks), v.answeredBy(result.SourceUnknown, stacks)
	var parts []string
	if len(memory) > 0 {
		parts = append(parts, "memory answered for "+plural.And(memory))
	}
	if len(unchecked) > 0 {
		parts = append(parts, "no device counter of "+plural.And(unchecked)+" could be read")
	}
	if len(parts) == 0 {
		parts = append(parts, "none was measured under every workload")
	}
	return plural.And(parts)
}

// levelEverywhere tells whether no workload tells two candidates apart.
func (v *view) levelEverywhere(a, b candidate) bool {
	for i := range a.cells {
		if !v.level(a.cells[i], b.cells[i]) {
			return false
		}
	}
	return true
}

// baselineOf gives the experiment's baseline under the candidate's workloads,
// when it is another stack and honest under all of them.
func (v *view) baselineOf(c candidate) (candidate, bool) {
	b := candidate{stack: v.stack(v.run.Experiment.Baseline)}
	if b.stack == nil || b.stack == c.stack {
		return b, false
	}
	for _, w := range workloadsOf(c.cells) {
		cell := v.cell(b.stack.Name, w)
		if cell == nil || !cell.honest() {
			return b, false
		}
		b.cells = append(b.cells, cell)
	}
	return b, true
}

// perWorkload writes the ratios of two candidates: "RR ~ 0.99x (0.97 to
// 1.01), RW 0.90x (0.88 to 0.93)".
func (v *view) perWorkload(subject, baseline candidate) string {
	var parts []string
	for i, c := range subject.cells {
		text := "no ratio"
		if e, ok := v.compare(c, baseline.cells[i]); ok {
			text = shortRatio(e)
		}
		parts = append(parts, c.workload.Name+" "+text)
	}
	return strings.Join(parts, ", ")
}

// fewest is the comparison of two candidates that has the fewest pairs or
// trials.
func (v *view) fewest(a, b candidate) (least Effect) {
	for i := range a.cells {
		e, _ := v.compare(a.cells[i], b.cells[i])
		size := func(e Effect) int { return max(e.Pairs, min(e.N[0], e.N[1])) }
		if i == 0 || e.TooFew && !least.TooFew || e.TooFew == least.TooFew && size(e) < size(least) {
			least = e
		}
	}
	return least
}

func workloadsOf(cells []*cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.workload.Name)
	}
	return out
}

func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
