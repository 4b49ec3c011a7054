package fact

import (
	"cmp"
	"slices"
)

// Policies is what policies of limits cost so many instances, against none.
type Policies struct {
	Stack     string   `json:"stack,omitempty"` // "" for mixes that name their own
	Workload  string   `json:"workload"`
	Host      string   `json:"host,omitempty"` // the miniature, for people; "" for the host itself
	Instances int      `json:"instances"`
	None      Policy   `json:"none"`
	Policies  []Policy `json:"policies"` // in the order of the mixes
}

// AllPolicies returns what findings tell of policies, in their order.
func AllPolicies(findings []Finding) (all []*Policies) {
	for _, f := range findings {
		if f.Policies != nil {
			all = append(all, f.Policies)
		}
	}
	return all
}

// PoliciesOver is policies over the number of instances, ascending by it.
type PoliciesOver []*Policies

// AllPoliciesOver returns the policies that were measured at several numbers of instances.
func AllPoliciesOver(findings []Finding) (all []PoliciesOver) {
	for _, p := range AllPolicies(findings) {
		at := slices.IndexFunc(all, func(o PoliciesOver) bool {
			return o[0].Stack == p.Stack && o[0].Workload == p.Workload && o[0].Host == p.Host
		})
		if at < 0 {
			all = append(all, PoliciesOver{p})
			continue
		}
		all[at] = append(all[at], p)
	}
	all = slices.DeleteFunc(all, func(o PoliciesOver) bool { return len(o) < 2 })
	for _, o := range all {
		slices.SortStableFunc(o, func(a, b *Policies) int { return cmp.Compare(a.Instances, b.Instances) })
	}
	return all
}

// Names are the policies that were measured at any number, none first.
func (o PoliciesOver) Names() []string {
	names := []string{o[0].None.Name}
	for _, p := range o {
		for _, one := range p.Policies {
			if !slices.Contains(names, one.Name) {
				names = append(names, one.Name)
			}
		}
	}
	return names
}

// Named returns what instances did under a policy of that name; nil for none.
func (p *Policies) Named(name string) *Policy {
	if p.None.Name == name {
		return &p.None
	}
	at := slices.IndexFunc(p.Policies, func(one Policy) bool { return one.Name == name })
	if at < 0 {
		return nil
	}
	return &p.Policies[at]
}

// Of returns what instances did in a mix; nil for a mix that is of no policy here.
func (p *Policies) Of(mix string) *Policy {
	if p.None.Mix == mix {
		return &p.None
	}
	at := slices.IndexFunc(p.Policies, func(one Policy) bool { return one.Mix == mix })
	if at < 0 {
		return nil
	}
	return &p.Policies[at]
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

	Throughput *Effect    `json:"throughput,omitempty"` // against none, in pairs of the same block; nil for none itself
	P99        *Effect    `json:"p99,omitempty"`
	Limits     []Resource `json:"limits,omitempty"` // that each instance has of its own
	Held       []Resource `json:"held,omitempty"`   // what keeps instances from doing more: limits of their own and of the miniature
	Cost       Cost       `json:"cost"`             // in throughput
}

// longer is by how much p99 has to change to be told of.
const longer = 1.1

// Tail is what the policy does to p99, where that is worth telling; nil elsewhere.
func (p Policy) Tail() *Effect {
	if p.P99 == nil || !p.P99.Differs || p.P99.Size() < longer {
		return nil
	}
	return p.P99
}

// Idle are the limits of their own that keep no instance from doing more.
func (p Policy) Idle() (all []Resource) {
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
