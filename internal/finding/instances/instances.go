// Package instances shows what ran at the same time: the instances of each tenant of a mix, the limits that they were
// held to, and what died of what. It is pure.
package instances

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Point has the measurements of a mix's instances on a stack.
type Point struct {
	Mix     string
	Stack   string
	Trials  int  // that the numbers are medians of
	Failed  bool // none of them was completed by all instances
	Rate    float64
	Tenants []Tenant
	Outside float64 // greatest share of its measured time that an instance spent outside the common window
	Notes   []Note  // what speaks against its limits, and what died of what
}

// Tenant is the instances of a tenant on one stack. Numbers are medians over
// setups of what is said of a trial.
type Tenant struct {
	Tenant   string
	Workload string
	Stack    string
	Count    int     // instances in a trial
	Rate     float64 // of all together
	Share    float64 // of the rate of all tenants
	Median   float64 // rate of an instance
	Least    float64 // of the slowest instance of a trial
	Most     float64 // of the fastest
	P99NS    float64 // of a setup from all instances and trials; 0 where unknown
	TPMC     float64 // new orders of TPC-C a minute, of all together; 0 for none
	CPUs     float64 // of an instance; NaN where unknown
	Held     float64 // share of the time in which it was held back by its CPU limit; NaN where unknown
	Memory   float64 // peak of an instance, in bytes; NaN where unknown
	Limited  *result.Limited
}

// Note is a remark on instances, with the number of times that it held.
type Note struct {
	Who   string // "readers", "the scaled-down host"
	Text  string
	Died  bool
	Times int // instances of trials
}

// Points describes all points at which several instances, or one with limits
// of its own, ran. Other runs have none.
func Points(run *result.Run) []Point {
	if len(run.Mixes) == 0 {
		return nil
	}
	var points []Point
	cells := runview.Of(run)
	for _, p := range cells.Points() {
		if m, ok := run.Mix(p.Mix); ok && m.Plain() {
			continue // its row of the workload says all
		}
		view := newPoint(p, cells.Trials(p), cells.Done(p))
		if len(view.Tenants) > 0 {
			points = append(points, view)
		}
	}
	return points
}

func newPoint(p result.Point, tried, done []*result.Trial) Point {
	view := Point{Mix: p.Mix, Stack: p.Stack}
	for _, t := range tried {
		view.note(t)
	}
	if len(done) == 0 {
		view.Failed = true
		done = slices.DeleteFunc(slices.Clone(tried), func(t *result.Trial) bool { return len(t.Instances) == 0 })
	}
	view.Trials = len(done)
	view.Rate = stats.Median(runview.Rate.Sample(done, "").Values())
	for _, t := range done {
		if t.Window != nil {
			view.Outside = max(view.Outside, t.Window.Outside)
		}
	}
	for _, t := range done {
		for _, in := range t.Instances {
			known := slices.ContainsFunc(view.Tenants, func(v Tenant) bool {
				return v.Tenant == in.Tenant && v.Stack == in.Stack
			})
			if !known {
				view.Tenants = append(view.Tenants, newTenant(in, done))
			}
		}
	}
	return view
}

// newTenant describes the instances that are of the same tenant and on the
// same stack as one.
func newTenant(instance result.Instance, trials []*result.Trial) Tenant {
	v := Tenant{Tenant: instance.Tenant, Workload: instance.Workload, Stack: instance.Stack, Limited: instance.Limited}
	isSame := func(in *result.Instance) bool { return in.Tenant == instance.Tenant && in.Stack == instance.Stack }
	type value func(result.Instance) (float64, bool)
	measured := func(quantity func(*result.Measurement) float64) value {
		return func(in result.Instance) (float64, bool) {
			if in.Measurement == nil {
				return 0, false
			}
			return quantity(in.Measurement), true
		}
	}
	used := func(quantity func(*result.Usage) float64) value {
		return func(in result.Instance) (float64, bool) {
			if in.Usage == nil || !(in.Usage.Seconds > 0) {
				return 0, false
			}
			return quantity(in.Usage) / in.Usage.Seconds, true
		}
	}
	rate := measured((*result.Measurement).IOPS)
	for _, figure := range []struct {
		to          *float64
		summarize   func([]float64) float64 // of the values of a trial's instances
		perInstance value
	}{
		{&v.Rate, sum, rate},
		{&v.Median, stats.Median, rate},
		{&v.Least, slices.Min[[]float64], rate},
		{&v.Most, slices.Max[[]float64], rate},
		{&v.TPMC, sum, measured((*result.Measurement).TPMC)},
		{&v.CPUs, stats.Median, used(func(u *result.Usage) float64 { return u.CPUSeconds })},
		{&v.Held, stats.Median, used(func(u *result.Usage) float64 { return u.ThrottledSeconds })},
		{&v.Memory, stats.Median, func(in result.Instance) (float64, bool) {
			if in.Usage == nil || in.Usage.PeakMemoryBytes == 0 {
				return 0, false
			}
			return float64(in.Usage.PeakMemoryBytes), true
		}},
	} {
		*figure.to = stats.Median(runview.Take(trials, func(t *result.Trial) (float64, bool) {
			var values []float64
			for _, in := range t.Instances {
				x, ok := figure.perInstance(in)
				if isSame(&in) && ok {
					values = append(values, x)
				}
			}
			if len(values) == 0 {
				return 0, false
			}
			return figure.summarize(values), true
		}).Values())
	}
	for _, t := range trials {
		count := 0
		for i := range t.Instances {
			if isSame(&t.Instances[i]) {
				count++
			}
		}
		v.Count = max(v.Count, count)
	}
	v.Share = stats.Median(runview.Take(trials, func(t *result.Trial) (float64, bool) {
		part, ok := runview.Rate.Some(t, isSame)
		all, _ := runview.Rate.Of(t, "")
		return part / all, ok && all > 0
	}).Values())
	v.P99NS = runview.P99.SampleOf(trials, isSame).Median()
	return v
}

func sum(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// note collects what speaks against the limits of a trial, and what died.
func (p *Point) note(t *result.Trial) {
	if t.Miniature != nil {
		p.limited("the scaled-down host", *t.Miniature)
	}
	for _, in := range t.Instances {
		if in.Limited != nil {
			p.limited(in.Tenant, *in.Limited)
		}
		if in.Problem != nil {
			p.add(Note{Who: in.Tenant, Text: in.Problem.Text(), Died: true})
		}
	}
}

func (p *Point) limited(subject string, l result.Limited) {
	for _, problem := range l.Problems {
		p.add(Note{Who: subject, Text: problem})
	}
	if l.Asked != l.ReadBack {
		p.add(Note{Who: subject, Text: fmt.Sprintf("asked for %s, the kernel holds %s",
			l.Asked.String(), cmp.Or(l.ReadBack.String(), "no limit"))})
	}
}

func (p *Point) add(n Note) {
	for i := range p.Notes {
		same := &p.Notes[i]
		if same.Who == n.Who && same.Text == n.Text && same.Died == n.Died {
			same.Times++
			return
		}
	}
	n.Times = 1
	p.Notes = append(p.Notes, n)
}

// Name returns the name of the point: "four on disk".
func (p Point) Name() string {
	if p.Stack == "" {
		return p.Mix
	}
	return p.Mix + " on " + p.Stack
}

// Doubts returns the reasons why the numbers of the point are less certain than they seem.
func (p Point) Doubts() []string {
	var doubts []string
	if p.Failed && p.Trials > 0 {
		doubts = append(doubts, p.Name()+": no trial was completed by all instances; the numbers are of those that were "+
			"measured")
	}
	if p.Outside > result.MaxOutside {
		doubts = append(doubts, fmt.Sprintf("%s: an instance was measured for %s of its time while not all others were",
			p.Name(), units.SignificantPercent(p.Outside)))
	}
	return doubts
}

// Problems returns the notes of points, each once, behind the names of all points that have it: "one and two: readers: …".
func Problems(points []Point) (lines []string) {
	var notes []Note
	names := map[Note][]string{}
	times := map[Note]int{}
	for _, p := range points {
		for _, n := range p.Notes {
			key := n
			key.Times = 0
			if names[key] == nil {
				notes = append(notes, key)
			}
			names[key], times[key] = append(names[key], p.Name()), times[key]+n.Times
		}
	}
	for _, n := range notes {
		counted := n
		counted.Times = times[n]
		lines = append(lines, plural.And(names[n])+": "+counted.String())
	}
	return lines
}

// String says what happened, and how often.
func (n Note) String() string {
	switch {
	case n.Died:
		return fmt.Sprintf("%s of %s died: %s", plural.Count(n.Times, "instance"), n.Who, n.Text)
	case n.Times == 1:
		return n.Who + ": " + n.Text
	}
	return fmt.Sprintf("%s, %d times: %s", n.Who, n.Times, n.Text)
}

// rateOf writes a rate of operations, which are I/Os only of some workloads.
func rateOf(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return units.Unknown
	}
	return units.Grouped(v) + "/s"
}

// Said describes the instances in a line: "4 x readers: 497/s each, 480/s to
// 520/s from the slowest to the fastest, p99 12.3 ms".
func (v Tenant) Said() string {
	text := fmt.Sprintf("%d x %s", v.Count, v.Tenant)
	if !(v.Rate > 0) {
		return text + ": nothing was measured"
	}
	if v.Count == 1 {
		text += ": " + rateOf(v.Rate)
	} else {
		text += fmt.Sprintf(": %s each, %s to %s from the slowest to the fastest",
			rateOf(v.Median), units.Grouped(v.Least), rateOf(v.Most))
	}
	if v.TPMC > 0 {
		text += ", " + units.Grouped(v.TPMC) + " tpmC in all"
	}
	if v.P99NS > 0 {
		text += ", p99 " + section.Latency.Format(v.P99NS)
	}
	if v.CPUs > 0 {
		text += fmt.Sprintf(", %s CPUs", units.Significant(v.CPUs))
	}
	if v.Held > 0.01 {
		text += fmt.Sprintf(" and held back for %s of the time", units.SignificantPercent(v.Held))
	}
	if v.Memory > 0 {
		text += fmt.Sprintf(", %s of memory at its peak", section.Bytes.Format(v.Memory))
	}
	return text
}
