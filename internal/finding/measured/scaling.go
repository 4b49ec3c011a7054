package measured

import (
	"cmp"
	"fmt"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Scaling is mixes of one stack that differ in the number of their instances alone.
type Scaling struct {
	Stack    *Stack
	Workload string
	Host     *result.Limits
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
			first := Scaling{Stack: s, Workload: of.Workload, Host: m.Host}
			all.of(s.Name+"\x00"+family, first).add(of.Count, c)
		}
	}
	return slices.DeleteFunc(all.all, func(s Scaling) bool { return len(s.Counts) < 2 })
}

// failed reports whether a mix was tried on a stack, or could not be.
func (v *View) failed(stack, mix string) bool {
	return slices.ContainsFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == stack && t.Mix == mix && (t.Status == result.TrialFailed || t.Status == result.TrialSkipped)
	})
}

// policyOf is the policy of the only tenant of a mix, or "".
func (v *View) policyOf(mix string) string {
	at := slices.IndexFunc(v.Run.Mixes, func(m result.Mix) bool { return m.Name == mix })
	if at < 0 {
		return ""
	}
	return v.Run.Mixes[at].Tenants[0].Policy
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

// Scaling returns what mixes do over the number of instances: what the change-point
// method of stats.FindChanges sees in it, how many the host carries for most throughput,
// and what binds at each number. It is computed once.
func (v *View) Scaling(s Scaling) fact.Scaling {
	key := fmt.Sprint(s.Stack.Name, "\x00", s.Cells[0].Workload.Name)
	f, known := v.scalings[key]
	if !known {
		f = v.scalingOf(s)
		v.scalings[key] = f
	}
	return f
}

func (v *View) scalingOf(s Scaling) fact.Scaling {
	seed := v.Run.Seed
	f := fact.Scaling{
		Stack: s.Stack.Name, Workload: s.Workload, Missing: s.Missing, Tail: s.tail(seed),
		Line: s.LoadLine(s.objective(v.Run.Experiment.Objective), seed),
	}
	policy := v.policyOf(s.Cells[0].Workload.Name)
	if policy != "" && policy != noPolicy {
		f.Workload += " under " + policy
	}
	if s.Host != nil {
		f.Host, f.Memory = s.Host.String(), s.Host.MemoryBytes
	}
	for i, c := range s.Cells {
		p := PointOf(c, s.Counts[i])
		p.Uses = v.UsesOf(s.Host, c, p)
		f.Points = append(f.Points, p)
		f.Points[i].Binds = BindingOf(p, f.Points[0])
	}
	var rates []samples.Sample
	for _, c := range s.Cells {
		rates = append(rates, c.Rates)
	}
	f.Floor = bringUpsApart(rates...)
	latencies, err := stats.FindChanges(s.levelsOf(samples.P99), seed)
	if err == nil {
		f.P99 = shapeOf(latencies, false)
	}
	best := slices.MaxFunc(f.Points, func(a, b fact.ScalingPoint) int { return cmp.Compare(a.Rate, b.Rate) })
	f.Best = best.Instances
	curve, err := stats.FindChanges(s.levelsOf(samples.Rate), seed)
	if err != nil {
		f.Open = err.Error()
		return f
	}
	f.Rate = shapeOf(curve, true)
	f.Valley = valleyOf(curve, f.Points)
	if f.Valley != nil && 1-f.Valley.Ratio <= f.Floor {
		f.Valley = nil // bring-ups of the same mix differ by as much
	}
	if f.Valley != nil {
		f.Best = f.Valley.From
		f.Valley.Cause = causeOf(at(f.Points, f.Valley.From), at(f.Points, f.Valley.To))
	}
	return f
}

// PointOf returns what so many instances did, and what they used of what has no limit.
func PointOf(c *Cell, instances int) fact.ScalingPoint {
	median := func(of func(*result.Trial) (float64, bool)) float64 {
		value, _ := medianOf(c, of)
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

// fallen is the share of what the best number of instances does below which others do
// less, and more of them are in a valley: what varies by less is level.
const fallen = 0.9

// valleyOf returns the valley of a curve: behind a change it falls to less than fallen.
// nil where it does not.
func valleyOf(curve stats.Curve, points []fact.ScalingPoint) *fact.Valley {
	for i, c := range curve.Changes {
		falls := c.Kind == stats.Cliff || c.Kind == stats.Knee && curve.Segments[i+1].Shape == stats.Falls
		if !falls {
			continue
		}
		from := bestUpTo(points, c.To)
		to := worstBehind(points, from.Instances)
		if to.Instances > from.Instances && to.Rate < fallen*from.Rate {
			return &fact.Valley{From: from.Instances, To: to.Instances, Ratio: to.Rate / from.Rate, P: c.P}
		}
	}
	return nil
}

// bestUpTo is the point that does most, of those up to a number of instances; where that
// lies between two of them, as a bend does, up to the one behind it.
func bestUpTo(points []fact.ScalingPoint, most float64) fact.ScalingPoint {
	best := points[0]
	for i, p := range points {
		if i > 0 && float64(points[i-1].Instances) >= most {
			break
		}
		if p.Rate > best.Rate {
			best = p
		}
	}
	return best
}

// worstBehind is the point that does least, of those beyond a number of instances.
func worstBehind(points []fact.ScalingPoint, least int) fact.ScalingPoint {
	worst := points[len(points)-1]
	for _, p := range points {
		if p.Instances > least && p.Rate < worst.Rate {
			worst = p
		}
	}
	return worst
}

// What it takes to name a cause, at the valley against the best number of instances.
const (
	moreReads = 1.5  // device reads of an operation grew so many times,
	lessCache = 0.9  // and the page cache of an instance shrank to this share of it
	fewReads  = 0.01 // below which reads of an operation are none, and cannot have grown from
)

// causeOf names the resource for which more instances do less.
func causeOf(best, valley fact.ScalingPoint) fact.Cause {
	processors := valley.Use(fact.Processors)
	switch {
	case outgrown(valley, best):
		return fact.CauseMemory
	case processors != nil && processors.Binds:
		return fact.CauseCPU
	}
	return fact.CauseUnknown
}

func at(points []fact.ScalingPoint, instances int) fact.ScalingPoint {
	return points[slices.IndexFunc(points, func(p fact.ScalingPoint) bool { return p.Instances == instances })]
}
