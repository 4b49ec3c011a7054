package overload

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// Find says which rate of operations instances keep up with, and what becomes of more.
func Find(v *runview.View) (out []fact.Finding) {
	offered := v.Offereds()
	for _, series := range offered {
		f, told := find(v, series)
		if len(offered) > 1 && told.Overload.Stack != "" {
			f.Title = told.whose() + " on " + told.Overload.Stack + ": " + told.keeps()
		}
		out = append(out, f)
	}
	return out
}

func find(v *runview.View, series runview.Series) (fact.Finding, *Facts) {
	facts := &Facts{Overload: curveOf(v, series)}
	f := fact.Finding{
		ID:   fmt.Sprintf("overload/%s/%s-%d", series.Stack.Name, facts.Overload.Workload, series.Instances),
		Case: "overload", Kind: fact.KindScaling, Workload: facts.Overload.Workload, Facts: facts,
		Title: facts.whose() + ": " + facts.keeps(), Why: facts.details(), Section: facts.section(),
		Stacks: series.Stack.Names(), Evidence: runview.Points(series.Cells()...),
		Caveats: runview.MarksOf(series.Cells()...),
	}
	return f, facts
}

// findBest returns what is found of the stack that keeps the highest rate, with the curves of the others.
func findBest(v *runview.View, offered []runview.Series) (best fact.Finding, facts *Facts) {
	for i, series := range offered {
		f, next := find(v, series)
		switch {
		case i == 0:
			best, facts = f, next
		case next.Overload.Kept > facts.Overload.Kept:
			next.Others = slices.Concat(facts.Others, []Curve{facts.Overload})
			best, facts = f, next
		default:
			facts.Others = append(facts.Others, next.Overload)
		}
	}
	slices.SortStableFunc(facts.Others, func(a, b Curve) int { return cmp.Compare(b.Kept, a.Kept) })
	if len(offered) > 1 {
		best.Stacks, best.Evidence = nil, nil
		for _, series := range offered {
			best.Stacks = append(best.Stacks, series.Stack.Name)
			best.Evidence = append(best.Evidence, runview.Points(series.Cells()...)...)
		}
		best.Why = facts.details() + facts.otherStacks()
	}
	return best, facts
}

// Verdict draws the verdict of a run that asks which rate is kept, by stack, of mixes that
// differ in their rate alone; on a host that was quiet or not. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, facts *Facts, ok bool) {
	offered := v.Offereds()
	if len(offered) == 0 {
		return f, nil, false
	}
	for i, series := range offered {
		if i > 0 && (series.Stack == offered[0].Stack || series.Name != offered[0].Name) {
			return f, nil, false
		}
	}
	for _, c := range v.All() {
		known := slices.ContainsFunc(offered, func(series runview.Series) bool { return series.Stack == c.Stack })
		if !known || !v.OfferedAt(c.Workload.Name) {
			return f, nil, false
		}
	}
	f, facts = findBest(v, offered)
	f.ID, f.Case, f.Kind, f.Workload, f.Section = "recommendation", "overload", fact.KindRecommendation, "", nil
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence(quiet)}
	f.Title = facts.verdict(f.Recommendation.Confidence)
	return f, facts, true
}

// Next returns what is open of the rates: another rate to offer, or more setups of these.
func (f *Facts) Next(_ *result.Run, c fact.Confidence) fact.Next {
	if f.Overload.Next > 0 {
		return fact.Next{Open: fmt.Sprintf("offer %s operations a second too", units.Rate(f.Overload.Next)), MoreTime: c == fact.TooEarly}
	}
	return fact.MoreSetups(c)
}

// confidence is how sure it is which rate is kept.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	switch {
	case f.tooFew(), f.highestKept() == nil && f.broken() == nil:
		return fact.TooEarly
	case len(f.unjudged()) > 0:
		return fact.Likely
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
func curveOf(v *runview.View, series runview.Series) Curve {
	o := Curve{Stack: series.Stack.Name, Workload: series.Name, Host: runview.HostText(series.Host),
		Instances: series.Instances,
		LimitNS:   v.Objective(series).P99NS}
	if w, ok := v.Run.Workload(series.Workload); ok {
		o.FromSubmission = w.Kind == fio.Kind.Name
	}
	var first fact.ScalingPoint
	var kept, done, unjudged []bool
	for i, c := range series.Cells() {
		used := v.PointOf(series.Host, c)
		if i == 0 {
			first = used
		}
		p := offeredPoint(c, series.Levels[i].Value, used)
		p.Binds = runview.BindingOf(used, first)
		if o.FromSubmission {
			p.ServiceNS = 0 // it is p99 itself
		}
		p.TooSlow = o.tooSlow(p.P99NS)
		done = append(done, p.Kept)
		unjudged = append(unjudged, o.unjudged(p))
		p.Kept = p.Kept && !p.TooSlow && !o.unjudged(p)
		kept = append(kept, p.Kept)
		o.Points = append(o.Points, p)
		if i == 0 || p.BringUps < o.BringUps {
			o.BringUps = p.BringUps
		}
	}
	o.Kept, o.Breaks = keptUpTo(series.Values(), kept, done, unjudged)
	keptRange(series, &o)
	if o.Kept > 0 && o.Breaks > threshold.NextRateGap*o.Kept {
		o.Next = twoDigits(math.Sqrt(o.Kept * o.Breaks))
	}
	switch {
	case slices.Contains(unjudged, true): // the same rates, for longer
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
// it, so that the rate is not what requests wait for. Nor does one that cannot be judged.
func keptUpTo(rates []float64, kept, done, unjudged []bool) (up, breaks float64) {
	for i, rate := range rates {
		switch {
		case kept[i]:
			up, breaks = rate, 0
		case breaks == 0 && !unjudged[i]:
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
		kept, done, unjudged := make([]bool, len(o.Levels)), make([]bool, len(o.Levels)), make([]bool, len(o.Levels))
		whole := true
		for i, c := range o.Cells() {
			setupTrials := slices.DeleteFunc(slices.Clone(c.Trials),
				func(t *result.Trial) bool { return [2]int{t.Block, t.BringUp} != b })
			whole = whole && len(setupTrials) > 0
			share, growth, took := runview.Take(setupTrials, doneShare), runview.Take(setupTrials, growth),
				runview.P99.Sample(setupTrials, "")
			done[i] = len(setupTrials) > 0 && isKept(stats.Median(share.Values()), growth.Median())
			unjudged[i] = done[i] && f.LimitNS > 0 && len(took) == 0
			kept[i] = done[i] && !unjudged[i] && !f.tooSlow(took.Median())
		}
		if !whole {
			continue // some rate was not offered in it
		}
		up, _ := keptUpTo(o.Values(), kept, done, unjudged)
		if first {
			f.Low, f.High, first = up, up, false
			continue
		}
		f.Low, f.High = min(f.Low, up), max(f.High, up)
	}
}

// tooSlow reports whether a 99th percentile is above the objective.
func (o *Curve) tooSlow(ns float64) bool { return o.LimitNS > 0 && ns > o.LimitNS }

func isKept(done, growth float64) bool { return done >= nearlyAll && growth < growing }

func offeredPoint(c *runview.Cell, rate float64, used fact.ScalingPoint) Point {
	p99 := used.Percentile(99)
	p := Point{
		Mix: used.Mix, BringUps: used.BringUps, Offered: rate, Achieved: used.Rate, Low: used.RateLow, High: used.RateHigh,
		P50NS: used.Percentile(50).NS, P99NS: p99.NS, P99Unknown: p99.Unknown, P99Low: p99.Low, P99High: p99.High, Uses: used.Uses, Trials: len(c.Trials),
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
	done, total := 0.0, 0.0
	for _, in := range t.Instances {
		if in.Measurement == nil {
			continue
		}
		for _, o := range in.Measurement.Operations {
			done += float64(o.Count)
			total += float64(o.Count + o.Errors)
		}
		if open := openLoop(in); open != nil {
			total += float64(open.Overdue)
		}
	}
	return done / total, total > 0
}

func failures(t *result.Trial) (float64, bool) {
	n := uint64(0)
	for _, o := range t.Counts().Operations {
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
func growth(t *result.Trial) (largest float64, ok bool) {
	for _, in := range t.Instances {
		open := openLoop(in)
		if open == nil || len(open.P99NS) < 3 || !(open.IntervalSeconds > 0) {
			continue
		}
		third := len(open.P99NS) / 3
		from, to := stats.Median(open.P99NS[:third]), stats.Median(open.P99NS[len(open.P99NS)-third:])
		between := float64(len(open.P99NS)-third) * open.IntervalSeconds * 1e9
		g := (to - from) / between
		if !ok || g > largest {
			largest, ok = g, true
		}
	}
	return largest, ok
}
