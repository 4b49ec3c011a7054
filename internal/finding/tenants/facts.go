// Package tenants answers what tenants of mixes do to each other: what each keeps of what it does alone, and
// for want of what it is slower.
package tenants

import (
	"cmp"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/runview"
)

// Facts has the findings on mixes of several tenants.
type Facts struct {
	Tenants Tenants `json:"tenants"`

	lose    []Share  // those that lose throughput, the most first
	wait    []Share  // those that wait longer, the most first, and lose none, as far as is known
	noisy   []Share  // those of which it cannot be told whether they lose any
	open    bool     // some have too few setups
	paired  int      // the fewest of those that they share with their own trials alone; 0 where none is shared
	fewest  int      // setups of the mix that has fewest
	unknown []string // workloads that were not measured alone
}

// Known reports whether anything is known of what tenants keep.
func (f *Facts) Known() bool { return len(f.Tenants.known()) > 0 }

func factsOf(t Tenants) *Facts {
	facts := &Facts{Tenants: t}
	for i, m := range t.Mixes {
		if i == 0 || m.BringUps < facts.fewest {
			facts.fewest = m.BringUps
		}
		for _, s := range m.Tenants {
			facts.sort(s)
		}
	}
	slices.SortStableFunc(facts.lose, func(a, b Share) int { return cmp.Compare(a.Rate.Ratio, b.Rate.Ratio) })
	slices.SortStableFunc(facts.wait, func(a, b Share) int { return cmp.Compare(b.P99.Ratio, a.P99.Ratio) })
	return facts
}

func (f *Facts) sort(s Share) {
	switch {
	case !s.Known():
		f.unknown = runview.AddNew(f.unknown, s.Workload)
		return
	case s.Rate.TooFew:
		if n := s.Rate.Pairs; n > 0 && (f.paired == 0 || n < f.paired) {
			f.paired = n
		}
		f.open = true
		return
	case s.Open:
		f.noisy = append(f.noisy, s)
	case s.Loses:
		f.lose = append(f.lose, s)
		return
	}
	if s.Waits {
		f.wait = append(f.wait, s)
	}
}

// Tenants has the effect of tenants on each other, on one stack and one host.
type Tenants struct {
	Stack    string `json:"stack,omitempty"`    // "" for mixes that name their own
	Host     string `json:"host,omitempty"`     // the scaled-down host, for people; "" for the host itself
	Imported bool   `json:"imported,omitempty"` // it was imported, and Host is that host
	Mixes    []Mix  `json:"mixes"`              // of several tenants, in the order of the experiment
}

// Mix is a mix of several tenants.
type Mix struct {
	Mix      string  `json:"mix"`
	BringUps int     `json:"bring_ups"`
	Tenants  []Share `json:"tenants"`

	// Fair is Jain's index over the slowdowns of all tenants: 1 where all are slowed equally, 1/n
	// where one of n bears all. nil where some tenant was not measured alone in the same blocks.
	Fair    *fact.Estimate `json:"fair,omitempty"`
	Suffers string         `json:"suffers,omitempty"` // the tenant that loses most; "" where none does, as far as is known
}

// Share is the part of its rate alone that a tenant keeps.
type Share struct {
	Mix      string   `json:"mix"`
	Tenant   string   `json:"tenant"`
	Workload string   `json:"workload"`
	Count    int      `json:"count"`  // instances
	Beside   []Beside `json:"beside"` // the others, in their order

	// Alone is the mix that it is held against: the same workload alone under the same limits; ""
	// where none was measured, and all else is empty then.
	Alone      string       `json:"alone,omitempty"`
	AloneCount int          `json:"alone_count,omitempty"` // its instances: as many, or one
	Rate       fact.Effect  `json:"rate"`                  // of an instance on average, against one alone: what it keeps
	P99        *fact.Effect `json:"p99,omitempty"`         // of all its instances; nil where latencies are not known
	Each       float64      `json:"each"`                  // operations a second of an instance on average: the median of setups
	EachAlone  float64      `json:"each_alone"`
	P99NS      float64      `json:"p99_ns,omitempty"`
	P99AloneNS float64      `json:"p99_alone_ns,omitempty"`

	Loses bool    `json:"loses"` // throughput, significantly, and enough to matter
	Open  bool    `json:"open"`  // it may lose much of it, and may lose nothing: trials differ by too much
	Waits bool    `json:"waits"` // longer, likewise
	Blame []Blame `json:"blame,omitempty"`

	Use      Usage  `json:"use"`
	UseAlone *Usage `json:"use_alone,omitempty"`
}

// Known reports whether it is known what the tenant does alone.
func (s Share) Known() bool { return s.Rate.Ratio > 0 }

// Beside is one of the tenants that another one is beside.
type Beside struct {
	Tenant   string `json:"tenant"`
	Workload string `json:"workload"`
	Count    int    `json:"count"`
}

// Usage has the resources that an instance of a tenant used, on average. A 0 is not known.
type Usage struct {
	CacheBytes     float64 `json:"cache_bytes"` // page cache
	CPUs           float64 `json:"cpus"`
	DeviceReads    float64 `json:"device_reads"`    // for each of its operations: what the others do alone is taken from all
	DeviceWrites   float64 `json:"device_writes"`   // likewise
	IOPressure     float64 `json:"io_pressure"`     // share of the time in which it waited for I/O
	CPUPressure    float64 `json:"cpu_pressure"`    // for a processor
	MemoryPressure float64 `json:"memory_pressure"` // for memory
}

// Blame is a resource whose shortage makes a tenant slower than alone.
type Blame struct {
	Resource fact.Resource `json:"resource"`
	How      BlameKind     `json:"how"`
	Use      *fact.Use     `json:"use,omitempty"` // of one that is at its limit
	By       string        `json:"by,omitempty"`  // the tenant that has most of it; "" where that is not known
}

// BlameKind is how it is known what slows a tenant.
type BlameKind string

// The kinds of blame.
const (
	BlameLimit BlameKind = "at its limit" // all together use it up, and the tenant needs it
	BlameTaken BlameKind = "taken"        // it has less of it than alone, and the device more to do for it
	BlameWaits BlameKind = "waited for"   // it waits for it more than alone
)

// known are those of which it is known what some tenant keeps.
func (t *Tenants) known() []Mix {
	return slices.DeleteFunc(slices.Clone(t.Mixes), func(m Mix) bool {
		return !slices.ContainsFunc(m.Tenants, Share.Known)
	})
}
