// Package policies answers what limits of their own cost instances, against none.
package policies

import (
	"cmp"
	"slices"

	"plimsoll/internal/finding/fact"
)

// Facts is what is found of mixes that differ in the policy of their instances alone.
type Facts struct {
	Policies Policies `json:"policies"`

	rate string // what throughput is counted in: "IOPS"
	runs string // what each instance does
}

// Policies is what policies of limits cost so many instances, against none.
type Policies struct {
	Stack     string   `json:"stack,omitempty"` // "" for mixes that name their own
	Workload  string   `json:"workload"`
	Host      string   `json:"host,omitempty"` // the miniature, for people; "" for the host itself
	Instances int      `json:"instances"`
	None      Policy   `json:"none"`
	Policies  []Policy `json:"policies"` // in the order of the mixes
}

// all are the policies, none first.
func (p *Policies) all() []Policy { return append([]Policy{p.None}, p.Policies...) }

// named returns what instances did under a policy of that name; nil for none.
func (p *Policies) named(name string) *Policy {
	for _, one := range p.all() {
		if one.Name == name {
			return &one
		}
	}
	return nil
}

// Policy is what instances did under a policy. Values are medians of bring-ups.
type Policy struct {
	Name     string `json:"name"` // "cpu+mem"; "none" for no limits of their own
	Mix      string `json:"mix"`
	BringUps int    `json:"bring_ups"`

	Rate        float64 `json:"rate"`         // of all together, per second
	P99NS       float64 `json:"p99_ns"`       // 0 where it is not known
	Fair        float64 `json:"fair"`         // Jain's index over the rates of instances: 1 where all get the same, 1/n where one gets all
	Weakest     float64 `json:"weakest"`      // of the slowest instance, as a share of an equal one, 0 to 1
	DeviceReads float64 `json:"device_reads"` // per operation
	DeviceBytes float64 `json:"device_bytes"` // that devices moved, per second
	CacheBytes  float64 `json:"cache_bytes"`  // page cache of an instance

	Throughput *fact.Effect    `json:"throughput,omitempty"` // against none, in pairs of the same block; nil for none itself
	P99        *fact.Effect    `json:"p99,omitempty"`
	Limits     []fact.Resource `json:"limits,omitempty"` // that each instance has of its own
	Held       []fact.Resource `json:"held,omitempty"`   // what keeps instances from doing more: limits of their own and of the miniature
	Cost       Cost            `json:"cost"`             // in throughput
}

// longer is by how much p99 has to change to be told of.
const longer = 1.1

// tail is what the policy does to p99, where that is worth telling; nil elsewhere.
func (p Policy) tail() *fact.Effect {
	if p.P99 == nil || !p.P99.Differs || p.P99.Size() < longer {
		return nil
	}
	return p.P99
}

// idle are the limits of their own that keep no instance from doing more.
func (p Policy) idle() (all []fact.Resource) {
	for _, limit := range p.Limits {
		if !slices.Contains(p.Held, limit) {
			all = append(all, limit)
		}
	}
	return all
}

// Cost is what a policy does to throughput.
type Cost string

// The costs.
const (
	CostUnknown Cost = "too few" // bring-ups
	CostOpen    Cost = "open"    // it may be large, and may be none
	CostNone    Cost = "level"   // a large one is ruled out
	CostSome    Cost = "costs"
	CostGain    Cost = "gains"
)

// of are the policies of some costs, in their order.
func (f *Facts) of(costs ...Cost) (all []Policy) {
	for _, one := range f.Policies.Policies {
		if slices.Contains(costs, one.Cost) {
			all = append(all, one)
		}
	}
	return all
}

// costs are those that cost throughput, the most first.
func (f *Facts) costs() []Policy {
	all := f.of(CostSome)
	slices.SortStableFunc(all, func(a, b Policy) int { return cmp.Compare(a.Throughput.Ratio, b.Throughput.Ratio) })
	return all
}

// level are those that do not, and open those of which that cannot be told.
func (f *Facts) level() []Policy { return f.of(CostNone, CostGain) }
func (f *Facts) open() []Policy  { return f.of(CostOpen, CostUnknown) }

// slow is the first of those that are level in throughput, and not in p99; nil for none.
func (f *Facts) slow() *Policy {
	for _, one := range f.level() {
		if tail := one.tail(); tail != nil && tail.Ratio > 1 {
			return &one
		}
	}
	return nil
}

// tooFew reports whether some policy has too few bring-ups to tell anything, and how many that has
// which has fewest.
func (f *Facts) tooFew() (few int, so bool) {
	few = f.Policies.None.BringUps
	for _, one := range f.Policies.Policies {
		few = min(few, one.BringUps)
	}
	return few, len(f.of(CostUnknown)) > 0
}

// unfair are the policies under which the slowest instance gets far less than an equal share.
func (f *Facts) unfair() (all []Policy) {
	for _, one := range f.Policies.all() {
		if one.Weakest > 0 && one.Weakest < fact.Unfair {
			all = append(all, one)
		}
	}
	return all
}
