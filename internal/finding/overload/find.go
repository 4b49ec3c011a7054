package overload

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

// Find says which rate of operations instances keep up with, and what becomes of more.
func Find(v *runview.View) (out []fact.Finding) {
	all := v.Offereds()
	for _, of := range all {
		f, told := find(v, of)
		if len(all) > 1 && told.Overload.Stack != "" {
			f.Title = told.whose() + " on " + told.Overload.Stack + ": " + told.keeps()
		}
		out = append(out, f)
	}
	return out
}

func find(v *runview.View, of runview.Series) (fact.Finding, *Facts) {
	told := &Facts{Overload: curveOf(v, of)}
	f := fact.Finding{
		ID:   fmt.Sprintf("overload/%s/%s-%d", of.Stack.Name, told.Overload.Workload, of.Instances),
		Case: "overload", Kind: fact.KindScaling, Workload: told.Overload.Workload, Facts: told,
		Title: told.whose() + ": " + told.keeps(), Why: told.each(), Section: told.section(),
		Stacks: of.Stack.Names(), Evidence: runview.Points(of.Cells()...), Caveats: runview.MarksOf(of.Cells()...),
	}
	return f, told
}

// findBest returns what is found of the stack that keeps the highest rate, with the curves of the others.
func findBest(v *runview.View, all []runview.Series) (best fact.Finding, told *Facts) {
	for i, of := range all {
		f, facts := find(v, of)
		switch {
		case i == 0:
			best, told = f, facts
		case facts.Overload.Kept > told.Overload.Kept:
			facts.Others = slices.Concat(told.Others, []Curve{told.Overload})
			best, told = f, facts
		default:
			told.Others = append(told.Others, facts.Overload)
		}
	}
	slices.SortStableFunc(told.Others, func(a, b Curve) int { return cmp.Compare(b.Kept, a.Kept) })
	if len(all) > 1 {
		best.Stacks, best.Evidence = nil, nil
		for _, of := range all {
			best.Stacks = append(best.Stacks, of.Stack.Name)
			best.Evidence = append(best.Evidence, runview.Points(of.Cells()...)...)
		}
		best.Why = told.each() + told.otherStacks()
	}
	return best, told
}

// Verdict draws the verdict of a run that asks which rate is kept, by stack, of mixes that
// differ in their rate alone; on a host that was quiet or not. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, told *Facts, ok bool) {
	all := v.Offereds()
	if len(all) == 0 {
		return f, nil, false
	}
	for i, of := range all {
		if i > 0 && (of.Stack == all[0].Stack || of.Name != all[0].Name) {
			return f, nil, false
		}
	}
	for _, c := range v.All() {
		known := slices.ContainsFunc(all, func(of runview.Series) bool { return of.Stack == c.Stack })
		if !known || !v.OfferedAt(c.Workload.Name) {
			return f, nil, false
		}
	}
	f, told = findBest(v, all)
	f.ID, f.Case, f.Kind, f.Workload, f.Section = "recommendation", "rates kept", fact.KindRecommendation, "", nil
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(quiet)}
	f.Title = told.verdict(f.Recommendation.Confidence)
	return f, told, true
}

// confidence is how sure it is which rate is kept.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	switch {
	case f.few():
		return fact.TooEarly
	case !f.decided() || len(f.alike()) > 0 || len(f.late(false)) > 0 || f.Overload.Breaks == 0 || !quiet:
		return fact.Likely
	}
	return fact.Sure
}

// What it takes for a rate to be kept.
const (
	nearlyAll = 0.99          // of the operations are completed, and
	growing   = 1 - nearlyAll // p99 gets longer by less than this share of the time that passes: so do queues that rest
)

// curveOf returns what became of each rate.
func curveOf(v *runview.View, of runview.Series) Curve {
	o := Curve{Stack: of.Stack.Name, Workload: of.Name, Host: runview.HostText(of.Host), Instances: of.Instances,
		LimitNS: v.Objective(of).P99NS}
	if w, ok := v.Run.Workload(of.Workload); ok {
		o.FromSubmission = w.Kind == fio.Kind.Name
	}
	var first fact.ScalingPoint
	var kept, done []bool
	for i, c := range of.Cells() {
		used := v.PointOf(of.Host, c)
		if i == 0 {
			first = used
		}
		p := offeredPoint(c, of.Levels[i].Value, used)
		p.Binds = runview.BindingOf(used, first)
		if o.FromSubmission {
			p.ServiceNS = 0 // it is p99 itself
		}
		p.TooSlow = o.tooSlow(p.P99NS)
		done = append(done, p.Kept)
		p.Kept = p.Kept && !p.TooSlow
		kept = append(kept, p.Kept)
		o.Points = append(o.Points, p)
		if i == 0 || p.BringUps < o.BringUps {
			o.BringUps = p.BringUps
		}
	}
	o.Kept, o.Breaks = keptUpTo(of.Values(), kept, done)
	keptRange(of, &o)
	if o.Kept > 0 && o.Breaks > threshold.NextRateGap*o.Kept {
		o.Next = twoDigits(math.Sqrt(o.Kept * o.Breaks))
	}
	switch {
	case o.Kept == 0:
		o.Next = twoDigits(o.Breaks / 2)
	case o.Breaks == 0:
		o.Next = twoDigits(threshold.NextRateStep * o.Kept)
	}
	return o
}

// twoDigits rounds to two digits.
func twoDigits(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// keptUpTo returns the highest rate that is kept while all below it are done, and the lowest above it that is not kept; 0
// where there is none. A lower rate that is done, with a p99 above the objective, breaks nothing: a higher one is within
// it, so that the rate is not what requests wait for.
func keptUpTo(rates []float64, kept, done []bool) (up, breaks float64) {
	for i, rate := range rates {
		switch {
		case kept[i]:
			up, breaks = rate, 0
		case breaks == 0:
			breaks = rate
		}
		if !done[i] {
			return up, breaks
		}
	}
	return up, breaks
}

// keptRange sets the lowest and the highest rate that is kept, over setups.
func keptRange(o runview.Series, f *Curve) {
	var blocks [][2]int
	for _, c := range o.Cells() {
		for _, t := range c.Trials {
			key := [2]int{t.Block, t.BringUp}
			if t.BringUp > 0 && !slices.Contains(blocks, key) {
				blocks = append(blocks, key)
			}
		}
	}
	first := true
	for _, b := range blocks {
		kept, done := make([]bool, len(o.Levels)), make([]bool, len(o.Levels))
		whole := true
		for i, c := range o.Cells() {
			own := slices.DeleteFunc(slices.Clone(c.Trials), func(t *result.Trial) bool { return [2]int{t.Block, t.BringUp} != b })
			whole = whole && len(own) > 0
			share, growth, took := runview.Take(own, doneShare), runview.Take(own, growth), runview.Take(own, p99)
			done[i] = len(own) > 0 && isKept(stats.Median(share.Values()), growth.Median())
			kept[i] = done[i] && !f.tooSlow(took.Median())
		}
		if !whole {
			continue // some rate was not offered in it
		}
		up, _ := keptUpTo(o.Values(), kept, done)
		if first {
			f.Low, f.High, first = up, up, false
			continue
		}
		f.Low, f.High = min(f.Low, up), max(f.High, up)
	}
}

// tooSlow reports whether a 99th percentile is above the objective.
func (o *Curve) tooSlow(ns float64) bool { return o.LimitNS > 0 && ns > o.LimitNS }

func p99(t *result.Trial) (ns float64, ok bool) {
	at, ok := hist.Percentile(t.Measured().Latency(result.Total).Bins, 99)
	return float64(at), ok
}

func isKept(done, growth float64) bool { return done >= nearlyAll && growth < growing }

func offeredPoint(c *runview.Cell, rate float64, used fact.ScalingPoint) Point {
	p99 := used.Percentile(99)
	p := Point{
		Mix: used.Mix, BringUps: used.BringUps, Offered: rate, Achieved: used.Rate, Low: used.RateLow, High: used.RateHigh,
		P50NS: used.Percentile(50).NS, P99NS: p99.NS, P99Low: p99.Low, P99High: p99.High, Uses: used.Uses, Trials: len(c.Trials),
	}
	p.Done = runview.Take(c.Trials, doneShare).Median()
	p.Growth = runview.Take(c.Trials, growth).Median()
	p.ServiceNS = c.Sample(runview.ServiceP99).Median()
	p.LagNS = runview.Take(c.Trials, lag).Median()
	p.Errors = runview.Take(c.Trials, failures).Median()
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
