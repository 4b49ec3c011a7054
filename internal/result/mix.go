package result

import "fmt"

// Mix is what runs at the same time: its tenants. A workload alone is the mix of
// one tenant and one instance of the same name.
type Mix struct {
	Name    string            `json:"name"`
	Tenants []Tenant          `json:"tenants"`
	Levels  map[string]string `json:"levels,omitempty"` // of each factor that the mix depends on, its level's name

	// Host are the limits of the miniature that the mix runs in; nil for none.
	Host *Limits `json:"host,omitempty"`

	// Varies says of a mix that the run added by itself what it changes; nil for those of the
	// experiment.
	Varies *Variation `json:"varies,omitempty"`
}

// Variation is how a mix differs from another: in one limit of the miniature alone.
type Variation struct {
	Of     string  `json:"of"`     // the other mix
	Limit  string  `json:"limit"`  // as files name it: "cpus", "memory", "read-iops", ...
	Factor float64 `json:"factor"` // of the other's limit: 1.2 for a fifth more
}

// Tenant is one entry of a mix: so many instances of a workload.
type Tenant struct {
	Name     string   `json:"name"`
	Workload string   `json:"workload"`
	Count    int      `json:"count"`        // instances
	On       []string `json:"on,omitempty"` // stacks that they are dealt to in turn; nil for the trial's
	Limits   Limits   `json:"limits,omitzero"`
	Policy   string   `json:"policy,omitempty"` // that gave it limits, as the file names it: "cpu+mem"; "" for none named
}

// Alone reports whether the mix is one instance of a workload.
func (m Mix) Alone() bool { return len(m.Tenants) == 1 && m.Tenants[0].Count == 1 }

// Family returns what mixes have in common that differ in the number of their instances alone; "" for
// one of several tenants, and for one that a run added by itself, which are of no family. Limits that a
// policy gave are left out: an instance's share gets smaller the more there are.
func (m Mix) Family() string {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return ""
	}
	of := m.Tenants[0]
	limits, host := of.Limits, Limits{}
	if of.Policy != "" {
		limits = Limits{}
	}
	if m.Host != nil {
		host = *m.Host
	}
	return fmt.Sprint(of.Workload, "\x00", of.On, of.Policy, limits, host)
}
