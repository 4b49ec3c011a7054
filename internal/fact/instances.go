package fact

// Objective is what a host is to carry instances for: the most throughput of all
// together, of those numbers of them at which the limits hold that are above 0.
type Objective struct {
	P99NS      float64 `json:"p99_ns,omitempty"`     // latency that 99% of operations take at most
	EachRate   float64 `json:"each_rate,omitempty"`  // operations a second that each instance does at least, on average
	Standalone float64 `json:"standalone,omitempty"` // the share of what one instance alone does that EachRate is, 0 to 1
}

// None reports whether the objective is the most throughput, without any limit.
func (o Objective) None() bool { return o == Objective{} }

// Unknown reports whether no number of instances can be held against the objective: what one
// alone does is not known.
func (o Objective) Unknown() bool { return o.Standalone > 0 && !(o.EachRate > 0) }

// TooSlow reports whether operations of so many instances are known to take longer than the objective allows.
func (o Objective) TooSlow(p ScalingPoint) bool { return o.P99NS > 0 && p.P99NS > o.P99NS }

// TooLittle reports whether each of so many instances does less than the objective asks for.
func (o Objective) TooLittle(p ScalingPoint) bool {
	return o.EachRate > 0 && p.Rate < o.EachRate*float64(p.Instances)
}

// Summary has the measurements of all instances of a mix together, and how they compare with those of another mix.
// Values are medians of setups.
type Summary struct {
	Mix         string  `json:"mix"`
	BringUps    int     `json:"bring_ups"`
	Rate        float64 `json:"rate"`         // per second
	P99NS       float64 `json:"p99_ns"`       // of latency; 0 where it is not known
	DeviceBytes float64 `json:"device_bytes"` // that devices moved, per second

	Throughput *Effect `json:"throughput,omitempty"` // in the same rounds; nil for the mix that others are compared with
	P99        *Effect `json:"p99,omitempty"`        // likewise, and where latencies are not known
}

// ScalingPoint has the measurements of one number of instances. A 0 is not known.
type ScalingPoint struct {
	Instances   int     `json:"instances"`
	Mix         string  `json:"mix"`
	BringUps    int     `json:"bring_ups"`
	Rate        float64 `json:"rate"`         // of all together, per second: the median of setups
	RateLow     float64 `json:"rate_low"`     // interval of Rate; both are 0 below four setups
	RateHigh    float64 `json:"rate_high"`    //
	Weakest     float64 `json:"weakest"`      // of the slowest instance, as a share of an equal one, 0 to 1
	DeviceReads float64 `json:"device_reads"` // per operation
	CacheBytes  float64 `json:"cache_bytes"`  // page cache of an instance
	DataBytes   float64 `json:"data_bytes"`   // files of an instance that were written before it was measured
	IOPressure  float64 `json:"io_pressure"`  // share of the time in which an instance waited for I/O
	CPUs        float64 `json:"cpus"`         // processors' worth of time, of all together

	// Requests and bytes a second of the devices that hold their files; 0 where these were not counted.
	DiskReads      float64 `json:"disk_reads,omitempty"`
	DiskWrites     float64 `json:"disk_writes,omitempty"`
	DiskReadBytes  float64 `json:"disk_read_bytes,omitempty"`
	DiskWriteBytes float64 `json:"disk_write_bytes,omitempty"`

	MeanNS         float64 `json:"mean_ns"`         // latency: the median of setups
	P99NS          float64 `json:"p99_ns"`          //
	Throttled      float64 `json:"throttled"`       // share of the time in which its CPU limit held an instance back
	CPUPressure    float64 `json:"cpu_pressure"`    // share of the time in which an instance waited for a processor
	MemoryPressure float64 `json:"memory_pressure"` // for memory
	Killed         int     `json:"killed"`          // processes, for want of memory, in all trials

	Percentiles []Percentile `json:"percentiles,omitempty"` // of latency, ascending; none where they are not known

	Uses  []Use    `json:"uses,omitempty"`  // of what has a limit
	Binds Resource `json:"binds,omitempty"` // what keeps all from doing more; "" where nothing that was measured does
}

// Percentile returns a percentile of latency; nothing where it is not known.
func (p ScalingPoint) Percentile(percent float64) Percentile {
	for _, q := range p.Percentiles {
		if q.Percent == percent {
			return q
		}
	}
	return Percentile{Percent: percent}
}

// Percentile is a latency that so many percent of operations take at most.
type Percentile struct {
	Percent float64 `json:"percent"`
	NS      float64 `json:"ns"`   // the median of setups; 0 where Unknown says why not
	Low     float64 `json:"low"`  // interval of NS; both are 0 below four setups
	High    float64 `json:"high"` //
	Unknown string  `json:"unknown,omitempty"`
}

// Use returns how much of a resource is used; nil where it has no limit.
func (p ScalingPoint) Use(resource Resource) *Use {
	for i := range p.Uses {
		if p.Uses[i].Resource == resource {
			return &p.Uses[i]
		}
	}
	return nil
}
