package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// fabric tells what each stack on another host's device costs beside its twin
// on a device of this host: under every workload the latency that is added, in
// microseconds, and the throughput that is left.
func fabric(v *view) []Finding {
	var out []Finding
	for _, s := range v.stacks {
		twin := v.twin(s)
		if twin == nil {
			continue
		}
		f := Finding{
			ID: "fabric/" + s.Name, Kind: KindComparison, Stacks: []string{s.Name, twin.Name},
			Caveats: []string{"the two devices have to be one model: what differs between them is in these numbers too"},
		}
		var titled, whys []string
		var first string
		adds := "adds"
		for _, w := range v.workloads {
			a, b := v.cell(s.Name, w.Name), v.cell(twin.Name, w.Name)
			if a == nil || b == nil {
				continue
			}
			theirs, ours := a.meanLatencies(), b.meanLatencies()
			extra, ok := stats.DifferenceOfMedians(theirs, ours, v.run.Seed)
			fewest := min(len(theirs), len(ours))
			if fewest < stats.FewestPairs {
				adds = "seems to add"
			}
			e, ratio := v.compare(a, b)
			if !ok || !ratio {
				continue
			}
			if why := unfit(a, b); why != "" {
				f.Caveats = append(f.Caveats, w.Name+": "+why)
			}
			f.Evidence = append(f.Evidence, points(a, b)...)
			added := fmt.Sprintf("%s under %s", extraText(extra, fewest), w.Name)
			if first == "" {
				first = added
			}
			if len(titled) < 2 && v.lowLoad(w) {
				titled = append(titled, added)
			}
			whys = append(whys, fmt.Sprintf("%s: %s an I/O (%s, against %s), %s of the IOPS", w.Name, extraText(extra, fewest), meanText(a), meanText(b), shortRatio(e)))
		}
		if len(whys) == 0 {
			continue
		}
		if len(titled) == 0 { // no workload has one I/O at a time
			titled = append(titled, first)
		}
		f.Title = fmt.Sprintf("%s, over %s, %s to an I/O of %s: %s", s.Name, transportOf(s.line), adds, twin.Name, plural.And(titled))
		f.Why = strings.Join(whys, "; ") + ". Differences are of the medians of the trials' mean total latencies, with their 95% intervals."
		f.Caveats = append(marksOf(v.under(v.workloads[0].Name)...), f.Caveats...)
		out = append(out, f)
	}
	return out
}

// twin gives the stack with the same layers on a device of this host, or nil
// for a stack that is not remote, or has none.
func (v *view) twin(s *stack) *stack {
	if !remote(s.line) {
		return nil
	}
	i := slices.IndexFunc(v.stacks, func(o *stack) bool { return twins(s.line, o.line) })
	if i < 0 {
		return nil
	}
	return v.stacks[i]
}

// twins tells whether a line has the layers of a remote one on one device of
// this host.
func twins(there, here line.Line) bool {
	return onDevice(here) && direct(here) && here.Nodes[0].Name != nodeLoop && len(here.Sources()) == 1 &&
		slices.EqualFunc(here.Nodes[1:], there.Nodes[1:], sameNode)
}

// lowLoad tells whether a workload has one I/O at a time.
func (v *view) lowLoad(w result.Workload) bool {
	return slices.ContainsFunc(v.driven(), func(d driven) bool { return d.name == w.Name && d.load.InFlight() == 1 })
}

func transportOf(l line.Line) string {
	t, _ := l.Nodes[0].Option("transport")
	return "NVMe/" + strings.ToUpper(t)
}

func meanText(c *cell) string {
	l, ok := c.latencies()
	if !ok {
		return "unknown"
	}
	return units.Latency(l.total)
}

// extraText writes a difference of latencies in ns: "85.3 us more (80.1 us to
// 90.4 us)", and with ~ where the interval holds none. Below four values there
// is no interval.
func extraText(d stats.Difference, values int) string {
	if values < stats.FewestPairs {
		return signed(d.Difference)
	}
	text := fmt.Sprintf("%s (%s to %s)", signed(d.Difference), signed(d.Low), signed(d.High))
	if d.Low <= 0 && 0 <= d.High {
		return "~ " + text
	}
	return text
}

// signed writes a latency that may be negative.
func signed(ns float64) string {
	if ns < 0 {
		return "-" + units.Latency(-ns)
	}
	return units.Latency(ns)
}

// targets tells what an I/O costs the host that holds a remote device, and how
// many hosts such as this one it can serve before its processors are full.
func targets(v *view) []Finding {
	var out []Finding
	for _, s := range v.stacks {
		if !remote(s.line) {
			continue
		}
		f := Finding{ID: "target/" + s.Name, Kind: KindComparison, Stacks: []string{s.Name}}
		var costs, serves []string
		var most *load
		for _, w := range v.workloads {
			c := v.cell(s.Name, w.Name)
			if c == nil {
				continue
			}
			l, ok := loadOnTarget(c)
			if !ok {
				continue
			}
			f.Evidence = append(f.Evidence, c.point)
			costs = append(costs, fmt.Sprintf("%s under %s", l.perIO, w.Name))
			serves = append(serves, fmt.Sprintf("%s of %s", l.initiators, w.Name))
			if most == nil || l.initiators.median < most.initiators.median {
				most = &l
			}
		}
		if most == nil {
			continue
		}
		f.Title = fmt.Sprintf("The target's %s %s %s such as this one over %s, when they do %s, which leaves least",
			plural.Count(most.cpus, "processor"), plural.Choose(most.cpus, "carries", "carry"), most.initiators.plural("initiator"), transportOf(s.line), most.workload)
		f.Why = fmt.Sprintf("An I/O of %s takes of the target's processors: %s. At the rates measured here, all of them are busy with so many initiators: %s. "+
			"Medians over the trials, with their intervals; the time is all that the target's processors were busy, whatever with.",
			s.Name, plural.And(costs), plural.And(serves))
		f.Caveats = []string{
			"an estimate: processor time is taken to grow with the I/Os; the device and the network have limits of their own, which this does not count",
		}
		if most.initiators.interval.Coverage < stats.Confidence {
			f.Caveats = append(f.Caveats, fmt.Sprintf("the intervals, of %s, hold with %s only: repeat 6 times or more", plural.Count(most.trials, "trial"), units.Percent(most.initiators.interval.Coverage)))
		}
		f.Caveats = append(marksOf(v.under(most.workload)...), f.Caveats...)
		out = append(out, f)
	}
	return out
}

// load is what a workload costs a target.
type load struct {
	workload          string
	cpus, trials      int
	perIO, initiators estimate
}

// estimate is a median with its interval, of what write puts into words.
type estimate struct {
	values   int
	median   float64
	interval stats.Interval
	write    func(float64) string
}

func newEstimate(values []float64, write func(float64) string) estimate {
	return estimate{len(values), stats.Median(values), stats.MedianInterval(values), write}
}

func (s estimate) String() string {
	if s.values < stats.FewestPairs || s.interval.Low == s.interval.High {
		return s.write(s.median)
	}
	return fmt.Sprintf("%s (%s to %s)", s.write(s.median), s.write(s.interval.Low), s.write(s.interval.High))
}

// plural writes how many of something: "3.1 initiators (2.9 to 3.4)".
func (s estimate) plural(noun string) string {
	number, interval, _ := strings.Cut(s.String(), " ")
	return strings.TrimSpace(number + " " + noun + "s " + interval)
}

// loadOnTarget reads what the target of a cell's stack spent. ok is false when
// nobody told.
func loadOnTarget(c *cell) (l load, ok bool) {
	var perIO, initiators []float64
	l.workload = c.workload.Name
	for _, t := range c.trials {
		spent, iops := t.TargetCPU, t.Measurement.IOPS()
		if spent == nil || !(spent.IOs > 0) || !(spent.BusySeconds > 0) || !(iops > 0) {
			continue
		}
		l.cpus = spent.CPUs
		perIO = append(perIO, 1e9*spent.PerIO())
		initiators = append(initiators, float64(spent.CPUs)/(spent.PerIO()*iops))
	}
	if len(perIO) == 0 {
		return l, false
	}
	l.trials, l.perIO, l.initiators = len(perIO), newEstimate(perIO, units.Latency), newEstimate(initiators, units.Digits)
	return l, true
}
