package published

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/ycsb"
)

// side is so many instances of a workload on a stack: a tenant of a mix that was measured.
type side struct {
	cell    *runview.Cell
	mix     result.Mix
	tenant  result.Tenant
	role    string
	instead *Instead
}

// sides are the tenants that a claim is about, of mixes with so many tenants.
func sides(v *runview.View, t *claims.Test, tenants int) (sides []side) {
	for _, m := range v.Run.Mixes {
		if len(m.Tenants) != tenants || m.Varies != nil {
			continue
		}
		for _, c := range v.Under(m.Name) {
			for _, of := range m.Tenants {
				role, instead, ok := inRole(v, t, of.Workload)
				if ok && onStacks(v, t, c.Stack.Name, of) {
					sides = append(sides, side{c, m, of, role, instead})
				}
			}
		}
	}
	return sides
}

// alike reports whether two sides are on one stack, in the same scaled-down host.
func (s side) alike(o side) bool {
	return s.cell.Stack == o.cell.Stack && slices.Equal(s.tenant.On, o.tenant.On) && sameHost(s.mix, o.mix)
}

// among is the first of some sides with as many instances on the same stack and host that fits too; nil for none.
func (s side) among(all []side, fits func(side) bool) *side {
	return first(all, func(o side) bool { return s.alike(o) && s.tenant.Count == o.tenant.Count && fits(o) })
}

// companion returns the side of another role in the same trials; nil for none.
func (s side) companion(all []side) *side {
	return first(all, func(o side) bool { return o.cell == s.cell && o.role != s.role })
}

func first(all []side, fits func(side) bool) *side {
	if at := slices.IndexFunc(all, fits); at >= 0 {
		return &all[at]
	}
	return nil
}

// best returns, of each group of candidates that are alike and run one workload, the one that order puts first.
func best(candidates []side, group func(a, b side) bool, order func(a, b side) int) (out []side) {
	for _, s := range candidates {
		i := slices.IndexFunc(out, func(o side) bool {
			return s.alike(o) && s.tenant.Workload == o.tenant.Workload && group(s, o)
		})
		switch {
		case i < 0:
			out = append(out, s)
		case order(s, out[i]) < 0:
			out[i] = s
		}
	}
	return out
}

// nearestTo returns of sides that differ in their number of instances those whose number is
// nearest to the published one; of equals the smaller.
func nearestTo(at int, all []side) []side {
	away := func(s side) float64 { return math.Abs(math.Log(float64(s.tenant.Count) / float64(at))) }
	return best(all, func(side, side) bool { return true }, func(a, b side) int {
		return cmp.Or(cmp.Compare(away(a), away(b)), cmp.Compare(a.tenant.Count, b.tenant.Count))
	})
}

// comparison says how sides are compared: with which partner, which the run may lack, and in which words.
type comparison struct {
	sides         []side
	partner       func(side) *side
	caseName      string // "policies"
	unmatchedCase string // "unmatched policies"
	lacks         string // a policy, or a workload; "" for instances alone
	needs         string // it in words, which complete a sentence
	sideName      func(side) string
	hosts         int                     // whose instances the sides are, each host with as many; 0 for one
	subjectText   func(c Compared) string // "throughput of 4 containers of A", of whose ratio it ends with "of that alone"
	baselineText  func(c Compared) string
}

// cases tests each of the sides.
func (t comparison) cases(v *runview.View, c claims.Claim, sides []side) (out []claimCase) {
	for _, s := range t.sides {
		k := claimCase{
			stacks: []string{s.cell.Stack.Name}, workload: s.tenant.Workload, instead: s.instead, evidence: []*runview.Cell{s.cell},
		}
		sets := Compared{Metric: string(c.Test.Metric), Workload: s.tenant.Workload, Instances: s.tenant.Count}
		if other := s.companion(sides); other != nil {
			sets.Beside = other.tenant.Workload
			k.instead = cmp.Or(k.instead, other.instead)
			if len(c.Test.About()) > 1 {
				k.about = s.tenant.Workload
			}
		}
		if o := t.partner(s); o == nil {
			k.judgement = notTestable(t.unmatchedCase,
				"the run lacks what %s of %s are compared with: as many %s", plural.Count(sets.Instances, "container"),
				sets.Workload, t.needs)
		} else {
			k.evidence = append(k.evidence, o.cell)
			k.instead = cmp.Or(k.instead, o.instead)
			if o.tenant.Count != s.tenant.Count {
				sets.Than = o.tenant.Count
			}
			sample, baseline := s.sample(c.Test.Metric), o.sample(c.Test.Metric)
			if t.hosts > 1 {
				sample = sample.Times(float64(t.hosts))
			}
			if e, ok := k.compare(v, c.Test.Metric, t.sideName(s), t.sideName(*o), sample, baseline); ok {
				sets.Effect = e
				k.compared = &sets
				short := e.Written()
				k.setMeasured(t.caseName, short, "%s of %s of %s is %s of that %s", sets.Metric,
					plural.Count(sets.Instances, "container"), t.subjectText(sets), short, t.baselineText(sets))
				k.judgement = k.hold(c, e)
			}
		}
		out = append(out, k)
	}
	return out
}

// sample is what the side's instances did, without the others of its mix.
func (s side) sample(m claims.Metric) runview.Sample {
	if len(s.mix.Tenants) == 1 {
		return sampleOf(m, s.cell)
	}
	return runview.Rate.Sample(s.cell.Trials, s.tenant.Name)
}

// matched returns the fitting candidates whose number of instances is nearest to the published one. If some have a
// partner, only these count.
func matched(instances int, candidates []side, fits func(side) bool, partner func(side) *side) []side {
	fitting := slices.DeleteFunc(slices.Clone(candidates), func(s side) bool { return !fits(s) })
	alone := func(s side) bool { return partner(s) == nil }
	if paired := slices.DeleteFunc(slices.Clone(fitting), alone); len(paired) > 0 {
		fitting = paired
	}
	return nearestTo(instances, fitting)
}

// ofPolicies tests instances with a policy of limits against as many with another one.
func ofPolicies(v *runview.View, c claims.Claim) []claimCase {
	candidates, other := sides(v, c.Test, 1), c.Test.Against[0]
	partner := func(s side) *side {
		return s.among(candidates, func(o side) bool {
			return o.tenant.Workload == s.tenant.Workload && policyOf(o.tenant) == other
		})
	}
	return comparison{
		sides: matched(c.Test.At, candidates, func(s side) bool {
			return slices.Contains(c.Test.Policy, policyOf(s.tenant))
		}, partner),
		partner: partner, caseName: "policies", unmatchedCase: "unmatched policies", lacks: other,
		needs:        "with policy " + other + ", on the same stack",
		sideName:     func(s side) string { return policyOf(s.tenant) },
		subjectText:  func(c Compared) string { return c.Workload + " with policy " + c.Effect.Subject },
		baselineText: func(c Compared) string { return "with " + c.Effect.Baseline },
	}.cases(v, c, nil)
}

// ofWorkloads tests instances of a workload against as many of another one.
func ofWorkloads(v *runview.View, c claims.Claim) []claimCase {
	candidates := sides(v, c.Test, 1)
	unlimited := func(role string) func(side) bool {
		return func(s side) bool { return s.role == role && policyOf(s.tenant) == runview.NoPolicy }
	}
	partner := func(s side) *side { return s.among(candidates, unlimited(c.Test.Roles[1])) }
	return comparison{
		sides:   matched(c.Test.At, candidates, unlimited(c.Test.Roles[0]), partner),
		partner: partner, caseName: "workloads", unmatchedCase: "unmatched workloads", lacks: c.Test.Roles[1],
		needs:        "of " + c.Test.Roles[1] + ", on the same stack",
		sideName:     func(s side) string { return s.tenant.Workload },
		subjectText:  func(c Compared) string { return c.Effect.Subject },
		baselineText: func(c Compared) string { return "of as many of " + c.Effect.Baseline },
	}.cases(v, c, nil)
}

// ofCompany tests what instances of a workload do together with those of another one, against as many of the same
// workload alone. Of the mixes with both, it takes the one with the most instances.
func ofCompany(v *runview.View, c claims.Claim) (out []claimCase) {
	together, alone := sides(v, c.Test, 2), sides(v, c.Test, 1)
	for _, role := range c.Test.About() {
		accompanied := slices.DeleteFunc(slices.Clone(together), func(s side) bool {
			return s.role != role || s.companion(together) == nil || policyOf(s.tenant) != runview.NoPolicy
		})
		out = append(out, comparison{
			sides: best(accompanied, func(a, b side) bool {
				return a.companion(together).tenant.Workload == b.companion(together).tenant.Workload
			},
				func(a, b side) int { return b.tenant.Count - a.tenant.Count }),
			partner: func(s side) *side {
				return s.among(alone, func(o side) bool {
					return o.tenant.Workload == s.tenant.Workload && o.tenant.Limits == s.tenant.Limits
				})
			},
			caseName: "beside", unmatchedCase: "not alone", needs: "alone, under the same limits",
			sideName:     func(s side) string { return s.mix.Name },
			subjectText:  func(c Compared) string { return c.Workload + " beside " + c.Beside },
			baselineText: func(Compared) string { return "alone" },
		}.cases(v, c, together)...)
	}
	return out
}

// inRole reports whether a workload of the run has one of a claim's roles, and which. instead is what of the workload
// replaces the paper's; nil for nothing.
func inRole(v *runview.View, t *claims.Test, workload string) (role string, instead *Instead, ok bool) {
	asked, database := v.Asked(workload)
	var roles []string // roles of that kind
	for _, role := range t.Roles {
		pattern := runview.PatternOf(role)
		if !database && pattern != "" && slices.ContainsFunc(v.Run.Workloads, func(w result.Workload) bool {
			return w.Name == workload && w.Pattern == pattern
		}) {
			return role, nil, true
		}
		if pattern == "" {
			roles = append(roles, role)
		}
	}
	if !database || len(roles) == 0 {
		return "", nil, false
	}
	var in Instead
	title := runview.DatabaseTitle(asked.Database)
	if w, ok := v.Run.Workload(workload); ok {
		title = cmp.Or(w.Image.StandsIn(), title)
	}
	software := t.Software
	if roleOf(asked) == claims.TPCC && len(t.Roles) > 1 {
		software = "MySQL" // which all papers asked for it
	}
	if !strings.EqualFold(title, software) {
		in.Database, in.Of = title, software
	}
	transactions := roleOf(asked) == claims.TPCC // which are no operations of YCSB
	i := slices.Index(roles, roleOf(asked))
	if i < 0 {
		if !t.Others || transactions {
			return "", nil, false
		}
		i, in.Roles, in.Asked = 0, roles, cmp.Or(roleOf(asked), workload)
	} else if paper := distributionsOf(t, roles[i]); paper != nil && !slices.Contains(paper, string(asked.Distribution)) {
		in.Distribution, in.Distributions = string(asked.Distribution), paper
	}
	if in.Database == "" && in.Asked == "" && in.Distribution == "" {
		return roles[i], nil, true
	}
	return roles[i], &in, true
}

// distributionsOf returns the distributions of requests over records that a paper had under a role; nil where each
// will do.
func distributionsOf(t *claims.Test, role string) []string {
	if papers := t.Distribution[role]; papers != nil {
		return papers
	}
	own, isPreset := ycsb.DistributionOf(role)
	if !isPreset {
		return nil
	}
	return []string{string(own)}
}

// roleOf is the role of what a database is asked for; "" for none.
func roleOf(l ycsb.Load) string {
	switch {
	case l.Mix[ycsb.Update] == 1:
		return claims.Updates
	case l.Mix[ycsb.Insert] == 1:
		return claims.Inserts
	case l.Mix[ycsb.NewOrder] > 0:
		return claims.TPCC
	}
	return l.Called()
}

// onStacks reports whether all stacks that a tenant runs on are those of a claim.
func onStacks(v *runview.View, t *claims.Test, stack string, tenant result.Tenant) bool {
	names := tenant.On
	if len(names) == 0 {
		names = []string{stack}
	}
	on := subjects(v, t)
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(on, func(s subject) bool { return s.Name == name })
	})
}

// policyOf is the policy that gave a tenant its limits; "" where it has others.
func policyOf(t result.Tenant) string {
	if t.Policy == "" && t.Limits == (result.Limits{}) {
		return runview.NoPolicy
	}
	return t.Policy
}
