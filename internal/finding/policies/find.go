package policies

import (
	"cmp"
	"fmt"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/runview"
)

// Find returns what each policy of limits costs, against none.
func Find(v *runview.View) (out []fact.Finding) {
	var all []*Facts
	for _, of := range v.Policies() {
		f, told := find(v, of)
		out, all = append(out, f), append(all, told)
	}
	for i, told := range all {
		out[i].Section = told.sectionAmong(all)
	}
	return out
}

func find(v *runview.View, of runview.Series) (fact.Finding, *Facts) {
	told := &Facts{Policies: policiesOf(v, of), rate: runview.RateUnit(of.Cells()...), runs: v.Runs(of.Workload)}
	f := fact.Finding{
		ID: fmt.Sprintf("policies/%s/%s-%d", of.Stack.Name, of.Workload, of.Instances), Case: "policies", Kind: fact.KindScaling,
		Workload: of.Workload, Facts: told, Title: told.whose() + ": " + told.cost(), Why: told.each(),
		Stacks: of.Stack.Names(), Evidence: runview.Points(of.Cells()...), Caveats: runview.MarksOf(of.Cells()...),
	}
	return f, told
}

// Verdict draws the verdict of a run that asks what policies of limits cost: on one stack, of mixes that
// differ in their policy; on a host that was quiet or not. Where they differ in the number of instances,
// too, it is that at which those without limits do most. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, told *Facts, ok bool) {
	all := v.Policies()
	if len(all) == 0 {
		return f, nil, false
	}
	for _, c := range v.All() {
		if c.Stack != all[0].Stack || !v.UnderPolicy(c.Workload.Name) && !v.AtLevel(c.Workload.Name) {
			return f, nil, false
		}
	}
	for _, of := range all {
		one, about := find(v, of)
		if told == nil || byRate(about, told) > 0 {
			f, told = one, about
		}
	}
	f.ID, f.Case, f.Kind, f.Workload = "recommendation", "policed", fact.KindRecommendation, ""
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(quiet)}
	f.Title = told.verdict(f.Recommendation.Confidence)
	return f, told, true
}

// byRate compares what instances do without limits of their own.
func byRate(a, b *Facts) int { return cmp.Compare(a.Policies.None.Rate, b.Policies.None.Rate) }

// confidence is how sure it is what the policies cost.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	_, tooFew := f.tooFew()
	switch {
	case tooFew, len(f.costs())+len(f.level()) == 0:
		return fact.TooEarly
	case len(f.open()) > 0 || !quiet:
		return fact.Likely
	}
	return fact.Sure
}

// policiesOf returns what each policy costs.
func policiesOf(v *runview.View, of runview.Series) Policies {
	f := Policies{Stack: of.Stack.Name, Workload: of.Workload, Host: runview.HostText(of.Host), Instances: of.Instances}
	none := of.At(runview.NoPolicy)
	f.None = policyOf(v, of, runview.Level{Name: runview.NoPolicy, Cell: none}, nil)
	f.None.Cost = CostNone
	var effects []*fact.Effect
	for _, level := range of.Levels {
		if level.Cell == none {
			continue
		}
		p := policyOf(v, of, level, none)
		effects = append(effects, p.Throughput, p.P99)
		f.Policies = append(f.Policies, p)
	}
	runview.AdjustTogether(effects)
	for i := range f.Policies {
		f.Policies[i].Cost = costOf(*f.Policies[i].Throughput)
	}
	return f
}

// policyOf returns the measurements under one policy. none has those without any; it is nil for none itself.
func policyOf(v *runview.View, of runview.Series, level runview.Level, none *runview.Cell) Policy {
	c := level.Cell
	used := v.PointOf(of.Host, c)
	return Policy{
		Name: level.Name, Summary: v.Summary(c, none), Fair: c.Sample(runview.Fairness).Median(), Weakest: used.Weakest,
		DeviceReads: used.DeviceReads, CacheBytes: used.CacheBytes, Limits: runview.OwnLimits(of.Host, c),
		Held: runview.AllBinding(used, v.PointOf(of.Host, cmp.Or(none, c))),
	}
}

// costOf classifies an effect on throughput: one of less than threshold.RateChange does not count.
func costOf(e fact.Effect) Cost {
	switch {
	case e.TooFew || !(e.Ratio > 0):
		return CostUnknown
	case e.Differs && e.Ratio <= 1-threshold.RateChange:
		return CostSome
	case e.Differs && e.Ratio >= 1+threshold.RateChange:
		return CostGain
	case runview.MayBeLarge(e):
		return CostOpen
	}
	return CostNone
}
