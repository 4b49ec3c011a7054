package observe

import (
	"math"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// samplers is all that is sampled. docs/reference/metrics.md is written from it.
var samplers = []sampler{
	groupCPU,
	groupMemory,
	groupIO,
	groupPressure,
	deviceIO,
	hostCPU,
	hostMemory,
	hostPressure,
}

// sampler reads some metrics of a group, a device or the host.
type sampler struct {
	kind    kind
	metrics []metric
	open    func(origin) reader
}

// kind is the kind of thing that a sampler reads: an instance, a device or the host.
type kind int

const (
	ofGroup kind = iota // an instance's, or the scaled-down host's
	ofDevice
	ofHost
)

// origin is where a sampler reads.
type origin struct {
	roots   hostfs.Roots
	buffer  *[]byte       // that all files are read into
	group   Group         // ofGroup
	devices []string      // ofGroup: MAJ:MIN of those whose I/O counts; nil for all
	device  result.Device // ofDevice
}

// reader reads the metrics of a sampler as they are now. Called serially, by the goroutine of one Recorder: readers
// of a Recorder share a buffer.
type reader interface {
	// read sets the values of the sampler's metrics, in their order; what it does not set is unknown.
	read(values []float64)
	close()
}

// metric is one that a sampler reads.
type metric struct {
	name string // of result.Series
	unit string
	grow growth

	// For docs/reference/metrics.md: what it is, and the files that it is read from.
	meaning, file string
}

// growth says how what was read at the two ends of an interval becomes its mean.
type growth int

const (
	counts growth = iota // a sum since some time: what was added in each second
	holds                // a level
)

// unknown is a value that the kernel does not tell.
var unknown = math.NaN()

// mean returns the metric's mean over an interval. A counter that went back was begun anew meanwhile, and says
// nothing.
func (m metric) mean(before, after, seconds float64) float64 {
	if m.grow == holds {
		return (before + after) / 2
	}
	if after < before || seconds <= 0 {
		return unknown
	}
	return (after - before) / seconds
}

// Units of metrics.
const (
	unitCPUs   = "CPUs"
	unitBytes  = "bytes"
	unitRate   = "bytes/s"
	unitOps    = "ops/s"
	unitFaults = "faults/s"
	unitShare  = "share"
	unitQueue  = "requests"
)
