package runview

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// HostOf returns the scaled-down host of a mix; nil for none.
func (v *View) HostOf(mix string) *result.Limits {
	m, _ := v.Run.Mix(mix)
	return m.Host
}

// MixOf returns the first mix of a series.
func (v *View) MixOf(s Series) result.Mix {
	m, _ := v.Run.Mix(s.Levels[0].Cell.Workload.Name)
	return m
}

// fit returns how many servers of a workload a scaled-down host has memory for; 0 where that is not known.
func (v *View) fit(workload string, host *result.Limits) int {
	w, _ := v.Run.Workload(workload)
	if w.ServerMemory == 0 || host == nil {
		return 0
	}
	return int(host.MemoryBytes / w.ServerMemory)
}

// room returns how many servers each scaled-down host of the run has memory for, whatever they are: a run
// with more of some has more of all. It is 0 where that is not known.
func (v *View) room() (least int) {
	for _, m := range v.Run.Mixes {
		fit := v.fit(m.Tenants[0].Workload, m.Host)
		if fit > 0 && m.Family() != "" && (least == 0 || fit < least) {
			least = fit
		}
	}
	return least
}

// failed reports whether a mix failed, or could not run, on a stack.
func (v *View) failed(stack, mix string) bool {
	return slices.ContainsFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == stack && t.Mix == mix && (t.Status == result.TrialFailed || t.Status == result.TrialSkipped)
	})
}

// Points returns what each number of instances did, and what binds at it.
func (v *View) Points(s Series) (points []fact.ScalingPoint) {
	for i, l := range s.Levels {
		p := v.PointOf(s.Host, l.Cell)
		p.Instances = l.Count() // of a factor's levels, those
		points = append(points, p)
		points[i].Binds = BindingOf(p, points[0])
	}
	return points
}

// Objective returns the experiment's objective for each instance. The share of the throughput of one alone is
// converted to a rate; 0 where one alone was not measured.
func (v *View) Objective(s Series) (o fact.Objective) {
	asked := v.Run.Experiment.Objective
	if asked == nil {
		return o
	}
	o = fact.Objective{P99NS: asked.P99Seconds * 1e9, Standalone: asked.Standalone}
	if s.Levels[0].Value == 1 {
		o.EachRate = o.Standalone * s.Levels[0].Cell.Point.Median
	}
	return o
}

// PointOf returns the results of a cell's instances on a host, with their use of resources.
func (v *View) PointOf(host *result.Limits, c *Cell) fact.ScalingPoint {
	n := float64(c.Instances)
	p := fact.ScalingPoint{Instances: c.Instances, Mix: c.Workload.Name, BringUps: c.Point.N, Rate: c.Point.Median}
	for _, field := range []struct {
		to      *float64
		metric  Metric
		divisor float64
	}{
		{&p.DeviceReads, DeviceReads, 1}, {&p.CacheBytes, CacheBytes, n}, {&p.DataBytes, WrittenBytes, n}, {&p.CPUs, CPUs, 1},
		{&p.MeanNS, MeanLatency, 1}, {&p.P99NS, P99, 1}, {&p.Throttled, Throttled, n}, {&p.IOPressure, IOPressure, n},
		{&p.CPUPressure, CPUPressure, n}, {&p.MemoryPressure, MemoryPressure, n},
	} {
		*field.to = c.Sample(field.metric).Median() / field.divisor
	}
	for _, field := range []struct {
		to      *float64
		counted func(result.DeviceCounter) uint64
	}{
		{&p.DiskReads, func(d result.DeviceCounter) uint64 { return d.Reads }},
		{&p.DiskWrites, func(d result.DeviceCounter) uint64 { return d.Writes }},
		{&p.DiskReadBytes, func(d result.DeviceCounter) uint64 { return d.ReadBytes }},
		{&p.DiskWriteBytes, func(d result.DeviceCounter) uint64 { return d.WriteBytes }},
	} {
		*field.to, _ = c.Median(func(t *result.Trial) (float64, bool) { return DeviceRate(t, field.counted) })
	}
	p.RateLow, p.RateHigh = c.Point.Interval()
	p.Percentiles = Percentiles(c)
	for _, t := range c.Trials {
		for _, in := range t.Instances {
			if in.Usage != nil {
				p.Killed += in.Usage.OOMKills
			}
		}
	}
	complete := !slices.ContainsFunc(c.Trials, func(t *result.Trial) bool { return len(t.Instances) < p.Instances })
	if p.Rate > 0 && complete {
		p.Weakest = min(1, c.Sample(WeakestRate).Median()*n/p.Rate)
	}
	p.Uses = v.usesOf(host, c, p)
	return p
}

// Percentiles returns the percentiles of latency; none where trials have no latencies.
func Percentiles(c *Cell) (percentiles []fact.Percentile) {
	for _, percentile := range []struct {
		percent float64
		metric  Metric
	}{{50, P50}, {95, P95}, {99, P99}, {99.9, P999}} {
		sample := c.Sample(percentile.metric)
		if fewest, enough := c.Operations(percentile.metric); len(c.Rates) > 0 && !enough {
			why := fmt.Sprintf("too few I/Os: %d in a setup of the %d that it takes", fewest, hist.LeastFor(percentile.percent))
			percentiles = append(percentiles, fact.Percentile{Percent: percentile.percent, Unknown: why})
			continue
		}
		if len(sample) == 0 {
			return nil
		}
		e := Estimate(sample.Values())
		p := fact.Percentile{Percent: percentile.percent, NS: e.Median}
		p.Low, p.High = e.Interval()
		percentiles = append(percentiles, p)
	}
	return percentiles
}
