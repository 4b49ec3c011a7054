package measured

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/ycsb"
)

// Offered is mixes of one stack that differ in the rate alone at which operations begin.
type Offered struct {
	Stack     *Stack
	Host      *result.Limits
	Instances int
	Rates     []float64 // of all instances together, ascending
	Cells     []*Cell   // by rate
	workloads []string
}

// mixes are what ran at the same time: the run's mixes, or each workload alone.
func (v *View) mixes() []result.Mix {
	if len(v.Run.Mixes) > 0 {
		return v.Run.Mixes
	}
	var all []result.Mix
	for _, w := range v.Run.Workloads {
		all = append(all, result.Mix{Name: w.Name, Tenants: []result.Tenant{{Name: w.Name, Workload: w.Name, Count: 1}}})
	}
	return all
}

// openOf returns the rate of a mix of one tenant whose operations begin at one, and what it has in
// common with mixes that differ in that rate alone.
func (v *View) openOf(m result.Mix) (rate float64, family string, ok bool) {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return 0, "", false
	}
	of := m.Tenants[0]
	at := slices.IndexFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Name == of.Workload })
	if at < 0 || v.Run.Workloads[at].Kind != ycsb.Kind.Name {
		return 0, "", false
	}
	open, ok := ycsb.OpenOf(v.Run.Workloads[at].Declared)
	var host result.Limits
	if m.Host != nil {
		host = *m.Host
	}
	family = fmt.Sprint(open.Family, "\x00", of.Count, of.On, of.Limits, of.Policy, host)
	return open.Rate * float64(of.Count), family, ok
}

// Offereds returns what was offered at several rates, in the order of the mixes.
func (v *View) Offereds() []Offered {
	var all families[Offered]
	for _, m := range v.mixes() {
		rate, family, ok := v.openOf(m)
		if !ok {
			continue
		}
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil {
				continue
			}
			first := Offered{Stack: s, Host: m.Host, Instances: m.Tenants[0].Count}
			all.of(s.Name+"\x00"+family, first).add(rate, c, m.Tenants[0].Workload)
		}
	}
	return slices.DeleteFunc(all.all, func(o Offered) bool { return len(o.Rates) < 2 })
}

func (o *Offered) add(rate float64, c *Cell, workload string) {
	at, taken := slices.BinarySearch(o.Rates, rate)
	if taken {
		return
	}
	o.Rates, o.Cells = slices.Insert(o.Rates, at, rate), slices.Insert(o.Cells, at, c)
	o.workloads = append(o.workloads, workload)
}

// OfferedAt reports whether a mix is one of several rates.
func (v *View) OfferedAt(mix string) bool {
	return slices.ContainsFunc(v.Offereds(), func(o Offered) bool {
		return slices.ContainsFunc(o.Cells, func(c *Cell) bool { return c.Workload.Name == mix })
	})
}

// name is what the names of workloads have in common: "C" of C-200 and C-400.
func (o *Offered) name() string {
	common := o.workloads[0]
	for _, w := range o.workloads[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	return cmp.Or(strings.TrimRight(common, "-_.0123456789"), o.workloads[0])
}

// What it takes for a rate to be kept.
const (
	nearlyAll = 0.99          // of the operations are completed, and
	growing   = 1 - nearlyAll // p99 gets longer by less than this share of the time that passes: so do queues that rest
)

// Overload returns what became of each rate.
func (v *View) Overload(of Offered) fact.Overload {
	o := fact.Overload{Stack: of.Stack.Name, Workload: of.name(), Instances: of.Instances}
	if of.Host != nil {
		o.Host = of.Host.String()
	}
	var first fact.ScalingPoint
	for i, c := range of.Cells {
		used := pointOf(c, of.Instances)
		used.Uses = v.usesOf(Scaling{Host: of.Host}, c, used)
		if i == 0 {
			first = used
		}
		p := offeredPoint(c, of.Rates[i])
		p.Uses, p.Binds = used.Uses, bindingOf(used, first)
		o.Points = append(o.Points, p)
		if i == 0 || p.BringUps < o.BringUps {
			o.BringUps = p.BringUps
		}
	}
	kept := make([]bool, len(o.Points))
	for i, p := range o.Points {
		kept[i] = p.Kept
	}
	o.Kept, o.Breaks = of.keptUpTo(kept)
	of.over(&o)
	if o.Kept > 0 && o.Breaks > nextFrom*o.Kept {
		o.Next = twoDigits(math.Sqrt(o.Kept * o.Breaks))
	}
	switch {
	case o.Kept == 0:
		o.Next = twoDigits(o.Breaks / 2)
	case o.Breaks == 0:
		o.Next = twoDigits(nextBeyond * o.Kept)
	}
	return o
}

// Which rate to offer next: one between what is kept and what is not, where these are further
// apart than this; else so much more than the most that was.
const (
	nextFrom   = 1.1
	nextBeyond = 1.5
)

// twoDigits rounds to two digits.
func twoDigits(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// keptUpTo is the highest rate up to which all are kept, and the next.
func (o *Offered) keptUpTo(kept []bool) (up, breaks float64) {
	for i, k := range kept {
		if !k {
			return up, o.Rates[i]
		}
		up = o.Rates[i]
	}
	return up, 0
}

// over finds how far it depends on the bring-up what is kept.
func (o *Offered) over(f *fact.Overload) {
	var blocks [][2]int
	for _, c := range o.Cells {
		for _, t := range c.Trials {
			key := [2]int{t.Block, t.BringUp}
			if t.BringUp > 0 && !slices.Contains(blocks, key) {
				blocks = append(blocks, key)
			}
		}
	}
	first := true
	for _, b := range blocks {
		kept := make([]bool, len(o.Cells))
		whole := true
		for i, c := range o.Cells {
			own := slices.DeleteFunc(slices.Clone(c.Trials), func(t *result.Trial) bool { return [2]int{t.Block, t.BringUp} != b })
			whole = whole && len(own) > 0
			done, growth := samples.Take(own, doneShare), samples.Take(own, growth)
			kept[i] = len(own) > 0 && isKept(stats.Median(done.Means()), medianOr0(growth))
		}
		if !whole {
			continue // some rate was not offered in it
		}
		up, _ := o.keptUpTo(kept)
		if first {
			f.Low, f.High, first = up, up, false
			continue
		}
		f.Low, f.High = min(f.Low, up), max(f.High, up)
	}
}

func medianOr0(s samples.Sample) float64 {
	if len(s) == 0 {
		return 0
	}
	return stats.Median(s.Means())
}

func isKept(done, growth float64) bool { return done >= nearlyAll && growth < growing }

func offeredPoint(c *Cell, rate float64) fact.OverloadPoint {
	p := fact.OverloadPoint{
		Mix: c.Workload.Name, BringUps: c.Point.N, Offered: rate, Achieved: c.Point.Median, Trials: len(c.Trials),
	}
	if c.Point.Coverage > 0 {
		p.Low, p.High = c.Point.Low, c.Point.High
	}
	for _, q := range percentilesOf(c) {
		switch q.Percent {
		case 50:
			p.P50NS = q.NS
		case 99:
			p.P99NS, p.P99Low, p.P99High = q.NS, q.Low, q.High
		}
	}
	p.Done = medianOr0(samples.Take(c.Trials, doneShare))
	p.Growth = medianOr0(samples.Take(c.Trials, growth))
	p.ServiceNS = medianOr0(samples.Take(c.Trials, service))
	p.LagNS = medianOr0(samples.Take(c.Trials, lag))
	p.Errors = medianOr0(samples.Take(c.Trials, failures))
	p.Kept = isKept(p.Done, p.Growth)
	for _, t := range c.Trials {
		if slices.ContainsFunc(t.Instances, func(in result.Instance) bool {
			open := openLoop(in)
			return open != nil && open.Hindered
		}) {
			p.Hindered++
		}
	}
	return p
}

func openLoop(in result.Instance) *result.OpenLoop {
	if in.Measurement == nil {
		return nil
	}
	return in.Measurement.OpenLoop
}

// doneShare is the share of the operations whose time came that were completed. Where nothing
// tells what was left at the end, those that failed alone count.
func doneShare(t *result.Trial) (float64, bool) {
	done, all := 0.0, 0.0
	for _, in := range t.Instances {
		if in.Measurement == nil {
			continue
		}
		for _, o := range in.Measurement.Operations {
			done += float64(o.Count)
			all += float64(o.Count + o.Errors)
		}
		if open := openLoop(in); open != nil {
			all += float64(open.Overdue)
		}
	}
	return done / all, all > 0
}

func failures(t *result.Trial) (float64, bool) {
	n := uint64(0)
	for _, o := range t.Measured().Operations {
		n += o.Errors
	}
	return float64(n), true
}

func lag(t *result.Trial) (ns float64, ok bool) {
	for _, in := range t.Instances {
		if open := openLoop(in); open != nil {
			ns, ok = max(ns, open.LagP99NS), true
		}
	}
	return ns, ok
}

func service(t *result.Trial) (float64, bool) {
	ns, ok := hist.Percentile(t.Measured().Latency(result.Completion).Bins, 99)
	return float64(ns), ok
}

// growth is by how much p99 gets longer from the first third of a trial to its last, of the
// instance of which it does most, as a share of the time between: where a hundredth of what is
// offered stays undone, all that comes waits longer by a hundredth of the time that passes.
func growth(t *result.Trial) (most float64, ok bool) {
	for _, in := range t.Instances {
		open := openLoop(in)
		if open == nil || len(open.P99NS) < 3 || !(open.IntervalSeconds > 0) {
			continue
		}
		third := len(open.P99NS) / 3
		from, to := stats.Median(open.P99NS[:third]), stats.Median(open.P99NS[len(open.P99NS)-third:])
		between := float64(len(open.P99NS)-third) * open.IntervalSeconds * 1e9
		g := (to - from) / between
		if !ok || g > most {
			most, ok = g, true
		}
	}
	return most, ok
}
