package result

import "time"

// NoInstance is the Instance of a Series of a device, of the host, or of the
// miniature that stands for it.
const NoInstance = -1

// Series is what was sampled while a trial ran, at times that are Step apart.
type Series struct {
	Instance int `json:"instance"` // Index of the instance, or NoInstance
	// "instance", "miniature", "host", or "device" and its kernel name: "device loop0"
	Source string        `json:"source"`
	Metric string        `json:"metric"` // "cpu.user", "memory.file", "io.read_bytes"
	Unit   string        `json:"unit"`   // of the values: "CPUs", "bytes", "bytes/s", "share"
	Start  time.Time     `json:"start"`  // of the interval of the first value
	Step   time.Duration `json:"step"`   // between two values

	// Values are means over the interval that ends at Start + (i+1) Step; NaN
	// where the kernel did not tell.
	Values []float64 `json:"values"`
}
