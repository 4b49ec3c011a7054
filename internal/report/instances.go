package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/cell"
	"plimsoll/internal/hist"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// mixPoint is what the instances of a mix did on a stack.
type mixPoint struct {
	Mix     string
	Stack   string
	Trials  int  // that the numbers are medians of
	Failed  bool // none of them was completed by all instances
	Rate    float64
	Tenants []tenantView
	Outside float64        // greatest share of its measured time that an instance spent outside the common window
	Notes   []instanceNote // what speaks against its limits, and what died of what
}

// tenantView is the instances of a tenant on one stack. Numbers are medians over
// trials of what is said of a trial.
type tenantView struct {
	Tenant   string
	Workload string
	Stack    string
	Count    int     // instances in a trial
	Rate     float64 // of all together
	Share    float64 // of the rate of all tenants
	Median   float64 // rate of an instance
	Least    float64 // of the slowest instance of a trial
	Most     float64 // of the fastest
	P99NS    float64 // of all instances together; 0 where unknown
	TPMC     float64 // new orders of TPC-C a minute, of all together; 0 for none
	CPUs     float64 // of an instance; NaN where unknown
	Held     float64 // share of the time in which it was held back by its CPU limit; NaN where unknown
	Memory   float64 // peak of an instance, in bytes; NaN where unknown
	Limited  *result.Limited
}

// instanceNote is what must be said of instances, once, and how often it was so.
type instanceNote struct {
	Who   string // "readers", "the miniature"
	Text  string
	Died  bool
	Times int // instances of trials
}

// mixPoints describes all points at which several instances, or one with limits
// of its own, ran. Other runs have none.
func mixPoints(run *result.Run) []mixPoint {
	if len(run.Mixes) == 0 {
		return nil
	}
	var all []mixPoint
	cells := cell.Of(run)
	for _, p := range cells.Points() {
		if plain(mixNamed(run, p.Mix)) {
			continue // its row of the workload says all
		}
		view := newMixPoint(p, cells.Trials(p), cells.Done(p))
		if len(view.Tenants) > 0 {
			all = append(all, view)
		}
	}
	return all
}

func newMixPoint(p cell.Point, tried, done []*result.Trial) mixPoint {
	view := mixPoint{Mix: p.Mix, Stack: p.Stack}
	for _, t := range tried {
		view.note(t)
	}
	if len(done) == 0 {
		view.Failed = true
		done = slices.DeleteFunc(slices.Clone(tried), func(t *result.Trial) bool { return len(t.Instances) == 0 })
	}
	view.Trials = len(done)
	var rates []float64
	for _, t := range done {
		if m := t.Measured(); m != nil {
			rates = append(rates, m.IOPS())
		}
		if t.Window != nil {
			view.Outside = max(view.Outside, t.Window.Outside)
		}
	}
	view.Rate = stats.Median(rates)
	for _, t := range done {
		for _, in := range t.Instances {
			known := slices.ContainsFunc(view.Tenants, func(v tenantView) bool {
				return v.Tenant == in.Tenant && v.Stack == in.Stack
			})
			if !known {
				view.Tenants = append(view.Tenants, newTenantView(in, done))
			}
		}
	}
	return view
}

// newTenantView describes the instances that are of the same tenant and on the
// same stack as one.
func newTenantView(one result.Instance, trials []*result.Trial) tenantView {
	v := tenantView{Tenant: one.Tenant, Workload: one.Workload, Stack: one.Stack, Limited: one.Limited}
	var rate, share, median, least, most, cpus, held, memory, orders []float64
	var measured []*result.Measurement
	for _, t := range trials {
		own := slices.DeleteFunc(slices.Clone(t.Instances), func(in result.Instance) bool {
			return in.Tenant != one.Tenant || in.Stack != one.Stack
		})
		v.Count = max(v.Count, len(own))
		var rates []float64
		sum, tpmc := 0.0, 0.0
		for _, in := range own {
			if in.Usage != nil && in.Usage.Seconds > 0 {
				cpus = append(cpus, in.Usage.CPUSeconds/in.Usage.Seconds)
				held = append(held, in.Usage.ThrottledSeconds/in.Usage.Seconds)
			}
			if in.Usage != nil && in.Usage.PeakMemoryBytes > 0 {
				memory = append(memory, float64(in.Usage.PeakMemoryBytes))
			}
			if in.Measurement != nil {
				measured = append(measured, in.Measurement)
				rates = append(rates, in.Measurement.IOPS())
				sum += in.Measurement.IOPS()
				tpmc += in.Measurement.TPMC()
			}
		}
		if len(rates) == 0 {
			continue
		}
		rate, median = append(rate, sum), append(median, stats.Median(rates))
		orders = append(orders, tpmc)
		least, most = append(least, slices.Min(rates)), append(most, slices.Max(rates))
		if all := t.Measured().IOPS(); all > 0 {
			share = append(share, sum/all)
		}
	}
	v.Rate, v.Share, v.TPMC = stats.Median(rate), stats.Median(share), stats.Median(orders)
	v.Median, v.Least, v.Most = stats.Median(median), stats.Median(least), stats.Median(most)
	v.CPUs, v.Held, v.Memory = stats.Median(cpus), stats.Median(held), stats.Median(memory)
	if len(measured) > 0 {
		together := result.Together(measured...)
		ns, _ := hist.Percentile(together.Latency(result.Total).Bins, 99)
		v.P99NS = float64(ns)
	}
	return v
}

// note collects what speaks against the limits of a trial, and what died.
func (p *mixPoint) note(t *result.Trial) {
	if t.Miniature != nil {
		p.limited("the miniature", *t.Miniature)
	}
	for _, in := range t.Instances {
		if in.Limited != nil {
			p.limited(in.Tenant, *in.Limited)
		}
		if in.Problem != nil {
			p.add(instanceNote{Who: in.Tenant, Text: in.Problem.Text(), Died: true})
		}
	}
}

func (p *mixPoint) limited(who string, l result.Limited) {
	for _, problem := range l.Problems {
		p.add(instanceNote{Who: who, Text: problem})
	}
	if l.Asked != l.ReadBack {
		p.add(instanceNote{Who: who, Text: fmt.Sprintf("asked for %s, the kernel holds %s",
			l.Asked.String(), cmp.Or(l.ReadBack.String(), "no limit"))})
	}
}

func (p *mixPoint) add(n instanceNote) {
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

// mostOutside is how much of its time an instance may be measured outside the
// window of all without a word.
const mostOutside = 0.05

// name of the point: "four on disk".
func (p mixPoint) name() string {
	if p.Stack == "" {
		return p.Mix
	}
	return p.Mix + " on " + p.Stack
}

// doubts are what makes the numbers of the point less than they seem.
func (p mixPoint) doubts() []string {
	var all []string
	if p.Failed && p.Trials > 0 {
		all = append(all, p.name()+": no trial was completed by all instances; the numbers are of those that were measured")
	}
	if p.Outside > mostOutside {
		all = append(all, fmt.Sprintf("%s: an instance was measured for %s of its time while not all others were",
			p.name(), percentText(p.Outside)))
	}
	return all
}

// remarks are what must be said beside the numbers of the point.
func (p mixPoint) remarks() []string {
	all := p.doubts()
	for _, n := range p.Notes {
		all = append(all, p.name()+": "+n.String())
	}
	return all
}

// String says what happened, and how often.
func (n instanceNote) String() string {
	switch {
	case n.Died:
		return fmt.Sprintf("%s of %s died: %s", plural.Count(n.Times, "instance"), n.Who, n.Text)
	case n.Times == 1:
		return n.Who + ": " + n.Text
	}
	return fmt.Sprintf("%s, %d times: %s", n.Who, n.Times, n.Text)
}

func percentText(share float64) string { return units.Significant(100*share) + "%" }

// rateOf gives a rate of operations, which are I/Os only of some workloads.
func rateOf(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
	}
	return units.Grouped(v) + "/s"
}

// said describes the instances in a line: "4 x readers: 497/s each, 480/s to
// 520/s from the slowest to the fastest, p99 12.3 ms".
func (v tenantView) said() string {
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
		text += ", p99 " + latencyText(v.P99NS)
	}
	if v.CPUs > 0 {
		text += fmt.Sprintf(", %s CPUs", units.Significant(v.CPUs))
	}
	if v.Held > 0.01 {
		text += fmt.Sprintf(" and held back for %s of the time", percentText(v.Held))
	}
	if v.Memory > 0 {
		text += fmt.Sprintf(", %s of memory at its peak", bytesText(int64(v.Memory)))
	}
	return text
}
