package result

import (
	"fmt"
	"slices"
)

// Mix is a set of tenants that run at the same time. A workload alone is the mix of one tenant and one instance of
// the same name.
type Mix struct {
	Name    string            `json:"name"`
	Tenants []Tenant          `json:"tenants"`
	Levels  map[string]string `json:"levels,omitempty"` // level name of each factor that the mix depends on

	// Host are the limits of the scaled-down host that the mix runs in; nil for none.
	Host *Limits `json:"host,omitempty"`

	// Varies describes how a mix that the run added by itself differs from one of the experiment; nil for the latter.
	Varies *Variation `json:"varies,omitempty"`
}

// Variation is a change of one limit of the scaled-down host, compared with another mix.
type Variation struct {
	Of     string  `json:"of"`     // the other mix
	Limit  string  `json:"limit"`  // as files name it: "cpus", "memory", "read-iops", ...
	Factor float64 `json:"factor"` // multiplies the other's limit: 1.2 for a fifth more
}

// Tenant is one entry of a mix: a number of instances of one workload.
type Tenant struct {
	Name     string   `json:"name"`
	Workload string   `json:"workload"`
	Count    int      `json:"count"`        // instances
	On       []string `json:"on,omitempty"` // stacks that they are dealt to in turn; nil for the trial's
	Limits   Limits   `json:"limits,omitzero"`
	// the policy that set the limits, as the file names it: "cpu+mem"; "" for none
	Policy string `json:"policy,omitempty"`
	// each instance's share of the host by that policy, 0 to 1; 0 for an equal share
	Share float64 `json:"share,omitempty"`

	// Load is the closed-loop load on each instance; nil where the workload defines its own.
	Load *Load `json:"load,omitempty"`
}

// Load is a closed loop: clients that wait for an answer before the next operation.
type Load struct {
	Clients      int     `json:"clients"`                 // operations under way, at most
	ThinkSeconds float64 `json:"think_seconds,omitempty"` // between an answer and the client's next operation
}

// LoadOf returns the tenant's load, or the zero Load where the workload defines its own.
func (t Tenant) LoadOf() Load {
	if t.Load == nil {
		return Load{}
	}
	return *t.Load
}

// Alone returns the mix of one instance of the workload.
func (w Workload) Alone() Mix {
	return Mix{Name: w.Name, Tenants: []Tenant{{Name: w.Name, Workload: w.Name, Count: 1}}, Levels: w.Levels}
}

// Places returns the stacks that the mix uses: stack, or the tenants' own stacks where stack is "".
func (m Mix) Places(stack string) (names []string) {
	if stack != "" {
		return []string{stack}
	}
	for _, t := range m.Tenants {
		for _, name := range t.On {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Alone reports whether the mix is one instance of a workload.
func (m Mix) Alone() bool { return len(m.Tenants) == 1 && m.Tenants[0].Count == 1 }

// Plain reports whether a mix is a workload alone, under its own name, on the host itself.
func (m Mix) Plain() bool {
	if !m.Alone() || m.Host != nil {
		return false
	}
	t := m.Tenants[0]
	return m.Name == t.Workload && len(t.On) == 0 && t.Limits.None()
}

// Family returns a name that mixes share if they differ only in the number of instances. It is "" for a mix of
// several tenants and for one that the run added by itself. Limits set by a policy are ignored, since a share shrinks
// as instances are added.
func (m Mix) Family() string {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return ""
	}
	tenant := m.Tenants[0]
	limits, host := tenant.Limits, Limits{}
	if tenant.Policy != "" {
		limits = Limits{}
	}
	if m.Host != nil {
		host = *m.Host
	}
	return fmt.Sprint(tenant.Workload, "\x00", tenant.On, tenant.Policy, limits, host, tenant.LoadOf())
}
