package published

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// scalings returns a case for each series of mixes that differ only in their number of instances, or in the level of
// the claim's factor, and that the claim is about. If a series runs the paper's own workload, scalings leaves out the
// series that run another one.
func scalings(v *runview.View, t *claims.Test, test func(*claimCase, runview.Series)) (out []claimCase) {
	series := v.Scalings()
	if len(t.Factor) > 0 {
		series = v.Over(t.Factor[0])
	}
	for _, s := range series {
		tenant := v.MixOf(s).Tenants[0]
		_, instead, ok := inRole(v, t, s.Workload)
		if !ok || !onStacks(v, t, s.Stack.Name, tenant) {
			continue
		}
		if t.Shape == claims.Valley && !throughCache(v, s.Workload) {
			continue
		}
		policy := policyOf(tenant)
		wanted := policy == runview.NoPolicy && len(t.Policy) == 0 || slices.Contains(t.Policy, policy)
		if !wanted {
			continue
		}
		k := claimCase{stacks: []string{s.Stack.Name}, workload: s.Workload, evidence: s.Cells(), instead: instead}
		test(&k, s)
		out = append(out, k)
	}
	other := func(k claimCase) bool {
		return k.instead != nil && (k.instead.Asked != "" || k.instead.Distribution != "")
	}
	if slices.ContainsFunc(out, func(k claimCase) bool { return !other(k) }) {
		out = slices.DeleteFunc(out, other)
	}
	return out
}

// throughCache reports whether a workload goes through the page cache, as databases may.
func throughCache(v *runview.View, workload string) bool {
	w, known := v.Run.Workload(workload)
	_, database := v.Asked(workload)
	return known && (database || runview.Buffered(w))
}

// ofCounts tests what the most instances do against the fewest.
func ofCounts(v *runview.View, c claims.Claim) []claimCase {
	return scalings(v, c.Test, func(k *claimCase, s runview.Series) {
		if g, ok := k.growth(v, c.Test.Metric, s, 0); ok {
			k.setMeasured("tail growth", g.String(), "p99 of %s, as a multiple of the mean, goes to %s", s.Workload, g)
			k.judgement = k.hold(c, g.Effect)
		}
	})
}

// growth is the effect of the most instances against fewer of them.
type growth struct {
	fact.Effect
	from, to int
}

func (g growth) String() string {
	return fmt.Sprintf("%s from %d to %d containers", g.Written(), g.from, g.to)
}

// growth compares the most instances with those of some number, by its index. ok is false, and the case judged,
// where there is no ratio.
func (k *claimCase) growth(v *runview.View, m claims.Metric, s runview.Series, from int) (g growth, ok bool) {
	last := len(s.Levels) - 1
	a, b := s.Levels[last].Cell, s.Levels[from].Cell
	g = growth{from: s.Levels[from].Count(), to: s.Levels[last].Count()}
	g.Effect, ok = k.compare(v, m, a.Workload.Name, b.Workload.Name, sampleOf(m, a), sampleOf(m, b))
	return g, ok
}

// shapes tests what throughput, or what the disk moves, does over the number of instances. Where it turns is a
// matter of the host, so the published number is not held against the one here.
func shapes(v *runview.View, c claims.Claim) []claimCase {
	if c.Test.Shape == claims.Moves {
		return moves(v, c.Test)
	}
	return scalings(v, c.Test, func(k *claimCase, s runview.Series) {
		switch c.Test.Shape {
		case claims.Peaks:
			k.peaks(v, s, nounOf(c.Test))
		case claims.Valley:
			k.valley(loadline.CurveOf(v, s), s.Workload)
		case claims.Saturates:
			k.saturates(v, s, c.Test.Metric)
		case claims.Level:
			k.level(v, s)
		case claims.Rises:
			k.rises(v, s)
		}
	})
}

// openCurve says why nothing can be told of a curve: the first of its levels that is too
// poor for that stands for all.
func openCurve(why string) judgement {
	first, _, _ := strings.Cut(why, "\n")
	return noCurve(first)
}

// peaks judges whether throughput rises with the number of instances and falls behind its
// best. More instances than the run has may do either.
func (k *claimCase) peaks(v *runview.View, s runview.Series, noun string) {
	f := loadline.CurveOf(v, s)
	if f.Open != "" {
		k.judgement = openCurve(f.Open)
		return
	}
	first, largest, best := s.Levels[0].Count(), s.Levels[len(s.Levels)-1].Count(), f.Best
	valley := f.Valley
	var plateau *loadline.Span // up to the most instances
	if valley == nil && f.Rate != nil && f.Rate.Plateau != nil && f.Rate.Plateau.To == largest {
		plateau, best = f.Rate.Plateau, f.Rate.Plateau.From
	}
	text := "is highest at " + plural.Count(best, noun)
	var rise *fact.Effect // of the best number against the first; nil where these are the same
	if at := slices.Index(s.Counts(), best); at > 0 {
		e, _ := v.Effect(string(claims.Throughput), "", "", s.Levels[at].Cell.Rates, s.Levels[0].Cell.Rates)
		rise = &e
		text = fmt.Sprintf("rises to %sx from %d to %s", units.Times(e.Ratio), first, plural.Count(best, noun))
	}
	switch {
	case valley != nil:
		text += fmt.Sprintf(", falls to %sx at %d", units.Times(valley.Ratio), valley.To)
	case plateau != nil:
		text += fmt.Sprintf(", level from %d to %d", plateau.From, plateau.To)
	default:
		text += fmt.Sprintf(", and does not fall up to %d", largest)
	}
	k.setMeasured("peak", text, "throughput of %s %s", s.Workload, text)
	switch {
	case valley != nil && rise != nil && rise.Differs && rise.Ratio > 1:
		k.judgement = confirmed("peak found", "it rises (%s), and falls behind its best (%s); at how many %ss that is "+
			"depends on the host", units.PValue(rise.P), units.PValue(valley.P), noun)
	case valley != nil && rise == nil:
		k.judgement = contradicted("falls at once", "it never rises: more %ss than %d already cost throughput", noun, first)
	case valley != nil:
		k.judgement = notTestable("rise unclear", "it falls (%s), but the data does not decide whether it rises before: repeat more "+
			"often, or begin with fewer %ss", units.PValue(valley.P), noun)
	case plateau != nil && plateau.To >= threshold.LongPlateau*plateau.From:
		k.judgement = contradicted("stays level", "it is level with %d %ss and still with %d: nothing falls", plateau.From,
			noun, plateau.To)
	default:
		k.judgement = notTestable("no peak yet", "throughput does not fall up to %d %ss: add more of them, "+
			"or give the scaled-down host less memory", largest, noun)
	}
}

// valley judges whether throughput falls once there are so many instances that their files outgrow the memory.
func (k *claimCase) valley(f loadline.Curve, workload string) {
	first, last := f.Points[0], f.Points[len(f.Points)-1]
	text := fmt.Sprintf("never falls, up to %d containers", last.Instances)
	if w := f.Valley; w != nil {
		text = fmt.Sprintf("falls to %sx from %d to %d containers", units.Times(w.Ratio), w.From, w.To)
	}
	k.setMeasured("instances", text, "throughput of %s %s", workload, text)
	switch {
	case f.Open != "":
		k.judgement = openCurve(f.Open)
		unclear := fmt.Sprintf("unclear, up to %d containers", last.Instances)
		k.setMeasured("open curve", unclear, "where throughput of %s changes is %s", workload, unclear)
	case f.Valley != nil && f.Valley.Cause == loadline.CauseMemory:
		k.judgement = confirmed("outgrown memory", "it falls where the files outgrow the memory, which device reads and the page "+
			"cache of each show (%s); at how many containers that is depends on both", units.PValue(f.Valley.P))
	case f.Valley != nil:
		k.judgement = notTestable("other valley", "it falls, and no sample shows that memory is the reason")
	case last.CacheBytes >= threshold.FitsCache*first.CacheBytes:
		k.judgement = notTestable("all fit", "the page cache held the files of all %d containers: add more, or give the scaled-down host "+
			"less memory", last.Instances)
	default:
		k.judgement = contradicted("no valley", "the files outgrew the memory, and all together did no less")
	}
}

// saturates judges whether a metric, as what the disk moves, rises with the number of instances, and is
// level then. Numbers at which it was nothing in some trial are before the rise.
func (k *claimCase) saturates(v *runview.View, s runview.Series, m claims.Metric) {
	var levels []stats.Level // behind the last number at which it moved nothing
	for i, c := range s.Cells() {
		values := sampleOf(m, c).Values()
		if len(values) == 0 {
			k.judgement = notTestable("no counters", "no trial shows what the devices of %s moved", s.Stack.Name)
			return
		}
		levels = append(levels, stats.Level{X: float64(s.Levels[i].Count()), Values: values})
		if slices.Min(values) <= 0 {
			levels = nil
		}
	}
	idle := len(s.Levels) - len(levels)
	if idle > 0 && len(levels) < stats.MinLevels {
		k.lastTwo(v, s, idle)
		return
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = openCurve(err.Error())
		return
	}
	text := curveText(curve, "containers", 1)
	k.setMeasured(string(m), text, "%s of %s %s", m, s.Stack.Name, text)
	risen := idle > 0 || slices.ContainsFunc(curve.Segments, func(s stats.Segment) bool { return s.Shape == stats.Rises && s.From != s.To }) ||
		slices.ContainsFunc(curve.Changes, func(c stats.Change) bool { return c.Kind == stats.Jump })
	last := curve.Segments[len(curve.Segments)-1]
	switch {
	case last.Shape == stats.Unclear:
		k.judgement = notTestable("unclear disk", "the data does not decide: noise, or too few numbers of containers, hide what it "+
			"does at the end; repeat more often, or add numbers")
	case last.From == last.To, last.Shape == stats.Rises:
		k.judgement = notFull()
	case last.Shape == stats.Plateau && risen && m != claims.DeviceBandwidth:
		k.judgement = confirmed("level", "it rises, and is level then")
	case last.Shape == stats.Plateau && risen:
		k.judgement = full()
	default:
		k.judgement = contradicted("no saturation", "it does not rise and level off")
	}
}

func full() judgement {
	return confirmed("disk full", "it rises, and is level then: the disk gives no more")
}

func notFull() judgement {
	return notTestable("not full yet", "it rises up to the most containers that were measured: add more of them")
}

// lastTwo judges a disk that moved nothing in some trial up to so many numbers of instances,
// and has too few behind them for a curve: whether the last two differ.
func (k *claimCase) lastTwo(v *runview.View, s runview.Series, idle int) {
	if idle >= len(s.Levels)-1 {
		k.judgement = notTestable("idle disk", "the disk moved next to nothing up to %d containers: add more of them",
			s.Levels[idle-1].Count())
		return
	}
	g, ok := k.growth(v, claims.DeviceBandwidth, s, len(s.Levels)-2)
	if !ok {
		return
	}
	text := fmt.Sprintf("next to none up to %d containers, %s from %d to %d", s.Levels[idle-1].Count(), g.Written(), g.from, g.to)
	k.setMeasured("disk growth", text, "disk bandwidth of %s is %s", s.Workload, text)
	switch {
	case g.TooFew:
		k.judgement = tooFew(g.Effect)
	case g.High < threshold.Growth:
		k.judgement = full()
	default:
		k.judgement = notFull()
	}
}

// level judges whether more instances do no more together.
func (k *claimCase) level(v *runview.View, s runview.Series) {
	g, ok := k.growth(v, claims.Throughput, s, 0)
	if !ok {
		return
	}
	k.setMeasured("growth", g.String(), "throughput of %s goes to %s", s.Workload, g)
	switch {
	case g.TooFew:
		k.judgement = tooFew(g.Effect)
	case g.High < threshold.Growth:
		k.judgement = confirmed("no growth", "%d containers together do less than %s more than %d", g.to,
			units.Percent(threshold.Growth-1), g.from)
	case g.Low > threshold.Growth:
		k.judgement = contradicted("grows", "%d containers together do clearly more than %d", g.to, g.from)
	default:
		k.judgement = notTestable("growth unclear", "the data does not decide whether %d containers together do more than %d; repeat "+
			"more often, or measure longer", g.to, g.from)
	}
}

// rises judges whether more instances do more together, up to the most.
func (k *claimCase) rises(v *runview.View, s runview.Series) {
	g, ok := k.growth(v, claims.Throughput, s, 0)
	if !ok {
		return
	}
	k.setMeasured("growth", g.String(), "throughput of %s goes to %s", s.Workload, g)
	f := loadline.CurveOf(v, s)
	switch {
	case g.TooFew:
		k.judgement = tooFew(g.Effect)
	case f.Valley != nil:
		k.judgement = contradicted("falls behind", "it falls behind its best, from %d to %d containers", f.Valley.From, f.Valley.To)
	case g.Low > threshold.Growth && f.Best == g.to:
		k.judgement = confirmed("still rises", "%d containers together do most, clearly more than %d", g.to, g.from)
	case g.High < threshold.Growth:
		k.judgement = contradicted("no rise", "%d containers together do less than %s more than %d", g.to,
			units.Percent(threshold.Growth-1), g.from)
	default:
		k.judgement = notTestable("rise unclear", "the data does not decide whether throughput rises up to %d containers; repeat more "+
			"often, or measure longer", g.to)
	}
}

// moves judges whether the best number of instances is larger on a larger host: one with more memory, or with more
// drives. The claim holds if, on the smaller host, the larger host's best number does less than the smaller host's.
func moves(v *runview.View, t *claims.Test) (out []claimCase) {
	scalings := v.Scalings()
	for _, larger := range scalings {
		for _, smaller := range scalings {
			resource := moreOf(v, larger, smaller)
			_, instead, ok := inRole(v, t, larger.Workload)
			if resource == "" || !ok {
				continue
			}
			k := claimCase{stacks: []string{larger.Stack.Name}, workload: larger.Workload, about: "more " + resource,
				instead:  instead,
				evidence: append(slices.Clone(larger.Cells()), smaller.Cells()...)}
			k.moved(v, larger, smaller, resource)
			out = append(out, k)
		}
	}
	return out
}

// moreOf returns the one resource, memory or drives, that a scaling has more of than another; "" if the two differ in
// nothing, or in something else too.
func moreOf(v *runview.View, larger, smaller runview.Series) string {
	a, b := v.MixOf(larger), v.MixOf(smaller)
	largerTenant, smallerTenant := a.Tenants[0], b.Tenants[0]
	if larger.Workload != smaller.Workload || a.Host == nil || b.Host == nil ||
		policyOf(largerTenant) != runview.NoPolicy ||
		policyOf(smallerTenant) != runview.NoPolicy || !slices.Equal(larger.Counts(), smaller.Counts()) {
		return ""
	}
	x, y := *a.Host, *b.Host
	memory := x.MemoryBytes > y.MemoryBytes
	x.MemoryBytes = y.MemoryBytes
	switch {
	case x != y:
	case memory && slices.Equal(largerTenant.On, smallerTenant.On):
		return "memory"
	case sameHost(a, b) && len(largerTenant.On) > len(smallerTenant.On) && len(smallerTenant.On) > 0:
		return "drives"
	}
	return ""
}

// moved judges two scalings, the larger with more of a resource.
func (k *claimCase) moved(v *runview.View, larger, smaller runview.Series, resource string) {
	a, b := loadline.CurveOf(v, larger), loadline.CurveOf(v, smaller)
	text := fmt.Sprintf("most is done with %d containers with more %s, and with %d with less", a.Best, resource, b.Best)
	k.setMeasured("moved", text, "of %s, %s", larger.Workload, text)
	cellOf := func(n int) *runview.Cell { return smaller.Cells()[slices.Index(smaller.Counts(), n)] }
	low, high := min(a.Best, b.Best), max(a.Best, b.Best)
	if low == high {
		k.judgement = notTestable("same best", "most is done with %d containers either way: measure more numbers, or more that differ in %s",
			low, resource)
		return
	}
	e, ok := v.Effect(string(claims.Throughput), "", "", cellOf(high).Rates, cellOf(low).Rates)
	if !k.setEffect(e, ok) {
		return
	}
	switch {
	case e.TooFew:
		k.judgement = tooFew(e)
	case a.Best > b.Best && e.Differs && e.Ratio < 1:
		k.judgement = confirmed("best moves", "with less, %d containers do less than %d (%s)", high, low, units.PValue(e.P))
	case a.Best < b.Best && e.Differs && e.Ratio > 1:
		k.judgement = contradicted("best moves back", "with less, %d containers do more than %d (%s)", high, low, units.PValue(e.P))
	default:
		k.judgement = undecided("best unclear", "with less, %d and %d containers do not differ significantly (%s)", low, high,
			units.PValue(e.P))
	}
}

// nounOf is what a curve is over: containers, or the levels of a factor, as users.
func nounOf(t *claims.Test) string {
	if len(t.Factor) > 0 {
		return strings.TrimSuffix(t.Factor[0], "s")
	}
	return "container"
}
