package measured

import (
	"fmt"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// noPolicy is the name of the policy that gives no limits.
const noPolicy = "none"

// Policied is mixes of one stack that differ in the policy of their instances alone.
type Policied struct {
	Stack     *Stack
	Host      *result.Limits
	Instances int
	Workload  string
	Names     []string // of the policies, in the order of the mixes
	Cells     []*Cell  // by policy
}

// none is where instances have no limits of their own; -1 where that was not measured.
func (p *Policied) none() int { return slices.Index(p.Names, noPolicy) }

// policyIn returns the policy of a mix of one tenant, and what it has in common with mixes that
// differ in that alone. ok is false for mixes that are of no such family.
func policyIn(m result.Mix) (policy, family string, ok bool) {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return "", "", false
	}
	of := m.Tenants[0]
	policy = of.Policy
	switch {
	case policy == "" && !of.Limits.None():
		return "", "", false // limits without a name
	case policy == "":
		policy = noPolicy
	}
	var host result.Limits
	if m.Host != nil {
		host = *m.Host
	}
	return policy, fmt.Sprint(of.Workload, "\x00", of.Count, of.On, host), true
}

// Policies returns what policies cost, in the order of the mixes: of instances that were measured
// without limits of their own, too.
func (v *View) Policies() []Policied {
	var all families[Policied]
	for _, m := range v.Run.Mixes {
		policy, family, ok := policyIn(m)
		if !ok {
			continue
		}
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil {
				continue
			}
			of := m.Tenants[0]
			first := Policied{Stack: s, Host: m.Host, Instances: of.Count, Workload: of.Workload}
			one := all.of(s.Name+"\x00"+family, first)
			if !slices.Contains(one.Names, policy) {
				one.Names, one.Cells = append(one.Names, policy), append(one.Cells, c)
			}
		}
	}
	return slices.DeleteFunc(all.all, func(p Policied) bool { return len(p.Names) < 2 || p.none() < 0 })
}

// UnderPolicy reports whether a mix is one of several policies: it is about these, and not about
// which stack.
func (v *View) UnderPolicy(mix string) bool {
	return slices.ContainsFunc(v.Policies(), func(p Policied) bool {
		return slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Workload.Name == mix })
	})
}

// Together reports whether a mix is about what its instances do to each other, or limits to them,
// and not about which stack.
func (v *View) Together(mix string) bool {
	return v.Scaled(mix) || v.UnderPolicy(mix) || v.shares(mix, true) || v.OfferedAt(mix)
}

// Policy returns what each policy costs. The p values of all its comparisons are adjusted
// together (Benjamini and Hochberg).
func (v *View) Policy(of Policied) fact.Policies {
	f := fact.Policies{Stack: of.Stack.Name, Workload: of.Workload, Instances: of.Instances}
	if of.Host != nil {
		f.Host = of.Host.String()
	}
	none := of.Cells[of.none()]
	alone := PointOf(none, of.Instances)
	f.None = v.policy(of, noPolicy, none, alone)
	var effects []*fact.Effect
	for i, c := range of.Cells {
		if c == none {
			continue
		}
		p := v.policy(of, of.Names[i], c, alone)
		rate, _ := v.Effect(IOPS, p.Mix, f.None.Mix, c.Rates, none.Rates)
		p.Throughput = &rate
		effects = append(effects, p.Throughput)
		p99, ok := v.Effect("p99", p.Mix, f.None.Mix, c.Sample(samples.P99), none.Sample(samples.P99))
		if ok {
			p.P99 = &p99
			effects = append(effects, p.P99)
		}
		f.Policies = append(f.Policies, p)
	}
	adjustTogether(effects)
	f.None.Cost = fact.CostNone
	for i := range f.Policies {
		f.Policies[i].Cost = costOf(*f.Policies[i].Throughput)
	}
	return f
}

// policy is what instances did under one policy; none is what they did without.
func (v *View) policy(of Policied, name string, c *Cell, none fact.ScalingPoint) fact.Policy {
	point := PointOf(c, of.Instances)
	p := fact.Policy{
		Name: name, Mix: c.Workload.Name, BringUps: c.Point.N, Rate: point.Rate, P99NS: point.P99NS, Weakest: point.Weakest,
		DeviceReads: point.DeviceReads, CacheBytes: point.CacheBytes,
	}
	p.Fair, _ = medianOf(c, fairness)
	if moved := c.DeviceBandwidth(); len(moved) > 0 {
		p.DeviceBytes = stats.Median(moved.Means())
	}
	_, own := limitsOf(of.Host, c)
	p.Limits = limitsIn(own)
	if outgrown(point, none) || point.MemoryPressure >= starved || point.Killed > 0 {
		p.Held = append(p.Held, fact.Memory)
	}
	for _, u := range v.UsesOf(of.Host, c, point) {
		if u.Binds {
			p.Held = append(p.Held, u.Resource)
		}
	}
	return p
}

// limitsIn are the resources that limits are on.
func limitsIn(l result.Limits) (all []fact.Resource) {
	if l.CPUs > 0 {
		all = append(all, fact.OwnCPUs)
	}
	if l.MemoryBytes > 0 {
		all = append(all, fact.Memory)
	}
	for _, d := range deviceUses {
		if d.limit(l) > 0 {
			all = append(all, d.resource)
		}
	}
	return all
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
	return index, Finite(index)
}

// costOf is what an effect on throughput says: one of less than worthTelling is none that counts.
func costOf(e fact.Effect) fact.Cost {
	switch {
	case e.TooFew || !(e.Ratio > 0):
		return fact.CostUnknown
	case e.Differs && e.Ratio <= 1-worthTelling:
		return fact.CostSome
	case e.Differs && e.Ratio >= 1+worthTelling:
		return fact.CostGain
	case !e.HasInterval() || e.Low < 1-mayMatter || e.High > 1+mayMatter:
		return fact.CostOpen
	}
	return fact.CostNone
}

// adjustTogether corrects the p values of comparisons that are told of together for how many
// there are.
func adjustTogether(all []*fact.Effect) {
	ps := make([]float64, len(all))
	for i, e := range all {
		ps[i] = e.P
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		e := all[i]
		e.Adjusted, e.Differs = p, !e.TooFew && p < stats.Alpha && e.Ratio > 0 && e.Size() >= max(Visible, e.Floor)
	}
}
