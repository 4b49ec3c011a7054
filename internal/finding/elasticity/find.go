package elasticity

import (
	"cmp"
	"math"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// Find says what more and less of each limit of the miniature does to throughput and p99, where the
// run tried that, and whether what was used says the same.
func Find(v *measured.View) (out []fact.Finding) {
	for _, of := range v.Variations() {
		told := &Facts{elasticityOf(v, of)}
		e := told.Elasticity
		out = append(out, fact.Finding{
			ID: "elasticity/" + e.Stack + "/" + e.Mix, Case: "elasticity", Kind: fact.KindScaling, Workload: e.Mix,
			Facts: told, Title: told.title(), Why: told.why(), Section: told.section(),
			Stacks: of.Of.Stack.Names(), Evidence: measured.Points(of.Of), Caveats: measured.MarksOf(of.Of),
		})
	}
	return out
}

// Moves says for a verdict on some numbers of instances what moves throughput at one of them; "" where
// the run does not tell, or nothing does.
func Moves(v *measured.View, cells []*measured.Cell) string {
	for _, of := range v.Variations() {
		if !slices.Contains(cells, of.Of) {
			continue
		}
		told := &Facts{elasticityOf(v, of)}
		if len(told.count()) > 0 {
			return told.moves()
		}
	}
	return ""
}

// MayCount are the limits of the miniature of which it is not ruled out that throughput depends on them.
func MayCount(v *measured.View) (all []fact.Resource) {
	for _, of := range v.Variations() {
		e := elasticityOf(v, of)
		all = slices.Concat(all, e.Helps, e.Needed, e.Undecided)
	}
	return all
}

// limitsVaried are the limits of a miniature that a run varies, by the names that files
// have for them, and what each is a limit on.
var limitsVaried = []struct {
	key string
	of  fact.Resource
}{
	{"cpus", fact.Processors}, {"memory", fact.Memory}, {"read-iops", fact.Reads}, {"write-iops", fact.Writes},
	{"read-bandwidth", fact.ReadBytes}, {"write-bandwidth", fact.WriteBytes},
}

// elasticityOf returns what each limit is worth.
func elasticityOf(v *measured.View, of *measured.Varied) Elasticity {
	e := Elasticity{
		Stack: of.Of.Stack.Name, Mix: of.Of.Workload.Name, Instances: of.Count, Rate: of.Of.Point.Median,
		Helps: []fact.Resource{}, Needed: []fact.Resource{},
	}
	if of.Host != nil {
		e.Host = of.Host.String()
	}
	e.P99NS, _ = of.Of.Median(func(t *result.Trial) (float64, bool) { return samples.P99.Of(t, "") })
	for _, limit := range limitsVaried {
		if w, ok := worthOf(v, of, limit.key); ok {
			w.Resource = limit.of
			e.Limits = append(e.Limits, w)
		}
	}
	adjustChanges(e.Limits)
	e.Workload, e.Used = usedAt(v, of)
	conclude(&e)
	e.Doubled = doubled(v, of, objectiveOf(v, of))
	return e
}

// objectiveOf is what the load line of the mix is for.
func objectiveOf(v *measured.View, of *measured.Varied) (o fact.Objective) {
	for _, s := range v.Scalings() {
		if slices.Contains(s.Cells, of.Of) {
			return v.Objective(s)
		}
	}
	return o
}

// worthOf compares what was measured with more and with less of a limit with what was
// measured with the limit as it is.
func worthOf(v *measured.View, of *measured.Varied, limit string) (w Worth, ok bool) {
	w.Limit = limit
	var less, more *measured.VariedCell
	for i, c := range of.Cells {
		if c.Limit != limit {
			continue
		}
		change := changeOf(v, of.Of, c)
		if c.Factor < 1 {
			w.Less, less = change, &of.Cells[i]
		} else {
			w.More, more = change, &of.Cells[i]
		}
	}
	for _, f := range of.Failed {
		if f.Limit == limit {
			w.Failed = append(w.Failed, f.Factor)
		}
	}
	if less == nil && more == nil {
		return w, len(w.Failed) > 0
	}
	whole := &measured.VariedCell{Variation: result.Variation{Factor: 1}, Cell: of.Of}
	w.Rate = powerOf(v, cmp.Or(more, whole), cmp.Or(less, whole), samples.Rate)
	w.P99 = powerOf(v, cmp.Or(more, whole), cmp.Or(less, whole), samples.P99)
	return w, true
}

func changeOf(v *measured.View, of *measured.Cell, c measured.VariedCell) *LimitChange {
	change := &LimitChange{Factor: c.Factor, Mix: c.Workload.Name}
	change.Rate, _ = v.Effect(measured.IOPS, change.Mix, of.Workload.Name, c.Rates, of.Rates)
	p99, ok := v.Effect("p99", change.Mix, of.Workload.Name, c.Sample(samples.P99), of.Sample(samples.P99))
	if ok {
		change.P99 = &p99
	}
	return change
}

// powerOf is the elasticity between two settings of a limit; nil where nothing can be told.
func powerOf(v *measured.View, more, less *measured.VariedCell, m samples.Metric) *Power {
	e, ok := samples.Compare(more.Sample(m), less.Sample(m), v.Run.Seed)
	span := math.Log(more.Factor / less.Factor)
	if !ok || !e.Decidable() || math.IsNaN(e.Low) || !(span > 0) || !(e.Low > 0) || !measured.Finite(e.High) {
		return nil
	}
	return &Power{Value: math.Log(e.Ratio) / span, Low: math.Log(e.Low) / span, High: math.Log(e.High) / span}
}

// adjustChanges corrects the p values of all comparisons for how many there are.
func adjustChanges(limits []Worth) {
	var all []*fact.Effect
	for i := range limits {
		for _, c := range []*LimitChange{limits[i].Less, limits[i].More} {
			if c == nil {
				continue
			}
			all = append(all, &c.Rate)
			if c.P99 != nil {
				all = append(all, c.P99)
			}
		}
	}
	measured.AdjustTogether(all)
}

// usedAt is what the mix runs, and what binds at its number of instances by what was used.
func usedAt(v *measured.View, of *measured.Varied) (workload string, binds fact.Resource) {
	for _, s := range v.Scalings() {
		at := slices.Index(s.Cells, of.Of)
		if at >= 0 {
			return s.Workload, v.Points(s)[at].Binds
		}
	}
	return of.Of.Workload.Name, ""
}

// undecided reports whether a change that is not significant may be large all the same.
func undecided(c *LimitChange) bool {
	if c == nil || c.Rate.Differs {
		return false
	}
	return !c.Rate.HasInterval() || c.Rate.Low < 1-measured.MayMatter || c.Rate.High > 1+measured.MayMatter
}

// conclude names the limits that count, and whether both sides agree.
func conclude(e *Elasticity) {
	type counted struct {
		of   fact.Resource
		size float64
	}
	var helps, needed []counted
	e.Open = true
	for _, w := range e.Limits {
		if undecided(w.More) || undecided(w.Less) {
			e.Undecided = append(e.Undecided, w.Resource)
		}
		if c := w.More; c != nil {
			e.Open = e.Open && c.Rate.TooFew
			if c.Rate.Differs && c.Rate.Ratio >= 1+measured.WorthTelling {
				helps = append(helps, counted{w.Resource, c.Rate.Ratio})
			}
		}
		if c := w.Less; c != nil {
			e.Open = e.Open && c.Rate.TooFew
			if c.Rate.Differs && c.Rate.Ratio <= 1-measured.WorthTelling {
				needed = append(needed, counted{w.Resource, 1 / c.Rate.Ratio})
			}
		}
	}
	most := func(a, b counted) int { return cmp.Compare(b.size, a.size) }
	slices.SortStableFunc(helps, most)
	slices.SortStableFunc(needed, most)
	for _, c := range helps {
		e.Helps = append(e.Helps, c.of)
	}
	for _, c := range needed {
		e.Needed = append(e.Needed, c.of)
	}
	e.Agrees = !e.Open && len(e.Undecided) == 0 && (e.Used == "" && len(e.Helps) == 0 || slices.Contains(e.Helps, e.Used))
}
