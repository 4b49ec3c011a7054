package fact

// Scaling is what a mix does together, over the number of its instances.
type Scaling struct {
	Stack    string         `json:"stack,omitempty"`   // "" for a mix that names its own
	Workload string         `json:"workload"`          // with the policy of limits, if there is one: "C under mem"
	Host     string         `json:"host,omitempty"`    // the miniature, for people; "" for the host itself
	Points   []ScalingPoint `json:"points"`            // ascending by instances
	Missing  []int          `json:"missing,omitempty"` // numbers of instances that were tried, of which no trial was completed
	Memory   int64          `json:"memory,omitempty"`  // of the miniature, in bytes; 0 where it has no limit of its own
	Floor    float64        `json:"floor,omitempty"`   // share by which bring-ups of the same mix differ in their rate; 0 where not known
	Best     int            `json:"best"`              // instances that together do most
	Valley   *Valley        `json:"valley,omitempty"`
	Rate     *Shape         `json:"rate,omitempty"` // of throughput; nil where Open says why
	P99      *Shape         `json:"p99,omitempty"`  // of latency; nil where nothing can be told
	Tail     *Tail          `json:"tail,omitempty"` // nil where p99 grows no more than the mean does
	Line     LoadLine       `json:"line"`
	Open     string         `json:"open,omitempty"` // why nothing can be told of where the curve changes; "" where it can
}

// Scalings returns the curves that findings tell of, in their order.
func Scalings(findings []Finding) (all []*Scaling) {
	for _, f := range findings {
		if f.Scaling != nil {
			all = append(all, f.Scaling)
		}
	}
	return all
}

// ScalingPoint is what so many instances did. What nothing tells is 0.
type ScalingPoint struct {
	Instances   int     `json:"instances"`
	Mix         string  `json:"mix"`
	BringUps    int     `json:"bring_ups"`
	Rate        float64 `json:"rate"`         // of all together, per second: the median of bring-ups
	RateLow     float64 `json:"rate_low"`     // interval of Rate; both are 0 below four bring-ups
	RateHigh    float64 `json:"rate_high"`    //
	Weakest     float64 `json:"weakest"`      // of the slowest instance, as a share of an equal one, 0 to 1
	DeviceReads float64 `json:"device_reads"` // per operation
	CacheBytes  float64 `json:"cache_bytes"`  // page cache of an instance
	DataBytes   float64 `json:"data_bytes"`   // files of an instance that were written before it was measured
	IOPressure  float64 `json:"io_pressure"`  // share of the time in which an instance waited for I/O
	CPUs        float64 `json:"cpus"`         // processors' worth of time, of all together

	MeanNS         float64 `json:"mean_ns"`         // latency: the median of bring-ups
	P99NS          float64 `json:"p99_ns"`          //
	Throttled      float64 `json:"throttled"`       // share of the time in which its CPU limit held an instance back
	CPUPressure    float64 `json:"cpu_pressure"`    // share of the time in which an instance waited for a processor
	MemoryPressure float64 `json:"memory_pressure"` // for memory
	Killed         int     `json:"killed"`          // processes, for want of memory, in all trials

	Percentiles []Percentile `json:"percentiles,omitempty"` // of latency, ascending; none where they are not known

	Uses  []Use    `json:"uses,omitempty"`  // of what has a limit
	Binds Resource `json:"binds,omitempty"` // what keeps all from doing more; "" where nothing that was measured does
}

// Percentile is a latency that so many percent of operations take at most.
type Percentile struct {
	Percent float64 `json:"percent"`
	NS      float64 `json:"ns"`   // the median of bring-ups
	Low     float64 `json:"low"`  // interval of NS; both are 0 below four bring-ups
	High    float64 `json:"high"` //
}

// Use returns how much of a resource is used; nil where it has no limit.
func (p ScalingPoint) Use(of Resource) *Use {
	for i := range p.Uses {
		if p.Uses[i].Resource == of {
			return &p.Uses[i]
		}
	}
	return nil
}

// Cause is the resource for which more instances do less.
type Cause string

// The causes of a valley.
const (
	CauseMemory  Cause = "memory"  // their data outgrows it: more of what they read comes from the device
	CauseCPU     Cause = "cpu"     // the processors are busy
	CauseUnknown Cause = "unknown" // nothing that was sampled explains it
)

// Valley is where throughput falls although more instances run.
type Valley struct {
	From  int     `json:"from"`  // instances before it falls
	To    int     `json:"to"`    // instances at which it has fallen most
	Ratio float64 `json:"ratio"` // of all together at To, to that at From
	P     float64 `json:"p"`     // how often noise alone would look like it
	Cause Cause   `json:"cause"`
}
