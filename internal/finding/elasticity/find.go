package elasticity

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Find returns what more and less of each limit of the scaled-down host does to throughput and p99, where the
// run tried that, whether what was used says the same, and what a model of the run predicts.
func Find(v *runview.View) []fact.Finding { return find(v, true) }

// Measured returns the findings of Find without predictions: a model takes longer than everything else about a run.
func Measured(v *runview.View) []fact.Finding { return find(v, false) }

func find(v *runview.View, predicts bool) (out []fact.Finding) {
	for _, varied := range v.Variations() {
		facts := &Facts{sharedElasticity(v, varied)}
		if predicts {
			facts.Elasticity.Doubled = doubled(v, varied)
		}
		e := facts.Elasticity
		out = append(out, fact.Finding{
			ID: "elasticity/" + e.Stack + "/" + e.Mix, Case: "elasticity", Kind: fact.KindScaling, Workload: e.Mix,
			Facts: facts, Title: facts.title(), Why: facts.why(), Section: facts.section(),
			Stacks: varied.Of.Stack.Names(), Evidence: runview.Points(varied.Of), Caveats: runview.MarksOf(varied.Of),
		})
	}
	return out
}

// Moves says for a verdict on some numbers of instances, which carries as many as line, what moves throughput at one of
// them; "" where that is not known, or nothing does.
func Moves(v *runview.View, cells []*runview.Cell, line int) string {
	for _, varied := range v.Variations() {
		if !slices.Contains(cells, varied.Of) {
			continue
		}
		facts := &Facts{sharedElasticity(v, varied)}
		if len(facts.count()) > 0 {
			return facts.moves(line)
		}
	}
	return ""
}

// MayCount are the limits of the scaled-down host of which it is not ruled out that throughput depends on them.
func MayCount(v *runview.View) (resources []fact.Resource) {
	for _, of := range v.Variations() {
		e := sharedElasticity(v, of)
		resources = slices.Concat(resources, e.Helps, e.Needed, e.Undecided)
	}
	return resources
}

// limitsVaried are the limits of a scaled-down host that a run varies, by the names that files
// have for them, and what each is a limit on.
var limitsVaried = []struct {
	key      string
	resource fact.Resource
}{
	{"cpus", fact.Processors}, {"memory", fact.Memory}, {"read-iops", fact.Reads}, {"write-iops", fact.Writes},
	{"read-bandwidth", fact.ReadBytes}, {"write-bandwidth", fact.WriteBytes},
}

// sharedElasticity is elasticityOf, worked out once for all questions.
func sharedElasticity(v *runview.View, varied *runview.Varied) Elasticity {
	key := "elasticity\x00" + varied.Of.Stack.Name + "\x00" + varied.Of.Workload.Name
	return runview.Once(v, key, func() Elasticity { return elasticityOf(v, varied) })
}

// elasticityOf returns what each limit is worth, by what was measured.
func elasticityOf(v *runview.View, varied *runview.Varied) Elasticity {
	e := Elasticity{
		Stack: varied.Of.Stack.Name, Mix: varied.Of.Workload.Name, Host: runview.HostText(varied.Host),
		Instances: varied.Count, Rate: varied.Of.Point.Median,
		Helps: []fact.Resource{}, Needed: []fact.Resource{},
	}
	e.P99NS = varied.Of.Sample(runview.P99).Median()
	for _, limit := range limitsVaried {
		if w, ok := worthOf(v, varied, limit.key); ok {
			w.Resource = limit.resource
			e.Limits = append(e.Limits, w)
		}
	}
	adjustChanges(v, e.Limits)
	e.Workload = e.Mix
	s, i := scalingOf(v, varied)
	if i >= 0 {
		e.Workload, e.Used = s.Workload, v.Points(s)[i].Binds
	}
	conclude(&e)
	return e
}

// scalingOf returns the scaling that a varied mix is one number of instances of, and which; -1 for a mix in none.
func scalingOf(v *runview.View, varied *runview.Varied) (s runview.Series, index int) {
	for _, s := range v.Scalings() {
		i := slices.Index(s.Cells(), varied.Of)
		if i >= 0 {
			return s, i
		}
	}
	return runview.Series{}, -1
}

// worthOf compares what was measured with more and with less of a limit with what was
// measured with the limit as it is.
func worthOf(v *runview.View, varied *runview.Varied, limit string) (w Worth, ok bool) {
	w.Limit = limit
	var lower, higher *runview.VariedCell
	for i, c := range varied.Cells {
		if c.Limit != limit {
			continue
		}
		change := changeOf(v, varied.Of, c)
		if c.Factor < 1 {
			w.Less, lower = change, &varied.Cells[i]
		} else {
			w.More, higher = change, &varied.Cells[i]
		}
	}
	for _, f := range varied.Failed {
		if f.Limit == limit {
			w.Failed = append(w.Failed, f.Factor)
		}
	}
	if lower == nil && higher == nil {
		return w, len(w.Failed) > 0
	}
	whole := &runview.VariedCell{Variation: result.Variation{Factor: 1}, Cell: varied.Of}
	w.Rate = powerOf(v, cmp.Or(higher, whole), cmp.Or(lower, whole), runview.Rate)
	w.P99 = powerOf(v, cmp.Or(higher, whole), cmp.Or(lower, whole), runview.P99)
	return w, true
}

func changeOf(v *runview.View, of *runview.Cell, c runview.VariedCell) *LimitChange {
	s := v.Summary(c.Cell, of)
	return &LimitChange{Factor: c.Factor, Mix: s.Mix, Rate: *s.Throughput, P99: s.P99}
}

// powerOf is the elasticity between two settings of a limit; nil where it is not known.
func powerOf(v *runview.View, higher, lower *runview.VariedCell, m runview.Metric) *Power {
	e, ok := runview.Compare(higher.Sample(m), lower.Sample(m), v.Run.Seed, v.RunSpread())
	span := math.Log(higher.Factor / lower.Factor)
	if !ok || !e.Decidable() || math.IsNaN(e.Low) || !(span > 0) || !(e.Low > 0) || !runview.Finite(e.High) {
		return nil
	}
	return &Power{Value: math.Log(e.Ratio) / span, Low: math.Log(e.Low) / span, High: math.Log(e.High) / span}
}

// adjustChanges corrects the p values of all comparisons for how many there are.
func adjustChanges(v *runview.View, limits []Worth) {
	var effects []*fact.Effect
	for i := range limits {
		for _, c := range []*LimitChange{limits[i].Less, limits[i].More} {
			if c == nil {
				continue
			}
			effects = append(effects, &c.Rate, c.P99)
		}
	}
	v.AdjustTogether(effects)
}

// undecided reports whether a change that is not significant may be large all the same.
func undecided(c *LimitChange) bool { return c != nil && !c.Rate.Differs && runview.MayBeLarge(c.Rate) }

// conclude names the limits that count, and whether both sides agree.
func conclude(e *Elasticity) {
	type counted struct {
		resource fact.Resource
		size     float64
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
	bySize := func(a, b counted) int { return cmp.Compare(b.size, a.size) }
	slices.SortStableFunc(helps, bySize)
	slices.SortStableFunc(needed, bySize)
	for _, c := range helps {
		e.Helps = append(e.Helps, c.resource)
	}
	for _, c := range needed {
		e.Needed = append(e.Needed, c.resource)
	}
	e.Agrees = !e.Open && len(e.Undecided) == 0 && (e.Used == "" && len(e.Helps) == 0 || slices.Contains(e.Helps, e.Used))
}
