// Package policies answers what limits of their own cost instances, against none.
package policies

import (
	"cmp"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
)

// Facts are the findings on mixes that differ in the policy of their instances alone.
type Facts struct {
	Policies Policies `json:"policies"`

	rate string // what throughput is counted in: "IOPS"
	runs string // what each instance does
}

// Policies are the costs of policies of limits for a number of instances, against none.
type Policies struct {
	Stack     string   `json:"stack,omitempty"` // "" for mixes that name their own
	Workload  string   `json:"workload"`
	Host      string   `json:"host,omitempty"` // the scaled-down host, for people; "" for the host itself
	Instances int      `json:"instances"`
	None      Policy   `json:"none"`
	Policies  []Policy `json:"policies"` // in the order of the mixes
}

// withNone are the policies, none first.
func (p *Policies) withNone() []Policy { return append([]Policy{p.None}, p.Policies...) }

// named returns what instances did under a policy of that name; nil for none.
func (p *Policies) named(name string) *Policy {
	for _, one := range p.withNone() {
		if one.Name == name {
			return &one
		}
	}
	return nil
}

// Policy has the measurements of instances under a policy. Values are medians of setups.
type Policy struct {
	Name         string  `json:"name"` // "cpu+mem"; "none" for no limits of their own
	fact.Summary         // against none
	Fair         float64 `json:"fair"`         // Jain's index over the rates of instances: 1 where all get the same, 1/n where one gets all
	Weakest      float64 `json:"weakest"`      // of the slowest instance, as a share of an equal one, 0 to 1
	DeviceReads  float64 `json:"device_reads"` // per operation
	CacheBytes   float64 `json:"cache_bytes"`  // page cache of an instance

	Limits []fact.Resource `json:"limits,omitempty"` // that each instance has of its own
	Held   []fact.Resource `json:"held,omitempty"`   // what keeps instances from doing more: limits of their own and of the scaled-down host
	Cost   Cost            `json:"cost"`             // in throughput
}

// tail returns the effect of the policy on p99; nil where it is small.
func (p Policy) tail() *fact.Effect {
	if p.P99 == nil || !p.P99.Differs || p.P99.Size() < threshold.TailCost {
		return nil
	}
	return p.P99
}

// idle are the limits of their own that keep no instance from doing more.
func (p Policy) idle() (unreached []fact.Resource) {
	for _, limit := range p.Limits {
		if !slices.Contains(p.Held, limit) {
			unreached = append(unreached, limit)
		}
	}
	return unreached
}

// Cost classifies the effect of a policy on throughput.
type Cost string

// The costs.
const (
	CostUnknown Cost = "too few" // setups
	CostOpen    Cost = "open"    // it may be large, and may be none
	CostNone    Cost = "level"   // a large one is ruled out
	CostSome    Cost = "costs"
	CostGain    Cost = "gains"
)

// withCost returns the policies of some costs, in their order.
func (f *Facts) withCost(costs ...Cost) (policies []Policy) {
	for _, one := range f.Policies.Policies {
		if slices.Contains(costs, one.Cost) {
			policies = append(policies, one)
		}
	}
	return policies
}

// MayCost returns what some policies that are level cost of throughput at most, as a share.
func MayCost(some []Policy) (most float64) {
	for _, one := range some {
		most = max(most, one.Throughput.MayLose())
	}
	return most
}

// costs are those that cost throughput, the most first.
func (f *Facts) costs() []Policy {
	all := f.withCost(CostSome)
	slices.SortStableFunc(all, func(a, b Policy) int { return cmp.Compare(a.Throughput.Ratio, b.Throughput.Ratio) })
	return all
}

// level are those that do not, and open those of which that cannot be told.
func (f *Facts) level() []Policy { return f.withCost(CostNone, CostGain) }
func (f *Facts) open() []Policy  { return f.withCost(CostOpen, CostUnknown) }

// slow is the first of those that are level in throughput, and not in p99; nil for none.
func (f *Facts) slow() *Policy {
	for _, one := range f.level() {
		if tail := one.tail(); tail != nil && tail.Ratio > 1 {
			return &one
		}
	}
	return nil
}

// tooFew reports whether some policy has too few setups to tell anything, and how many that has
// which has fewest.
func (f *Facts) tooFew() (setups int, early bool) {
	setups = f.Policies.None.BringUps
	for _, one := range f.Policies.Policies {
		setups = min(setups, one.BringUps)
	}
	return setups, len(f.withCost(CostUnknown)) > 0
}

// unfair are the policies under which the slowest instance gets far less than an equal share.
func (f *Facts) unfair() (policies []Policy) {
	for _, one := range f.Policies.withNone() {
		if one.Weakest > 0 && one.Weakest < threshold.UnfairShare {
			policies = append(policies, one)
		}
	}
	return policies
}
