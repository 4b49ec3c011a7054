package elasticity

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Find returns what more and less of each limit of the scaled-down host does to throughput and p99, where the
// run tried that, and whether what was used says the same.
func Find(v *runview.View) (out []fact.Finding) {
	for _, of := range v.Variations() {
		told := &Facts{elasticityOf(v, of)}
		e := told.Elasticity
		out = append(out, fact.Finding{
			ID: "elasticity/" + e.Stack + "/" + e.Mix, Case: "elasticity", Kind: fact.KindScaling, Workload: e.Mix,
			Facts: told, Title: told.title(), Why: told.why(), Section: told.section(),
			Stacks: of.Of.Stack.Names(), Evidence: runview.Points(of.Of), Caveats: runview.MarksOf(of.Of),
		})
	}
	return out
}

// Moves says for a verdict on some numbers of instances what moves throughput at one of them; "" where
// the run does not tell, or nothing does.
func Moves(v *runview.View, cells []*runview.Cell) string {
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

// MayCount are the limits of the scaled-down host of which it is not ruled out that throughput depends on them.
func MayCount(v *runview.View) (all []fact.Resource) {
	for _, of := range v.Variations() {
		e := elasticityOf(v, of)
		all = slices.Concat(all, e.Helps, e.Needed, e.Undecided)
	}
	return all
}

// limitsVaried are the limits of a scaled-down host that a run varies, by the names that files
// have for them, and what each is a limit on.
var limitsVaried = []struct {
	key string
	of  fact.Resource
}{
	{"cpus", fact.Processors}, {"memory", fact.Memory}, {"read-iops", fact.Reads}, {"write-iops", fact.Writes},
	{"read-bandwidth", fact.ReadBytes}, {"write-bandwidth", fact.WriteBytes},
}

// elasticityOf returns what each limit is worth.
func elasticityOf(v *runview.View, of *runview.Varied) Elasticity {
	e := Elasticity{
		Stack: of.Of.Stack.Name, Mix: of.Of.Workload.Name, Host: runview.HostText(of.Host), Instances: of.Count, Rate: of.Of.Point.Median,
		Helps: []fact.Resource{}, Needed: []fact.Resource{},
	}
	e.P99NS = of.Of.Sample(runview.P99).Median()
	for _, limit := range limitsVaried {
		if w, ok := worthOf(v, of, limit.key); ok {
			w.Resource = limit.of
			e.Limits = append(e.Limits, w)
		}
	}
	adjustChanges(e.Limits)
	e.Workload = e.Mix
	var objective fact.Objective
	for _, s := range v.Scalings() {
		at := slices.Index(s.Cells(), of.Of)
		if at >= 0 {
			e.Workload, e.Used, objective = s.Workload, v.Points(s)[at].Binds, v.Objective(s)
			break
		}
	}
	conclude(&e)
	e.Doubled = doubled(v, of, objective)
	return e
}

// worthOf compares what was measured with more and with less of a limit with what was
// measured with the limit as it is.
func worthOf(v *runview.View, of *runview.Varied, limit string) (w Worth, ok bool) {
	w.Limit = limit
	var less, more *runview.VariedCell
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
	whole := &runview.VariedCell{Variation: result.Variation{Factor: 1}, Cell: of.Of}
	w.Rate = powerOf(v, cmp.Or(more, whole), cmp.Or(less, whole), runview.Rate)
	w.P99 = powerOf(v, cmp.Or(more, whole), cmp.Or(less, whole), runview.P99)
	return w, true
}

func changeOf(v *runview.View, of *runview.Cell, c runview.VariedCell) *LimitChange {
	s := v.Summary(c.Cell, of)
	return &LimitChange{Factor: c.Factor, Mix: s.Mix, Rate: *s.Throughput, P99: s.P99}
}

// powerOf is the elasticity between two settings of a limit; nil where nothing can be told.
func powerOf(v *runview.View, more, less *runview.VariedCell, m runview.Metric) *Power {
	e, ok := runview.Compare(more.Sample(m), less.Sample(m), v.Run.Seed)
	span := math.Log(more.Factor / less.Factor)
	if !ok || !e.Decidable() || math.IsNaN(e.Low) || !(span > 0) || !(e.Low > 0) || !runview.Finite(e.High) {
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
			all = append(all, &c.Rate, c.P99)
		}
	}
	runview.AdjustTogether(all)
}

// undecided reports whether a change that is not significant may be large all the same.
func undecided(c *LimitChange) bool { return c != nil && !c.Rate.Differs && runview.MayBeLarge(c.Rate) }

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
			if c.Rate.Differs && c.Rate.Ratio >= 1+threshold.RateChange {
				helps = append(helps, counted{w.Resource, c.Rate.Ratio})
			}
		}
		if c := w.Less; c != nil {
			e.Open = e.Open && c.Rate.TooFew
			if c.Rate.Differs && c.Rate.Ratio <= 1-threshold.RateChange {
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
