package loadline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// Find says how much instances do together the more of them there are, and where more of
// them do less.
func Find(v *runview.View) (out []fact.Finding) {
	for _, told := range factsOf(v) {
		f := told.finding()
		f.ID, f.Case, f.Kind = "scaling/"+told.Curve.Stack+"/"+told.Curve.Workload, "scaling", fact.KindScaling
		f.Workload, f.Title, f.Section = told.series.Workload, told.title(), told.section()
		out = append(out, f)
	}
	return out
}

// finding is what a finding on a curve and a verdict have in common.
func (f *Facts) finding() fact.Finding {
	out := fact.Finding{
		Facts: f, Why: f.details(), Evidence: runview.Points(f.series.Cells()...),
		Caveats: runview.MarksOf(f.series.Cells()...),
	}
	if f.Curve.Stack != "" {
		out.Stacks = []string{f.Curve.Stack}
	}
	return out
}

// factsOf returns the facts of each curve.
func factsOf(v *runview.View) (curves []*Facts) {
	for _, s := range v.Scalings() {
		facts := &Facts{Curve: CurveOf(v, s), series: s, rate: runview.RateUnit(s.Cells()...)}
		facts.runs, facts.marks = running(v, s)
		for i, c := range s.Cells() {
			outside := 0.0
			for _, t := range c.Trials {
				if t.Window != nil {
					outside = max(outside, t.Window.Outside)
				}
			}
			if outside > result.MaxOutside {
				facts.out, facts.outside = append(facts.out, s.Levels[i].Count()), max(facts.outside, outside)
			}
		}
		curves = append(curves, facts)
	}
	return curves
}

// running returns what each instance does, within which limits of its own, and the marks that every number carries.
func running(v *runview.View, s runview.Series) (does string, marks []string) {
	tenant := v.MixOf(s).Tenants[0]
	does = v.Runs(tenant.Workload)
	if !tenant.Limits.None() {
		does = strings.TrimPrefix(does+", each with "+tenant.Limits.String(), ", ")
	}
	marks = slices.DeleteFunc(runview.MarksOf(s.Cells()...), func(m string) bool {
		return slices.ContainsFunc(s.Cells(), func(c *runview.Cell) bool { return !slices.Contains(c.Point.Marks, m) })
	})
	for _, name := range tenant.On { // these are their stacks, and the mix has none
		if s := v.Stack(name); s != nil {
			for _, m := range s.Marks {
				marks = runview.AddNew(marks, string(m))
			}
		}
	}
	return does, marks
}

// Verdict draws the verdict of a run that asks how many instances a host carries: on one stack,
// of mixes that differ in their number. ok is false for any other run.
func Verdict(v *runview.View) (f fact.Finding, facts *Facts, ok bool) {
	curves := factsOf(v)
	if len(curves) == 0 {
		return f, nil, false
	}
	for _, c := range v.All() {
		if c.Stack != curves[0].series.Stack || !v.Scaled(c.Workload.Name) {
			return f, nil, false
		}
	}
	facts = curves[0]
	if i := slices.IndexFunc(curves, func(f *Facts) bool { return f.Curve.Valley != nil }); i >= 0 {
		facts = curves[i]
	}
	f = facts.finding()
	f.ID, f.Case, f.Kind = "recommendation", "load line", fact.KindRecommendation
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence()}
	f.Title = facts.verdict(f.Recommendation.Confidence)
	named := []string{facts.Curve.Workload} // the same workload on another stack has its own finding
	for _, c := range curves {
		if said := c.secondVerdict(c.confidence()); said != "" && !slices.Contains(named, c.Curve.Workload) {
			named = append(named, c.Curve.Workload)
			f.Title += "; " + said
		}
	}
	return f, facts, true
}

// confidence is how sure it is how many instances the host carries. Where they are to meet an
// objective, the curve of all need not be known.
func (f *Facts) confidence() fact.Confidence {
	line, valley, beyond := f.Curve.Line, f.Curve.Valley, f.beyond() != nil
	switch {
	case line.undecidable(), !line.Objective.None() && line.BringUps < stats.FewestPairs:
		return fact.TooEarly
	case len(line.Unknown) > 0:
		return fact.Likely
	case beyond && (line.Decided() || line.Instances == 0 && len(line.Odds) == 0):
		return fact.Sure
	case beyond:
		return fact.Likely
	case f.Curve.Open != "" && line.Objective.None():
		return fact.TooEarly
	case valley == nil && line.Full() && line.Decided(), valley != nil && valley.Cause != CauseUnknown && line.Decided():
		return fact.Sure
	}
	return fact.Likely
}

// CurveOf returns what mixes do over the number of instances: what the change-point method of
// stats.FindChanges sees in it, how many the host carries for most throughput, and what binds at
// each number.
func CurveOf(v *runview.View, s runview.Series) Curve {
	key := fmt.Sprint("curve\x00", s.Stack.Name, "\x00", s.Levels[0].Cell.Workload.Name)
	return runview.Once(v, key, func() Curve { return curveOf(v, s) })
}

func curveOf(v *runview.View, s runview.Series) Curve {
	seed := v.Run.Seed
	c := Curve{
		Stack: s.Stack.Name, Workload: s.Workload, Missing: s.Missing, Tail: tailOf(s, seed), Points: v.Points(s),
		Line: lineFor(s, v.Objective(s), seed), Host: prose.HostOf(s.Host, v.Run.Imported != nil),
	}
	if s.Policy != "" {
		c.Workload += " under " + s.Policy
	}
	if s.Host != nil {
		c.Memory = s.Host.MemoryBytes
	}
	var rates []runview.Sample
	for _, cell := range s.Cells() {
		rates = append(rates, cell.Rates)
	}
	c.Floor = runview.SetupsApart(rates...)
	latencies, err := stats.FindChanges(levelsOf(s, runview.P99), seed)
	if err == nil {
		c.P99 = shapeOf(latencies, false)
	}
	best := slices.MaxFunc(c.Points, func(a, b fact.ScalingPoint) int { return cmp.Compare(a.Rate, b.Rate) })
	c.Best = best.Instances
	curve, err := stats.FindChanges(levelsOf(s, runview.Rate), seed)
	if err != nil {
		c.Open = err.Error()
		return c
	}
	c.Rate = shapeOf(curve, true)
	c.Valley = valleyOf(curve, c.Points)
	if c.Valley != nil {
		c.Best = c.Valley.From
		c.Valley.Cause = causeOf(c.pointAt(c.Valley.From), c.pointAt(c.Valley.To))
	}
	return c
}
