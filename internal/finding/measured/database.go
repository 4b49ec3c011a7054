package measured

import (
	"slices"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/database"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/ycsb"
)

// Asked returns what a workload of the run asks a database for. ok is false for one
// that asks none.
func (v *View) Asked(workload string) (l ycsb.Load, ok bool) {
	at := slices.IndexFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Name == workload })
	if at < 0 || !slices.Contains([]string{ycsb.Kind.Name, ycsb.TPCC.Name}, v.Run.Workloads[at].Kind) {
		return l, false
	}
	return ycsb.LoadOf(v.Run.Workloads[at].Declared)
}

// DatabaseTitle is what people call the database of that name.
func DatabaseTitle(name string) string {
	for _, k := range database.All() {
		if k.Name == name {
			return k.Title
		}
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// DeviceBandwidth is what the devices that files lie on read and wrote a second, while
// the instances of the cell were measured, in bytes.
func (c *Cell) DeviceBandwidth() samples.Sample {
	return samples.Take(c.Trials, func(t *result.Trial) (float64, bool) {
		return DeviceRate(t, func(d result.DeviceCounter) uint64 { return d.ReadBytes + d.WriteBytes })
	})
}

// TailOverMean is the 99th percentile of latency as a multiple of its mean.
func (c *Cell) TailOverMean() samples.Sample { return samples.Take(c.Trials, tailOverMean) }

func tailOverMean(t *result.Trial) (float64, bool) {
	p99, known := samples.P99.Of(t, "")
	mean, ok := samples.MeanLatency.Of(t, "")
	return p99 / mean, known && ok && mean > 0
}
