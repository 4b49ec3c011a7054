package policies

import (
	"cmp"
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Find returns what each policy of limits costs, against none.
func Find(v *runview.View) (out []fact.Finding) {
	var found []*Facts
	for _, of := range v.Policies() {
		f, told := find(v, of)
		out, found = append(out, f), append(found, told)
	}
	for i, facts := range found {
		out[i].Section = facts.sectionAmong(found)
	}
	return out
}

func find(v *runview.View, series runview.Series) (fact.Finding, *Facts) {
	facts := &Facts{Policies: policiesOf(v, series), rate: runview.RateUnit(series.Cells()...),
		runs: v.Runs(series.Workload)}
	f := fact.Finding{
		ID: fmt.Sprintf("policies/%s/%s-%d", series.Stack.Name, series.Workload, series.Instances), Case: "policies",
		Kind:     fact.KindScaling,
		Workload: series.Workload, Facts: facts, Title: facts.whose() + ": " + facts.cost(), Why: facts.details(),
		Stacks: series.Stack.Names(), Evidence: runview.Points(series.Cells()...),
		Caveats: runview.MarksOf(series.Cells()...),
	}
	return f, facts
}

// Verdict draws the verdict of a run that asks what policies of limits cost: on one stack, of mixes that
// differ in their policy; on a host that was quiet or not. Where they differ in the number of instances,
// too, it is that at which those without limits do most. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, facts *Facts, ok bool) {
	family := v.Policies()
	if len(family) == 0 {
		return f, nil, false
	}
	for _, c := range v.All() {
		if c.Stack != family[0].Stack || !v.UnderPolicy(c.Workload.Name) && !v.AtLevel(c.Workload.Name) {
			return f, nil, false
		}
	}
	for _, series := range family {
		one, about := find(v, series)
		if facts == nil || byRate(about, facts) > 0 {
			f, facts = one, about
		}
	}
	f.ID, f.Case, f.Kind, f.Workload = "recommendation", "policies", fact.KindRecommendation, ""
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence(quiet)}
	f.Title = facts.verdict(f.Recommendation.Confidence)
	return f, facts, true
}

// Next returns what is open of what the policies cost.
func (f *Facts) Next(_ *result.Run, c fact.Confidence) fact.Next { return fact.MoreSetups(c) }

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
func policiesOf(v *runview.View, series runview.Series) Policies {
	f := Policies{Stack: series.Stack.Name, Workload: series.Workload, Host: runview.HostText(series.Host),
		Instances: series.Instances}
	baseline := series.At(runview.NoPolicy)
	f.None = policyOf(v, series, runview.Level{Name: runview.NoPolicy, Cell: baseline}, nil)
	f.None.Cost = CostNone
	var effects []*fact.Effect
	for _, level := range series.Levels {
		if level.Cell == baseline {
			continue
		}
		p := policyOf(v, series, level, baseline)
		effects = append(effects, p.Throughput, p.P99)
		f.Policies = append(f.Policies, p)
	}
	v.AdjustTogether(effects)
	for i := range f.Policies {
		f.Policies[i].Cost = costOf(*f.Policies[i].Throughput)
	}
	return f
}

// policyOf returns the measurements under one policy. none has those without any; it is nil for none itself.
func policyOf(v *runview.View, series runview.Series, level runview.Level, baseline *runview.Cell) Policy {
	c := level.Cell
	used := v.PointOf(series.Host, c)
	return Policy{
		Name: level.Name, Summary: v.Summary(c, baseline), Fair: c.Sample(runview.Fairness).Median(), Weakest: used.Weakest,
		DeviceReads: used.DeviceReads, CacheBytes: used.CacheBytes, Limits: runview.OwnLimits(series.Host, c),
		Held: runview.AllBinding(used, v.PointOf(series.Host, cmp.Or(baseline, c))),
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
