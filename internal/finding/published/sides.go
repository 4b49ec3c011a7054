package published

import (
	"cmp"
	"math"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// side is so many instances of a workload on a stack: a tenant of a mix that was measured.
type side struct {
	cell    *measured.Cell
	mix     result.Mix
	tenant  result.Tenant
	role    string
	instead *Instead
}

// sides are the tenants that a claim is about, of mixes with so many tenants.
func sides(v *measured.View, t *claims.Test, tenants int) (all []side) {
	for _, m := range v.Run.Mixes {
		if len(m.Tenants) != tenants || m.Varies != nil {
			continue
		}
		for _, c := range v.Under(m.Name) {
			for _, of := range m.Tenants {
				role, instead, ok := inRole(v, t, of.Workload, t.Roles...)
				if ok && onStacks(v, t, c.Stack.Name, of) {
					all = append(all, side{c, m, of, role, instead})
				}
			}
		}
	}
	return all
}

// sameHost reports whether two sides are on one stack, in the same miniature.
func sameHost(a, b side) bool {
	return a.cell.Stack == b.cell.Stack && slices.Equal(a.tenant.On, b.tenant.On) &&
		(a.mix.Host == nil) == (b.mix.Host == nil) && (a.mix.Host == nil || *a.mix.Host == *b.mix.Host)
}

// nearest returns of sides that differ in their number of instances those whose number is
// nearest to the published one; of equals the smaller.
func nearestTo(at int, all []side) (out []side) {
	for _, s := range all {
		group := func(o side) bool { return sameHost(s, o) && s.tenant.Workload == o.tenant.Workload }
		if slices.ContainsFunc(out, group) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(all), func(o side) bool { return !group(o) })
		out = append(out, slices.MinFunc(of, func(a, b side) int {
			away := func(s side) float64 { return math.Abs(math.Log(float64(s.tenant.Count) / float64(at))) }
			return cmp.Or(cmp.Compare(away(a), away(b)), cmp.Compare(a.tenant.Count, b.tenant.Count))
		}))
	}
	return out
}

// Compared is two sets of instances, by a metric.
type Compared struct {
	Metric    string      `json:"metric"`
	Workload  string      `json:"workload"`
	Instances int         `json:"instances"`        // of each
	Beside    string      `json:"beside,omitempty"` // the other workload of the mix
	Effect    fact.Effect `json:"effect"`           // of subject and baseline: policies, workloads, mixes
}

// Unmatched is instances that a run has none to compare with.
type Unmatched struct {
	Workload  string `json:"workload"`
	Instances int    `json:"instances"`
	Lacks     string `json:"lacks"` // a policy, or a workload
}

// matched compares each of some sides with the first of the others that matches it, as
// many instances on the same stack and host; those with one at the number that is
// nearest to the published.
func matched(
	v *measured.View, c claims.Claim, all []side, subject func(side) bool, against func(of, o side) bool, lacks string,
	names func(of, o side) (string, string), how string,
) (out []claimCase) {
	partner := func(s side) *side {
		at := slices.IndexFunc(all, func(o side) bool {
			return sameHost(s, o) && s.tenant.Count == o.tenant.Count && against(s, o)
		})
		if at < 0 {
			return nil
		}
		return &all[at]
	}
	of := slices.DeleteFunc(slices.Clone(all), func(s side) bool { return !subject(s) })
	with := slices.DeleteFunc(slices.Clone(of), func(s side) bool { return partner(s) == nil })
	if len(with) > 0 {
		of = with
	}
	for _, s := range nearestTo(c.Test.At, of) {
		k := claimCase{
			stacks: []string{s.cell.Stack.Name}, workload: s.tenant.Workload, instead: s.instead,
			evidence: []*measured.Cell{s.cell},
		}
		o := partner(s)
		if o == nil {
			k.judgement = notTestable("unmatched "+how, Unmatched{s.tenant.Workload, s.tenant.Count, lacks})
			out = append(out, k)
			continue
		}
		k.evidence = append(k.evidence, o.cell)
		a, b := names(s, *o)
		of := metricOf(c.Test.Metric)
		facts := Compared{Metric: string(metricName(c.Test)), Workload: s.tenant.Workload, Instances: s.tenant.Count}
		k.compare(v, c, facts, how, a, b, of(s.cell), of(o.cell))
		out = append(out, k)
	}
	return out
}

// compare judges the ratio of two samples.
func (k *claimCase) compare(
	v *measured.View, c claims.Claim, facts Compared, how, a, b string, x, y samples.Sample,
) {
	if len(x) == 0 || len(y) == 0 {
		k.judgement = notTestable("no metric", facts)
		return
	}
	e, ok := v.Effect(facts.Metric, a, b, x, y)
	facts.Effect = e
	if !ok {
		k.judgement = notTestable("none at all", facts)
		return
	}
	k.effect, k.measured = &e, fact.Remark{Case: how, Facts: facts}
	k.judgement = k.judgeRatio(c, e)
}

func metricName(t *claims.Test) claims.Metric {
	if t.Metric == "" {
		return claims.Throughput
	}
	return t.Metric
}

// metricOf is how a metric of a mix is taken.
func metricOf(m claims.Metric) func(*measured.Cell) samples.Sample {
	switch m {
	case claims.P99:
		return func(c *measured.Cell) samples.Sample { return c.Sample(samples.P99) }
	case claims.DeviceBandwidth:
		return (*measured.Cell).DeviceBandwidth
	}
	return func(c *measured.Cell) samples.Sample { return c.Rates }
}

// policy tests instances with a policy of limits against as many with another one.
func policy(v *measured.View, c claims.Claim) []claimCase {
	return matched(v, c, sides(v, c.Test, 1),
		func(s side) bool { return policyOf(s.tenant) == c.Test.Policy },
		func(of, o side) bool {
			return o.tenant.Workload == of.tenant.Workload && policyOf(o.tenant) == c.Test.Against[0]
		},
		c.Test.Against[0],
		func(of, o side) (string, string) { return policyOf(of.tenant), policyOf(o.tenant) }, "policies")
}

// workload tests instances of a workload against as many of another one, which do more.
func workload(v *measured.View, c claims.Claim) []claimCase {
	more := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 1, High: math.Inf(1)}, Test: c.Test}
	return matched(v, more, sides(v, c.Test, 1),
		func(s side) bool { return s.role == c.Test.Roles[0] && policyOf(s.tenant) == noPolicy },
		func(_, o side) bool { return o.role == c.Test.Roles[1] && policyOf(o.tenant) == noPolicy },
		c.Test.Roles[1],
		func(of, o side) (string, string) { return of.tenant.Workload, o.tenant.Workload }, "workloads")
}

// beside tests what instances of a workload do beside those of another one, against as
// many of them alone: of the mixes with both, the one with the most of them.
func beside(v *measured.View, c claims.Claim) (out []claimCase) {
	all, alone := sides(v, c.Test, 2), sides(v, c.Test, 1)
	about := c.Test.Sides
	if len(about) == 0 {
		about = c.Test.Roles
	}
	for _, role := range about {
		for _, s := range busiest(all, role) {
			k := claimCase{
				stacks: []string{s.cell.Stack.Name}, workload: s.tenant.Workload, instead: s.instead,
				evidence: []*measured.Cell{s.cell},
			}
			if len(about) > 1 {
				k.about = s.tenant.Workload
			}
			other := otherOf(all, s)
			if k.instead == nil {
				k.instead = other.instead
			}
			at := slices.IndexFunc(alone, func(o side) bool {
				return sameHost(s, o) && o.tenant.Workload == s.tenant.Workload && o.tenant.Count == s.tenant.Count &&
					o.tenant.Limits == s.tenant.Limits
			})
			if at < 0 {
				k.judgement = notTestable("not alone", Unmatched{s.tenant.Workload, s.tenant.Count, ""})
				out = append(out, k)
				continue
			}
			k.evidence = append(k.evidence, alone[at].cell)
			facts := Compared{
				Metric: string(claims.Throughput), Workload: s.tenant.Workload, Instances: s.tenant.Count,
				Beside: other.tenant.Workload,
			}
			k.compare(v, c, facts, "beside", s.mix.Name, alone[at].mix.Name, s.rates(), alone[at].cell.Rates)
			out = append(out, k)
		}
	}
	return out
}

// rates are those of the side's instances, without the others of its mix.
func (s side) rates() samples.Sample {
	return samples.Take(s.cell.Trials, func(t *result.Trial) (float64, bool) {
		return samples.Rate.Of(t, s.tenant.Name)
	})
}

// busiest are the sides of a role that are beside one of another role: on each stack and
// host, for each workload and the one beside it, that with the most instances.
func busiest(all []side, role string) (out []side) {
	for _, s := range all {
		other := otherOf(all, s)
		if s.role != role || other == nil {
			continue
		}
		at := slices.IndexFunc(out, func(o side) bool {
			return sameHost(s, o) && o.tenant.Workload == s.tenant.Workload &&
				otherOf(all, o).tenant.Workload == other.tenant.Workload
		})
		switch {
		case at < 0:
			out = append(out, s)
		case s.tenant.Count > out[at].tenant.Count:
			out[at] = s
		}
	}
	return out
}

// otherOf is the side of another role in the same trials; nil where there is none.
func otherOf(all []side, s side) *side {
	at := slices.IndexFunc(all, func(o side) bool { return o.cell == s.cell && o.role != s.role })
	if at < 0 {
		return nil
	}
	return &all[at]
}
