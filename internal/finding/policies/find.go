package policies

import (
	"cmp"
	"fmt"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Find says what each policy of limits costs, against none.
func Find(v *measured.View) (out []fact.Finding) {
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

func find(v *measured.View, of measured.Policied) (fact.Finding, *Facts) {
	told := &Facts{Policies: policiesOf(v, of), rate: measured.RateUnit(of.Cells...), runs: v.Runs(of.Workload)}
	f := fact.Finding{
		ID: fmt.Sprintf("policies/%s/%s-%d", of.Stack.Name, of.Workload, of.Instances), Case: "policies", Kind: fact.KindScaling,
		Workload: of.Workload, Facts: told, Title: told.whose() + ": " + told.cost(), Why: told.each(),
		Stacks: of.Stack.Names(), Evidence: measured.Points(of.Cells...), Caveats: measured.MarksOf(of.Cells...),
	}
	return f, told
}

// Verdict draws the verdict of a run that asks what policies of limits cost: on one stack, of mixes that
// differ in their policy; on a host that was quiet or not. Where they differ in the number of instances,
// too, it is that at which those without limits do most. ok is false for any other run.
func Verdict(v *measured.View, quiet bool) (f fact.Finding, told *Facts, ok bool) {
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
func policiesOf(v *measured.View, of measured.Policied) Policies {
	f := Policies{Stack: of.Stack.Name, Workload: of.Workload, Instances: of.Instances}
	if of.Host != nil {
		f.Host = of.Host.String()
	}
	none := of.None()
	alone := measured.PointOf(none, of.Instances)
	f.None = policyOf(v, of, measured.NoPolicy, none, alone)
	f.None.Cost = CostNone
	var effects []*fact.Effect
	for i, c := range of.Cells {
		if c == none {
			continue
		}
		p := policyOf(v, of, of.Names[i], c, alone)
		rate, _ := v.Effect(measured.IOPS, p.Mix, f.None.Mix, c.Rates, none.Rates)
		p.Throughput = &rate
		effects = append(effects, p.Throughput)
		p99, ok := v.Effect("p99", p.Mix, f.None.Mix, c.Sample(samples.P99), none.Sample(samples.P99))
		if ok {
			p.P99 = &p99
			effects = append(effects, p.P99)
		}
		f.Policies = append(f.Policies, p)
	}
	measured.AdjustTogether(effects)
	for i := range f.Policies {
		f.Policies[i].Cost = costOf(*f.Policies[i].Throughput)
	}
	return f
}

// policyOf is what instances did under one policy; none is what they did without.
func policyOf(v *measured.View, of measured.Policied, name string, c *measured.Cell, none fact.ScalingPoint) Policy {
	point := measured.PointOf(c, of.Instances)
	point.Uses = v.UsesOf(of.Host, c, point)
	p := Policy{
		Name: name, Mix: c.Workload.Name, BringUps: c.Point.N, Rate: point.Rate, P99NS: point.P99NS, Weakest: point.Weakest,
		DeviceReads: point.DeviceReads, CacheBytes: point.CacheBytes,
		Limits: measured.OwnLimits(of.Host, c), Held: measured.AllBinding(point, none),
	}
	p.Fair, _ = c.Median(fairness)
	if moved := c.DeviceBandwidth(); len(moved) > 0 {
		p.DeviceBytes = stats.Median(moved.Means())
	}
	return p
}

// fairness is Jain's index over the rates of the instances of a trial.
func fairness(t *result.Trial) (index float64, ok bool) {
	var rates []float64
	for _, in := range t.Instances {
		if in.Measurement != nil {
			rates = append(rates, in.Measurement.IOPS())
		}
	}
	if len(rates) == 0 {
		return 0, false
	}
	index = stats.Jain(rates)
	return index, measured.Finite(index)
}

// costOf is what an effect on throughput says: one of less than measured.WorthTelling is none that counts.
func costOf(e fact.Effect) Cost {
	switch {
	case e.TooFew || !(e.Ratio > 0):
		return CostUnknown
	case e.Differs && e.Ratio <= 1-measured.WorthTelling:
		return CostSome
	case e.Differs && e.Ratio >= 1+measured.WorthTelling:
		return CostGain
	case !e.HasInterval() || e.Low < 1-measured.MayMatter || e.High > 1+measured.MayMatter:
		return CostOpen
	}
	return CostNone
}
