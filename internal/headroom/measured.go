package headroom

import (
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// MeasuredBy returns the capacities of drives that a run measured: of each drive under a stack, the most that a
// workload had it do, as the median over trials, with its interval. Workloads that only read, or only write, count.
func MeasuredBy(run *result.Run) (capacities []Capacity) {
	type key struct {
		drive    string
		resource Resource
	}
	type point struct {
		key
		stack, mix string
	}
	values := map[point][]float64{}
	var order []point
	for _, t := range run.Trials {
		measured := t.Counts()
		if t.Status != result.TrialDone || measured == nil {
			continue
		}
		for _, check := range t.Checks {
			for _, d := range check.Served {
				requests := float64(d.Reads + d.Writes)
				if d.Device.Name == "" || !(d.PerIO > 0) || requests == 0 {
					continue
				}
				// The device's counters are of the whole trial: its rate is that of the workload, by its requests for each.
				perSecond := d.PerIO * measured.IOPS() / requests
				for resource, amount := range amountsOf(d) {
					p := point{key{d.Device.Name, resource}, t.Stack, t.Mix}
					if values[p] == nil {
						order = append(order, p)
					}
					values[p] = append(values[p], amount*perSecond)
				}
			}
		}
	}
	best := map[key]Capacity{}
	var keys []key
	for _, p := range order {
		median := stats.Median(values[p])
		if now, ok := best[p.key]; ok && now.Value >= median {
			continue
		} else if !ok {
			keys = append(keys, p.key)
		}
		interval := stats.MedianInterval(values[p])
		best[p.key] = Capacity{Drive: p.drive, Resource: p.resource, Value: median, Low: interval.Low, High: interval.High,
			Source: Measured, From: run.ID}
	}
	for _, k := range keys {
		if best[k].Value > 0 {
			capacities = append(capacities, best[k])
		}
	}
	return capacities
}

// mostly is the share of a drive's requests from which on a workload counts for reads alone, or writes alone.
const mostly = 0.95

// amountsOf returns what a drive did in a trial, as far as it says what the drive can do.
func amountsOf(d result.DeviceCounter) map[Resource]float64 {
	reads, writes := float64(d.Reads), float64(d.Writes)
	amounts := map[Resource]float64{}
	switch {
	case reads+writes == 0:
	case reads >= mostly*(reads+writes):
		amounts[Reads], amounts[ReadBandwidth] = reads, float64(d.ReadBytes)
	case writes >= mostly*(reads+writes):
		amounts[Writes], amounts[WriteBandwidth] = writes, float64(d.WriteBytes)
	}
	return amounts
}
