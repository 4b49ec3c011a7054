package published

import (
	"slices"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// scaled is mixes that differ in the number of their instances alone, and what of them
// stands in for the paper's.
type scaled struct {
	measured.Scaling
	instead *Instead
}

// scalings are the mixes that a claim over the number of instances is about. Where some
// ask what the paper's did, those that ask something else are left out.
func scalings(v *measured.View, t *claims.Test) []scaled {
	var all []scaled
	for _, s := range v.Scalings() {
		tenant := tenantOf(v, s.Cells[0].Workload.Name)
		policy := t.Policy
		if policy == "" {
			policy = noPolicy
		}
		_, instead, ok := inRole(v, t, s.Workload, t.Roles...)
		if ok && policyOf(tenant) == policy && onStacks(v, t, s.Stack.Name, tenant) {
			all = append(all, scaled{s, instead})
		}
	}
	other := func(s scaled) bool { return s.instead != nil && s.instead.Asked != "" }
	if slices.ContainsFunc(all, func(s scaled) bool { return !other(s) }) {
		all = slices.DeleteFunc(all, other)
	}
	return all
}

// tenantOf is the only tenant of a mix.
func tenantOf(v *measured.View, mix string) result.Tenant {
	at := slices.IndexFunc(v.Run.Mixes, func(m result.Mix) bool { return m.Name == mix })
	return v.Run.Mixes[at].Tenants[0]
}

func (s scaled) claimCase() claimCase {
	return claimCase{stacks: []string{s.Stack.Name}, workload: s.Workload, evidence: s.Cells, instead: s.instead}
}

// instances tests what a metric does over the number of instances. Where it turns is a
// matter of the host, so the published number is not held against the one here.
func instances(v *measured.View, c claims.Claim) (out []claimCase) {
	for _, s := range scalings(v, c.Test) {
		k := s.claimCase()
		switch c.Test.Shape {
		case claims.Peaks:
			peaks(v, s, &k)
		case claims.Saturates:
			saturates(v, s, &k)
		case claims.Level:
			level(v, s, &k)
		}
		out = append(out, k)
	}
	return out
}

// noCurve says why nothing can be told of a curve: the first of its levels that is too
// poor for that stands for all.
func noCurve(why string) judgement {
	first, _, _ := strings.Cut(why, "\n")
	return notTestable("no curve", first)
}

// Peak is where the instances of a workload together do most.
type Peak struct {
	Workload string           `json:"workload"`
	First    int              `json:"first"` // fewest instances that were measured
	Most     int              `json:"most"`
	Best     int              `json:"best"`
	Rise     *fact.Effect     `json:"rise,omitempty"` // at Best, against First; nil where these are the same
	Valley   *loadline.Valley `json:"valley,omitempty"`
	Plateau  *loadline.Span   `json:"plateau,omitempty"` // where it stays level up to Most
}

// peaks judges whether throughput rises with the number of instances and falls behind its
// best. More instances than the run has may do either.
func peaks(v *measured.View, s scaled, k *claimCase) {
	f := loadline.CurveOf(v, s.Scaling)
	last := len(s.Counts) - 1
	p := Peak{Workload: s.Workload, First: s.Counts[0], Most: s.Counts[last], Best: f.Best, Valley: f.Valley}
	if f.Open != "" {
		k.judgement = noCurve(f.Open)
		return
	}
	if f.Valley == nil && f.Rate != nil && f.Rate.Plateau != nil && f.Rate.Plateau.To == p.Most {
		p.Plateau, p.Best = f.Rate.Plateau, f.Rate.Plateau.From
	}
	at := slices.Index(s.Counts, p.Best)
	if at > 0 {
		e, _ := v.Effect(string(claims.Throughput), "", "", s.Cells[at].Rates, s.Cells[0].Rates)
		p.Rise = &e
	}
	k.measured = fact.Remark{Case: "peak", Facts: p}
	rises := p.Rise != nil && p.Rise.Differs && p.Rise.Ratio > 1
	switch {
	case p.Valley != nil && rises:
		k.judgement = judge(fact.ClaimConfirmed, "peak found", p)
	case p.Valley != nil && p.Rise == nil:
		k.judgement = judge(fact.ClaimContradicted, "falls at once", p)
	case p.Valley != nil:
		k.judgement = notTestable("rise unclear", p)
	case p.Plateau != nil && p.Plateau.To >= longEnough*p.Plateau.From:
		k.judgement = judge(fact.ClaimContradicted, "stays level", p)
	default:
		k.judgement = notTestable("no peak yet", p)
	}
}

// longEnough is how many times as many instances as at its beginning a plateau has at
// its end for it to be seen that nothing falls: the paper's falls before that.
const longEnough = 2

// saturates judges whether what the disk moves rises with the number of instances, and is
// level then. Numbers at which it moved nothing in some trial are before the rise.
func saturates(v *measured.View, s scaled, k *claimCase) {
	var levels []stats.Level // behind the last number at which it moved nothing
	for i, c := range s.Cells {
		values := c.DeviceBandwidth().Means()
		if len(values) == 0 {
			k.judgement = notTestable("no counters", s.Stack.Name)
			return
		}
		if slices.Min(values) > 0 {
			levels = append(levels, stats.Level{X: float64(s.Counts[i]), Values: values})
		} else {
			levels = nil
		}
	}
	if idle := len(s.Cells) - len(levels); idle > 0 && len(levels) < stats.MinLevels {
		lastTwo(v, s, k, idle)
		return
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = noCurve(err.Error())
		return
	}
	told := sweep{unit: 1, unitName: "containers"}.curve(s.Stack.Name, curve)
	k.measured = fact.Remark{Case: "disk bandwidth", Facts: told}
	k.judgement = judgeSaturation(curve, told, len(levels) < len(s.Cells))
}

// lastTwo judges a disk that moved nothing in some trial up to so many numbers of instances,
// and has too few behind them for a curve: whether the last two differ.
func lastTwo(v *measured.View, s scaled, k *claimCase, idle int) {
	last := len(s.Cells) - 1
	if idle >= last {
		k.judgement = notTestable("idle disk", s.Counts[idle-1])
		return
	}
	from := scaled{measured.Scaling{
		Stack: s.Stack, Workload: s.Workload, Counts: s.Counts[last-1:], Cells: s.Cells[last-1:],
	}, s.instead}
	g, ok := from.grown(v, k, string(claims.DeviceBandwidth), (*measured.Cell).DeviceBandwidth)
	if !ok {
		return
	}
	g.Idle = s.Counts[idle-1]
	k.measured = fact.Remark{Case: "disk growth", Facts: g}
	switch e := g.Effect; {
	case e.TooFew:
		k.judgement = notTestable("few", e)
	case e.High < flat:
		k.judgement = judge(fact.ClaimConfirmed, "disk full", g)
	default:
		k.judgement = notTestable("not full yet", g)
	}
}

func judgeSaturation(curve stats.Curve, told Curve, risen bool) judgement {
	for _, p := range told.Parts {
		risen = risen || p.Does == "rises" || p.Does == "jump"
	}
	last := curve.Segments[len(curve.Segments)-1]
	switch {
	case last.Shape == stats.Unclear:
		return notTestable("unclear disk", told)
	case last.From == last.To, last.Shape == stats.Rises:
		return notTestable("not full yet", told)
	case last.Shape == stats.Plateau && risen:
		return judge(fact.ClaimConfirmed, "disk full", told)
	}
	return judge(fact.ClaimContradicted, "no saturation", told)
}

// Grown is what the most instances of a workload do, against the fewest.
type Grown struct {
	Workload string      `json:"workload"`
	From     int         `json:"from"`
	To       int         `json:"to"`
	Idle     int         `json:"idle,omitempty"` // up to so many, the disk moved nothing in some trial
	Effect   fact.Effect `json:"effect"`
}

// grown compares the most instances with the fewest. ok is false, and the case judged,
// where there is no ratio.
func (s scaled) grown(
	v *measured.View, k *claimCase, metric string, of func(*measured.Cell) samples.Sample,
) (g Grown, ok bool) {
	last := len(s.Cells) - 1
	g = Grown{Workload: s.Workload, From: s.Counts[0], To: s.Counts[last]}
	first, most := of(s.Cells[0]), of(s.Cells[last])
	if len(first) == 0 || len(most) == 0 {
		k.judgement = notTestable("no latencies", nil)
		return g, false
	}
	g.Effect, ok = v.Effect(metric, s.Cells[last].Workload.Name, s.Cells[0].Workload.Name, most, first)
	if !ok {
		k.judgement = notTestable("no ratio", g.Effect)
		return g, false
	}
	k.effect = &g.Effect
	return g, true
}

// flat is by how much more all instances may do together for that to be no rise.
const flat = 1.2

// level judges whether more instances do no more together.
func level(v *measured.View, s scaled, k *claimCase) {
	g, ok := s.grown(v, k, string(claims.Throughput), func(c *measured.Cell) samples.Sample { return c.Rates })
	if !ok {
		return
	}
	k.measured = fact.Remark{Case: "growth", Facts: g}
	switch e := g.Effect; {
	case e.TooFew:
		k.judgement = notTestable("few", e)
	case e.High < flat:
		k.judgement = judge(fact.ClaimConfirmed, "no growth", g)
	case e.Low > flat:
		k.judgement = judge(fact.ClaimContradicted, "grows", g)
	default:
		k.judgement = notTestable("growth unclear", g)
	}
}

// tail tests whether the 99th percentile of latency grows more over the number of
// instances than its mean.
func tail(v *measured.View, c claims.Claim) (out []claimCase) {
	for _, s := range scalings(v, c.Test) {
		k := s.claimCase()
		g, ok := s.grown(v, &k, "p99 over mean latency", (*measured.Cell).TailOverMean)
		if ok {
			k.measured = fact.Remark{Case: "tail growth", Facts: g}
			k.judgement = k.judgeRatio(c, g.Effect)
		}
		out = append(out, k)
	}
	return out
}
