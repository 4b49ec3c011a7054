package fact

import "slices"

// Tenants is what tenants of mixes do to each other, on one stack and one host.
type Tenants struct {
	Stack string      `json:"stack,omitempty"` // "" for mixes that name their own
	Host  string      `json:"host,omitempty"`  // the miniature, for people; "" for the host itself
	Mixes []TenantMix `json:"mixes"`           // of several tenants, in the order of the experiment
}

// TenantMix is a mix of several tenants.
type TenantMix struct {
	Mix      string        `json:"mix"`
	BringUps int           `json:"bring_ups"`
	Tenants  []TenantShare `json:"tenants"`

	// Fair is Jain's index over the slowdowns of all tenants: 1 where all are slowed equally, 1/n
	// where one of n bears all. nil where some tenant was not measured alone in the same blocks.
	Fair    *Estimate `json:"fair,omitempty"`
	Suffers string    `json:"suffers,omitempty"` // the tenant that loses most; "" where none does, as far as is known
}

// TenantShare is what a tenant keeps of what it does alone.
type TenantShare struct {
	Mix      string   `json:"mix"`
	Tenant   string   `json:"tenant"`
	Workload string   `json:"workload"`
	Count    int      `json:"count"`  // instances
	Beside   []Beside `json:"beside"` // the others, in their order

	// Alone is the mix that it is held against: the same workload alone under the same limits; ""
	// where none was measured, and all else is empty then.
	Alone      string  `json:"alone,omitempty"`
	AloneCount int     `json:"alone_count,omitempty"` // its instances: as many, or one
	Rate       Effect  `json:"rate"`                  // of an instance on average, against one alone: what it keeps
	P99        *Effect `json:"p99,omitempty"`         // of all its instances; nil where latencies are not known
	Each       float64 `json:"each"`                  // operations a second of an instance on average: the median of bring-ups
	EachAlone  float64 `json:"each_alone"`
	P99NS      float64 `json:"p99_ns,omitempty"`
	P99Alone   float64 `json:"p99_alone_ns,omitempty"`

	Loses bool    `json:"loses"` // throughput, significantly, and enough to matter
	Open  bool    `json:"open"`  // it may lose much of it, and may lose nothing: trials differ by too much
	Waits bool    `json:"waits"` // longer, likewise
	Blame []Blame `json:"blame,omitempty"`

	Use      TenantUse  `json:"use"`
	UseAlone *TenantUse `json:"use_alone,omitempty"`
}

// Known reports whether it is known what the tenant does alone.
func (s TenantShare) Known() bool { return s.Rate.Ratio > 0 }

// Beside is one of the tenants that another one is beside.
type Beside struct {
	Tenant   string `json:"tenant"`
	Workload string `json:"workload"`
	Count    int    `json:"count"`
}

// TenantUse is what an instance of a tenant used, on average. What nothing tells is 0.
type TenantUse struct {
	CacheBytes     float64 `json:"cache_bytes"` // page cache
	CPUs           float64 `json:"cpus"`
	DeviceReads    float64 `json:"device_reads"`    // for each of its operations: what the others do alone is taken from all
	DeviceWrites   float64 `json:"device_writes"`   // likewise
	IOPressure     float64 `json:"io_pressure"`     // share of the time in which it waited for I/O
	CPUPressure    float64 `json:"cpu_pressure"`    // for a processor
	MemoryPressure float64 `json:"memory_pressure"` // for memory
}

// Blame is a resource for want of which a tenant is slower than alone.
type Blame struct {
	Resource Resource  `json:"resource"`
	How      BlameKind `json:"how"`
	Use      *Use      `json:"use,omitempty"` // of one that is at its limit
	By       string    `json:"by,omitempty"`  // the tenant that has most of it; "" where that is not known
}

// BlameKind is how it is known what slows a tenant.
type BlameKind string

// The kinds of blame.
const (
	BlameLimit BlameKind = "at its limit" // all together use it up, and the tenant needs it
	BlameTaken BlameKind = "taken"        // it has less of it than alone, and the device more to do for it
	BlameWaits BlameKind = "waited for"   // it waits for it more than alone
)

// Tenancies returns what findings tell of tenants, in their order.
func Tenancies(findings []Finding) (all []*Tenants) {
	for _, f := range findings {
		if f.Tenants != nil {
			all = append(all, f.Tenants)
		}
	}
	return all
}

// Known are those of which it is known what some tenant keeps.
func (t *Tenants) Known() []TenantMix {
	return slices.DeleteFunc(slices.Clone(t.Mixes), func(m TenantMix) bool {
		return !slices.ContainsFunc(m.Tenants, TenantShare.Known)
	})
}

// Has reports whether a mix is one of those that are known, or what their tenants are held against.
func (t *Tenants) Has(mix string) bool {
	return slices.ContainsFunc(t.Known(), func(m TenantMix) bool {
		return m.Mix == mix || slices.ContainsFunc(m.Tenants, func(s TenantShare) bool { return s.Alone == mix })
	})
}
