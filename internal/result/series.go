package result

import (
	"math"
	"time"
)

// NoInstance is the Instance of a Series of a device, of the host, or of the
// scaled-down host that stands for it.
const NoInstance = -1

// Series is one metric sampled during a trial, at intervals of Step.
type Series struct {
	Instance int `json:"instance"` // Index of the instance, or NoInstance
	// "instance", "scaled-down host", "host", or "device" and its kernel name: "device loop0"
	Source string        `json:"source"`
	Metric string        `json:"metric"` // "cpu.user", "memory.file", "io.read_bytes"
	Unit   string        `json:"unit"`   // of the values: "CPUs", "bytes", "bytes/s", "share"
	Start  time.Time     `json:"start"`  // of the interval of the first value
	Step   time.Duration `json:"step"`   // between two values

	// Values are means over the interval that ends at Start + (i+1) Step; NaN where the kernel gave no value.
	Values []float64 `json:"values"`
}

// Mean is the mean of the values that there are; 0 when there are none.
func (s Series) Mean() float64 {
	sum, n := 0.0, 0.0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / max(1, n)
}
