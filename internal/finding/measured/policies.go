package measured

import (
	"fmt"
	"slices"

	"plimsoll/internal/result"
)

// NoPolicy is the name of the policy that gives no limits.
const NoPolicy = "none"

// Policied is mixes of one stack that differ in the policy of their instances alone.
type Policied struct {
	Stack     *Stack
	Host      *result.Limits
	Instances int
	Workload  string
	Names     []string // of the policies, in the order of the mixes
	Cells     []*Cell  // by policy
}

// None is what instances did without limits of their own; nil where that was not measured.
func (p *Policied) None() *Cell {
	at := slices.Index(p.Names, NoPolicy)
	if at < 0 {
		return nil
	}
	return p.Cells[at]
}

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
		policy = NoPolicy
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
	return slices.DeleteFunc(all.all, func(p Policied) bool { return len(p.Names) < 2 || p.None() == nil })
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
	return v.Scaled(mix) || v.UnderPolicy(mix) || v.shares(mix, true) || v.OfferedAt(mix) || v.AtLevel(mix)
}
