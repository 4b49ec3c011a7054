package measured

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
)

// Scaling is mixes of one stack that differ in the number of their instances alone.
type Scaling struct {
	Stack    *Stack
	Workload string
	Policy   string // of limits; "" for none
	Host     *result.Limits
	Fit      int     // the most whose servers Host has memory for; 0 where that is not known
	Room     int     // the most for which each miniature of the run has memory; 0 where that is not known
	Counts   []int   // ascending
	Cells    []*Cell // by count
	Missing  []int   // counts that were tried, of which no trial was completed; ascending
}

// Scalings returns them in the order of the mixes: those of at least two counts.
func (v *View) Scalings() []Scaling {
	var all families[Scaling]
	for _, m := range v.Run.Mixes {
		family := m.Family()
		if family == "" {
			continue
		}
		of := m.Tenants[0]
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil && !v.failed(s.Name, m.Name) {
				continue
			}
			first := Scaling{Stack: s, Workload: of.Workload, Host: m.Host, Fit: v.fit(of.Workload, m.Host),
				Room: v.room()}
			if of.Policy != NoPolicy {
				first.Policy = of.Policy
			}
			all.of(s.Name+"\x00"+family, first).add(of.Count, c)
		}
	}
	return slices.DeleteFunc(all.all, func(s Scaling) bool { return len(s.Counts) < 2 })
}

// Over returns mixes that differ in one factor alone, whose levels are numbers, as Scalings does those that differ in
// their number of instances: Counts are the levels.
func (v *View) Over(factor string) []Scaling {
	var all families[Scaling]
	for _, m := range v.Run.Mixes {
		level, err := strconv.Atoi(m.Levels[factor])
		if err != nil || len(m.Tenants) != 1 || m.Varies != nil {
			continue
		}
		others := maps.Clone(m.Levels)
		delete(others, factor)
		for _, c := range v.Under(m.Name) {
			first := Scaling{Stack: c.Stack, Workload: m.Tenants[0].Workload, Host: m.Host}
			all.of(fmt.Sprint(c.Stack.Name, "\x00", others, m.Tenants[0].Count, m.Tenants[0].Policy), first).add(level, c)
		}
	}
	return slices.DeleteFunc(all.all, func(s Scaling) bool { return len(s.Counts) < 2 })
}

// HostOf returns the miniature of a mix; nil for none.
func (v *View) HostOf(mix string) *result.Limits {
	at := slices.IndexFunc(v.Run.Mixes, func(m result.Mix) bool { return m.Name == mix })
	if at < 0 {
		return nil
	}
	return v.Run.Mixes[at].Host
}

// MixOf returns the mix of a scaling with the fewest instances.
func (v *View) MixOf(s Scaling) result.Mix {
	at := slices.IndexFunc(v.Run.Mixes, func(m result.Mix) bool { return m.Name == s.Cells[0].Workload.Name })
	return v.Run.Mixes[at]
}

// fit returns how many servers of a workload a miniature has memory for; 0 where that is not known.
func (v *View) fit(workload string, host *result.Limits) int {
	for _, w := range v.Run.Workloads {
		if w.Name == workload && w.ServerMemory > 0 && host != nil {
			return int(host.MemoryBytes / w.ServerMemory)
		}
	}
	return 0
}

// room returns how many servers each miniature of the run has memory for, whatever they are: a run with more of some
// has more of all. It is 0 where that is not known.
func (v *View) room() (least int) {
	for _, m := range v.Run.Mixes {
		fit := v.fit(m.Tenants[0].Workload, m.Host)
		if fit > 0 && m.Family() != "" && (least == 0 || fit < least) {
			least = fit
		}
	}
	return least
}

// failed reports whether a mix was tried on a stack, or could not be.
func (v *View) failed(stack, mix string) bool {
	return slices.ContainsFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == stack && t.Mix == mix && (t.Status == result.TrialFailed || t.Status == result.TrialSkipped)
	})
}

// add adds what so many instances did; nothing where c is nil.
func (s *Scaling) add(count int, c *Cell) {
	if c == nil {
		at, _ := slices.BinarySearch(s.Missing, count)
		s.Missing = slices.Insert(s.Missing, at, count)
		return
	}
	at, taken := slices.BinarySearch(s.Counts, count)
	if taken {
		return
	}
	s.Counts, s.Cells = slices.Insert(s.Counts, at, count), slices.Insert(s.Cells, at, c)
}

// Scaled reports whether a mix is one of several counts of instances: it is about how
// many, and not about which stack.
func (v *View) Scaled(mix string) bool {
	return slices.ContainsFunc(v.Scalings(), func(s Scaling) bool {
		return slices.ContainsFunc(s.Cells, func(c *Cell) bool { return c.Workload.Name == mix })
	})
}

// Points returns what each number of instances did, and what binds at it.
func (v *View) Points(s Scaling) (all []fact.ScalingPoint) {
	for i, c := range s.Cells {
		p := PointOf(c, s.Counts[i])
		p.Uses = v.UsesOf(s.Host, c, p)
		all = append(all, p)
		all[i].Binds = BindingOf(p, all[0])
	}
	return all
}

// Objective is what the experiment asks of all instances, with the share of what one alone
// does as the rate that it is; 0 where one alone was not measured.
func (v *View) Objective(s Scaling) (o fact.Objective) {
	asked := v.Run.Experiment.Objective
	if asked == nil {
		return o
	}
	o = fact.Objective{P99NS: asked.P99Seconds * 1e9, Standalone: asked.Standalone}
	if s.Counts[0] == 1 {
		o.EachRate = o.Standalone * s.Cells[0].Point.Median
	}
	return o
}

// PointOf returns what so many instances did, and what they used of what has no limit.
func PointOf(c *Cell, instances int) fact.ScalingPoint {
	median := func(of func(*result.Trial) (float64, bool)) float64 {
		value, _ := c.Median(of)
		return value
	}
	metric := func(m samples.Metric) func(*result.Trial) (float64, bool) {
		return func(t *result.Trial) (float64, bool) { return m.Of(t, "") }
	}
	usage := func(of func(*result.Usage) float64) func(*result.Trial) (float64, bool) {
		return func(t *result.Trial) (sum float64, ok bool) {
			for _, in := range t.Instances {
				if in.Usage == nil {
					return 0, false
				}
				sum += of(in.Usage)
			}
			return sum, true
		}
	}
	n := float64(instances)
	p := fact.ScalingPoint{
		Instances: instances, Mix: c.Workload.Name, BringUps: c.Point.N, Rate: c.Point.Median,
		DeviceReads: median(metric(samples.DeviceReads)),
		CacheBytes:  median(usage(func(u *result.Usage) float64 { return float64(u.CacheBytes) })) / n,
		DataBytes:   median(written) / n,
		IOPressure:  median(usage(func(u *result.Usage) float64 { return u.IOPressure })) / n,
		CPUs:        median(usage(func(u *result.Usage) float64 { return u.CPUSeconds / max(u.Seconds, 1e-9) })),

		MeanNS: median(metric(samples.MeanLatency)), P99NS: median(metric(samples.P99)),
		Throttled:      median(usage(func(u *result.Usage) float64 { return u.ThrottledSeconds / max(u.Seconds, 1e-9) })) / n,
		CPUPressure:    median(usage(func(u *result.Usage) float64 { return u.CPUPressure })) / n,
		MemoryPressure: median(usage(func(u *result.Usage) float64 { return u.MemoryPressure })) / n,
	}
	if c.Point.Coverage > 0 {
		p.RateLow, p.RateHigh = c.Point.Low, c.Point.High
	}
	p.Percentiles = Percentiles(c)
	for _, t := range c.Trials {
		for _, in := range t.Instances {
			if in.Usage != nil {
				p.Killed += in.Usage.OOMKills
			}
		}
	}
	if p.Rate > 0 {
		p.Weakest = min(1, median(metric(samples.WeakestRate))*n/p.Rate)
	}
	return p
}

// written is how many bytes of files the instances of a trial were given.
func written(t *result.Trial) (bytes float64, ok bool) {
	p := t.Preconditioning
	if p == nil || p.Kind != result.PreconditionedFile || p.Passes == 0 {
		return 0, false
	}
	return float64(p.Bytes) / float64(p.Passes), true
}

// Percentiles are those of latency; none where a trial does not tell one of them.
func Percentiles(c *Cell) (all []fact.Percentile) {
	for _, of := range []struct {
		percent float64
		metric  samples.Metric
	}{{50, samples.P50}, {99, samples.P99}, {99.9, samples.P999}} {
		sample := c.Sample(of.metric)
		if len(sample) == 0 {
			return nil
		}
		p := fact.Percentile{Percent: of.percent}
		median, low, high, coverage := MedianOf(sample.Means())
		p.NS = median
		if coverage > 0 {
			p.Low, p.High = low, high
		}
		all = append(all, p)
	}
	return all
}
