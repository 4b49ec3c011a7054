package published

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

const (
	// flat is by how much more all instances may do together for that to be no rise.
	flat = 1.2
	// longEnough is how many times as many instances as at its beginning a plateau has at
	// its end for it to be seen that nothing falls: the paper's falls before that.
	longEnough = 2
	// outgrown is the share of what one container has in the page cache that each of many
	// has at least where all fit.
	outgrown = 0.9
)

// scalings begins a case for each mixes that differ in the number of their instances alone, where a
// claim over that is about them. Where some ask what the paper's did, those that ask something else
// are left out.
func scalings(v *measured.View, t *claims.Test, test func(*claimCase, measured.Scaling)) (out []claimCase) {
	of := v.Scalings()
	if len(t.Factor) > 0 {
		of = v.Over(t.Factor[0])
	}
	for _, s := range of {
		tenant := v.MixOf(s).Tenants[0]
		_, instead, ok := inRole(v, t, s.Workload)
		if !ok || !onStacks(v, t, s.Stack.Name, tenant) {
			continue
		}
		if t.Shape == claims.Valley && !throughCache(v, s.Workload) {
			continue
		}
		if t.Shape != claims.Valley && policyOf(tenant) != cmp.Or(t.Policy, measured.NoPolicy) {
			continue
		}
		k := claimCase{stacks: []string{s.Stack.Name}, workload: s.Workload, evidence: s.Cells, instead: instead}
		test(&k, s)
		out = append(out, k)
	}
	other := func(k claimCase) bool { return k.instead != nil && k.instead.Asked != "" }
	if slices.ContainsFunc(out, func(k claimCase) bool { return !other(k) }) {
		out = slices.DeleteFunc(out, other)
	}
	return out
}

// throughCache reports whether a workload goes through the page cache, as databases may.
func throughCache(v *measured.View, workload string) bool {
	at := slices.IndexFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Name == workload })
	_, database := v.Asked(workload)
	return at >= 0 && (database || measured.Buffered(v.Run.Workloads[at]))
}

// ofCounts tests what the most instances do against the fewest.
func ofCounts(v *measured.View, c claims.Claim) []claimCase {
	return scalings(v, c.Test, func(k *claimCase, s measured.Scaling) {
		if g, ok := k.grown(v, c.Test.Metric, s, 0); ok {
			k.tell("tail growth", g, g.String(), "p99 of %s, as a multiple of the mean, goes to %s", g.Workload, g)
			k.judgement = k.hold(c, g.Effect)
		}
	})
}

// grown compares the most instances with those of some number, by its index. ok is false, and the case judged,
// where there is no ratio.
func (k *claimCase) grown(v *measured.View, m claims.Metric, s measured.Scaling, from int) (g Grown, ok bool) {
	last := len(s.Cells) - 1
	a, b := s.Cells[last], s.Cells[from]
	g = Grown{Workload: s.Workload, From: s.Counts[from], To: s.Counts[last]}
	g.Effect, ok = k.compare(v, m, a.Workload.Name, b.Workload.Name, sampleOf(m, a), sampleOf(m, b))
	return g, ok
}

// shapes tests what throughput, or what the disk moves, does over the number of instances. Where it turns is a
// matter of the host, so the published number is not held against the one here.
func shapes(v *measured.View, c claims.Claim) []claimCase {
	if c.Test.Shape == claims.Moves {
		return moves(v, c.Test)
	}
	return scalings(v, c.Test, func(k *claimCase, s measured.Scaling) {
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
func (k *claimCase) peaks(v *measured.View, s measured.Scaling, noun string) {
	f := loadline.CurveOf(v, s)
	p := Peak{Noun: noun, Workload: s.Workload, First: s.Counts[0], Most: s.Counts[len(s.Counts)-1], Best: f.Best, Valley: f.Valley}
	if f.Open != "" {
		k.judgement = openCurve(f.Open)
		return
	}
	if f.Valley == nil && f.Rate != nil && f.Rate.Plateau != nil && f.Rate.Plateau.To == p.Most {
		p.Plateau, p.Best = f.Rate.Plateau, f.Rate.Plateau.From
	}
	rises := false
	if at := slices.Index(s.Counts, p.Best); at > 0 {
		e, _ := v.Effect(string(claims.Throughput), "", "", s.Cells[at].Rates, s.Cells[0].Rates)
		p.Rise, rises = &e, e.Differs && e.Ratio > 1
	}
	k.tell("peak", p, p.String(), "throughput of %s %s", p.Workload, p)
	switch {
	case p.Valley != nil && rises:
		k.judgement = confirmed("peak found", p, "it rises (%s), and falls behind its best (%s); at how many %ss that is "+
			"depends on the host", prose.PValue(p.Rise.P), prose.PValue(p.Valley.P), noun)
	case p.Valley != nil && p.Rise == nil:
		k.judgement = contradicted("falls at once", p, "it never rises: more %ss than %d already cost throughput", noun, p.First)
	case p.Valley != nil:
		k.judgement = notTestable("rise unclear", p, "it falls (%s), but the data does not decide whether it rises before: repeat more "+
			"often, or begin with fewer %ss", prose.PValue(p.Valley.P), noun)
	case p.Plateau != nil && p.Plateau.To >= longEnough*p.Plateau.From:
		k.judgement = contradicted("stays level", p, "it is level with %d %ss and still with %d: nothing falls", p.Plateau.From,
			noun, p.Plateau.To)
	default:
		k.judgement = notTestable("no peak yet", p, "nothing falls up to %d %ss: add more of them, or give the miniature less "+
			"memory", p.Most, noun)
	}
}

// valley judges whether throughput falls once there are so many instances that their files outgrow the memory.
func (k *claimCase) valley(f loadline.Curve, workload string) {
	first, last := f.Points[0], f.Points[len(f.Points)-1]
	told := Instances{Workload: workload, Most: last.Instances, Valley: f.Valley}
	k.tell("instances", told, told.String(), "throughput of %s %s", workload, told)
	switch {
	case f.Open != "":
		k.judgement = openCurve(f.Open)
		unclear := fmt.Sprintf("unclear, up to %d containers", told.Most)
		k.tell("open curve", told, unclear, "where throughput of %s changes is %s", workload, unclear)
	case f.Valley != nil && f.Valley.Cause == loadline.CauseMemory:
		k.judgement = confirmed("outgrown memory", told, "it falls where the files outgrow the memory, which device reads and the page "+
			"cache of each show (%s); at how many containers that is depends on both", prose.PValue(f.Valley.P))
	case f.Valley != nil:
		k.judgement = notTestable("other valley", nil, "it falls, and nothing that was sampled shows that memory is the reason")
	case last.CacheBytes >= outgrown*first.CacheBytes:
		k.judgement = notTestable("all fit", told, "the page cache held the files of all %d containers: add more, or give the miniature "+
			"less memory", told.Most)
	default:
		k.judgement = contradicted("no valley", nil, "the files outgrew the memory, and all together did no less")
	}
}

// saturates judges whether a metric, as what the disk moves, rises with the number of instances, and is
// level then. Numbers at which it was nothing in some trial are before the rise.
func (k *claimCase) saturates(v *measured.View, s measured.Scaling, m claims.Metric) {
	var levels []stats.Level // behind the last number at which it moved nothing
	for i, c := range s.Cells {
		values := sampleOf(m, c).Means()
		if len(values) == 0 {
			k.judgement = notTestable("no counters", s.Stack.Name, "no trial tells what the devices of %s moved", s.Stack.Name)
			return
		}
		levels = append(levels, stats.Level{X: float64(s.Counts[i]), Values: values})
		if slices.Min(values) <= 0 {
			levels = nil
		}
	}
	idle := len(s.Cells) - len(levels)
	if idle > 0 && len(levels) < stats.MinLevels {
		k.lastTwo(v, s, idle)
		return
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = openCurve(err.Error())
		return
	}
	told := curveOf(s.Stack.Name, curve, "containers", 1)
	k.tell(string(m), told, told.String(), "%s of %s %s", m, told.Stack, told)
	risen := idle > 0 || slices.ContainsFunc(told.Parts, func(p Shape) bool { return p.Does == "rises" || p.Does == "jump" })
	last := curve.Segments[len(curve.Segments)-1]
	switch {
	case last.Shape == stats.Unclear:
		k.judgement = notTestable("unclear disk", told, "the data does not decide: noise, or too few numbers of containers, hide what it "+
			"does at the end; repeat more often, or add numbers")
	case last.From == last.To, last.Shape == stats.Rises:
		k.judgement = notFull(told)
	case last.Shape == stats.Plateau && risen && m != claims.DeviceBandwidth:
		k.judgement = confirmed("level", told, "it rises, and is level then: there is no more to be had")
	case last.Shape == stats.Plateau && risen:
		k.judgement = full(told)
	default:
		k.judgement = contradicted("no saturation", told, "it does not rise and level off")
	}
}

func full(facts any) judgement {
	return confirmed("disk full", facts, "it rises, and is level then: the disk gives no more")
}

func notFull(facts any) judgement {
	return notTestable("not full yet", facts, "it rises up to the most containers that were measured: add more of them")
}

// lastTwo judges a disk that moved nothing in some trial up to so many numbers of instances,
// and has too few behind them for a curve: whether the last two differ.
func (k *claimCase) lastTwo(v *measured.View, s measured.Scaling, idle int) {
	if idle >= len(s.Cells)-1 {
		k.judgement = notTestable("idle disk", s.Counts[idle-1], "the disk moved next to nothing up to %d containers: add more of them",
			s.Counts[idle-1])
		return
	}
	g, ok := k.grown(v, claims.DeviceBandwidth, s, len(s.Cells)-2)
	if !ok {
		return
	}
	g.Idle = s.Counts[idle-1]
	says := fmt.Sprintf("next to none up to %d containers, %s from %d to %d", g.Idle, prose.ShortRatio(g.Effect), g.From, g.To)
	k.tell("disk growth", g, says, "disk bandwidth of %s is %s", g.Workload, says)
	switch e := g.Effect; {
	case e.TooFew:
		k.judgement = tooFew(e)
	case e.High < flat:
		k.judgement = full(g)
	default:
		k.judgement = notFull(g)
	}
}

// level judges whether more instances do no more together.
func (k *claimCase) level(v *measured.View, s measured.Scaling) {
	g, ok := k.grown(v, claims.Throughput, s, 0)
	if !ok {
		return
	}
	k.tell("growth", g, g.String(), "throughput of %s goes to %s", g.Workload, g)
	switch e := g.Effect; {
	case e.TooFew:
		k.judgement = tooFew(e)
	case e.High < flat:
		k.judgement = confirmed("no growth", g, "%d containers together do hardly more than %d", g.To, g.From)
	case e.Low > flat:
		k.judgement = contradicted("grows", g, "%d containers together do clearly more than %d", g.To, g.From)
	default:
		k.judgement = notTestable("growth unclear", g, "the data does not decide whether %d containers together do more than %d; repeat "+
			"more often, or measure longer", g.To, g.From)
	}
}

// rises judges whether more instances do more together, up to the most.
func (k *claimCase) rises(v *measured.View, s measured.Scaling) {
	g, ok := k.grown(v, claims.Throughput, s, 0)
	if !ok {
		return
	}
	k.tell("growth", g, g.String(), "throughput of %s goes to %s", g.Workload, g)
	f := loadline.CurveOf(v, s)
	switch e := g.Effect; {
	case e.TooFew:
		k.judgement = tooFew(e)
	case f.Valley != nil:
		k.judgement = contradicted("falls behind", f.Valley, "it falls behind its best, from %d to %d containers", f.Valley.From, f.Valley.To)
	case e.Low > flat && f.Best == g.To:
		k.judgement = confirmed("still rises", g, "%d containers together do most, clearly more than %d", g.To, g.From)
	case e.High < flat:
		k.judgement = contradicted("no rise", g, "%d containers together do hardly more than %d", g.To, g.From)
	default:
		k.judgement = notTestable("rise unclear", g, "the data does not decide whether throughput rises up to %d containers; repeat more "+
			"often, or measure longer", g.To)
	}
}

// moves judges whether the best number of instances is larger where there is more of the host: of memory, or of
// drives. Of two scalings that differ in one of these, the instances at the larger one's best do less than at the
// other one's best where there is less.
func moves(v *measured.View, t *claims.Test) (out []claimCase) {
	all := v.Scalings()
	for _, more := range all {
		for _, less := range all {
			what := moreOf(v, more, less)
			_, instead, ok := inRole(v, t, more.Workload)
			if what == "" || !ok {
				continue
			}
			k := claimCase{stacks: []string{more.Stack.Name}, workload: more.Workload, about: "more " + what, instead: instead,
				evidence: append(slices.Clone(more.Cells), less.Cells...)}
			k.moved(v, more, less, what)
			out = append(out, k)
		}
	}
	return out
}

// moreOf returns what one scaling has more of than another that is alike else: memory, or drives; "" for nothing, or
// for more than that.
func moreOf(v *measured.View, more, less measured.Scaling) string {
	a, b := v.MixOf(more), v.MixOf(less)
	of, than := a.Tenants[0], b.Tenants[0]
	if more.Workload != less.Workload || a.Host == nil || b.Host == nil || policyOf(of) != measured.NoPolicy ||
		policyOf(than) != measured.NoPolicy || !slices.Equal(more.Counts, less.Counts) {
		return ""
	}
	x, y := *a.Host, *b.Host
	memory := x.MemoryBytes > y.MemoryBytes
	x.MemoryBytes = y.MemoryBytes
	switch {
	case x != y:
	case memory && slices.Equal(of.On, than.On):
		return "memory"
	case sameHost(a, b) && len(of.On) > len(than.On) && len(than.On) > 0:
		return "drives"
	}
	return ""
}

// moved judges two scalings, of which one has more of something.
func (k *claimCase) moved(v *measured.View, more, less measured.Scaling, what string) {
	a, b := loadline.CurveOf(v, more), loadline.CurveOf(v, less)
	m := Moved{Workload: more.Workload, Of: what, Best: a.Best, Less: b.Best}
	k.tell("moved", m, m.String(), "of %s, %s", m.Workload, m)
	at := func(n int) *measured.Cell { return less.Cells[slices.Index(less.Counts, n)] }
	low, high := min(m.Best, m.Less), max(m.Best, m.Less)
	if low == high {
		k.judgement = notTestable("same best", m, "most is done with %d containers either way: measure more numbers, or more that differ in %s",
			low, what)
		return
	}
	e, ok := v.Effect(string(claims.Throughput), "", "", at(high).Rates, at(low).Rates)
	if !k.compared(e, ok) {
		return
	}
	switch {
	case e.TooFew:
		k.judgement = tooFew(e)
	case m.Best > m.Less && e.Differs && e.Ratio < 1:
		k.judgement = confirmed("best moves", m, "with less, %d containers do less than %d (%s)", high, low, prose.PValue(e.P))
	case m.Best < m.Less && e.Differs && e.Ratio > 1:
		k.judgement = contradicted("best moves back", m, "with less, %d containers do more than %d (%s)", high, low, prose.PValue(e.P))
	default:
		k.judgement = undecided("best unclear", m, "with less, %d and %d containers do not differ significantly (%s)", low, high,
			prose.PValue(e.P))
	}
}

// nounOf is what a curve is over: containers, or the levels of a factor, as users.
func nounOf(t *claims.Test) string {
	if len(t.Factor) > 0 {
		return strings.TrimSuffix(t.Factor[0], "s")
	}
	return "container"
}
