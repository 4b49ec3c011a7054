package measured

import (
	"cmp"
	"math"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
)

// limitsVaried are the limits of a miniature that a run varies, by the names that files
// have for them, and what each is a limit on.
var limitsVaried = []struct {
	key string
	of  fact.Resource
}{
	{"cpus", fact.Processors}, {"memory", fact.Memory}, {"read-iops", fact.Reads}, {"write-iops", fact.Writes},
	{"read-bandwidth", fact.ReadBytes}, {"write-bandwidth", fact.WriteBytes},
}

// Varied is a mix of which a run varied the limits of its miniature.
type Varied struct {
	Of    *Cell // the mix itself
	Count int   // its instances
	Host  *result.Limits
	cells []variedCell

	failed []result.Variation // of which no trial was completed
}

type variedCell struct {
	result.Variation
	cell *Cell
}

// Variations returns them, in the order of the mixes and then of the stacks.
func (v *View) Variations() (all []*Varied) {
	for _, m := range v.Run.Mixes {
		for _, s := range v.Stacks {
			of := v.Cell(s.Name, m.Name)
			if of == nil {
				continue
			}
			found := &Varied{Of: of, Host: m.Host}
			for _, t := range m.Tenants {
				found.Count += t.Count
			}
			for _, other := range v.Run.Mixes {
				if other.Varies == nil || other.Varies.Of != m.Name {
					continue
				}
				if c := v.varied[CellKey{s.Name, other.Name}]; c != nil {
					found.cells = append(found.cells, variedCell{*other.Varies, c})
				} else if v.failed(s.Name, other.Name) {
					found.failed = append(found.failed, *other.Varies)
				}
			}
			if len(found.cells) > 0 {
				all = append(all, found)
			}
		}
	}
	return all
}

// VariedCells returns what was measured of the mixes that the run added to vary a limit, in the
// order of the mixes and then of the stacks.
func (v *View) VariedCells() (all []*Cell) {
	for _, m := range v.Run.Mixes {
		for _, s := range v.Stacks {
			if c := v.varied[CellKey{s.Name, m.Name}]; c != nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// Elasticity returns what each limit is worth. The p values of all its comparisons are
// adjusted together (Benjamini and Hochberg).
func (v *View) Elasticity(of *Varied) fact.Elasticity {
	e := fact.Elasticity{
		Stack: of.Of.Stack.Name, Mix: of.Of.Workload.Name, Instances: of.Count, Rate: of.Of.Point.Median,
		Helps: []fact.Resource{}, Needed: []fact.Resource{},
	}
	if of.Host != nil {
		e.Host = of.Host.String()
	}
	e.P99NS, _ = medianOf(of.Of, func(t *result.Trial) (float64, bool) { return samples.P99.Of(t, "") })
	for _, limit := range limitsVaried {
		if w, ok := v.worth(of, limit.key); ok {
			w.Resource = limit.of
			e.Limits = append(e.Limits, w)
		}
	}
	adjustChanges(e.Limits)
	e.Workload, e.Used = v.usedAt(of)
	conclude(&e)
	e.Doubled = v.doubled(of, v.objectiveOf(of))
	return e
}

// objectiveOf is what the load line of the mix is for.
func (v *View) objectiveOf(of *Varied) (o fact.Objective) {
	for _, s := range v.Scalings() {
		if slices.Contains(s.Cells, of.Of) {
			return v.Objective(s)
		}
	}
	return o
}

// worth compares what was measured with more and with less of a limit with what was
// measured with the limit as it is.
func (v *View) worth(of *Varied, limit string) (w fact.Worth, ok bool) {
	w.Limit = limit
	var less, more *variedCell
	for i, c := range of.cells {
		if c.Limit != limit {
			continue
		}
		change := v.change(of.Of, c)
		if c.Factor < 1 {
			w.Less, less = change, &of.cells[i]
		} else {
			w.More, more = change, &of.cells[i]
		}
	}
	for _, f := range of.failed {
		if f.Limit == limit {
			w.Failed = append(w.Failed, f.Factor)
		}
	}
	if less == nil && more == nil {
		return w, len(w.Failed) > 0
	}
	whole := &variedCell{result.Variation{Factor: 1}, of.Of}
	w.Rate = v.power(cmp.Or(more, whole), cmp.Or(less, whole), samples.Rate)
	w.P99 = v.power(cmp.Or(more, whole), cmp.Or(less, whole), samples.P99)
	return w, true
}

func (v *View) change(of *Cell, c variedCell) *fact.LimitChange {
	change := &fact.LimitChange{Factor: c.Factor, Mix: c.cell.Workload.Name}
	change.Rate, _ = v.Effect(IOPS, change.Mix, of.Workload.Name, c.cell.Rates, of.Rates)
	p99, ok := v.Effect("p99", change.Mix, of.Workload.Name, c.cell.Sample(samples.P99), of.Sample(samples.P99))
	if ok {
		change.P99 = &p99
	}
	return change
}

// power is the elasticity between two settings of a limit; nil where nothing can be told.
func (v *View) power(more, less *variedCell, m samples.Metric) *fact.Power {
	e, ok := samples.Compare(more.cell.Sample(m), less.cell.Sample(m), v.Run.Seed)
	span := math.Log(more.Factor / less.Factor)
	if !ok || !e.Decidable() || math.IsNaN(e.Low) || !(span > 0) || !(e.Low > 0) || !Finite(e.High) {
		return nil
	}
	return &fact.Power{Value: math.Log(e.Ratio) / span, Low: math.Log(e.Low) / span, High: math.Log(e.High) / span}
}

// adjustChanges corrects the p values of all comparisons for how many there are.
func adjustChanges(limits []fact.Worth) {
	var all []*fact.Effect
	for i := range limits {
		for _, c := range []*fact.LimitChange{limits[i].Less, limits[i].More} {
			if c == nil {
				continue
			}
			all = append(all, &c.Rate)
			if c.P99 != nil {
				all = append(all, c.P99)
			}
		}
	}
	adjustTogether(all)
}

// usedAt is what the mix runs, and what binds at its number of instances by what was used.
func (v *View) usedAt(of *Varied) (workload string, binds fact.Resource) {
	for _, s := range v.Scalings() {
		at := slices.Index(s.Cells, of.Of)
		if at >= 0 {
			return s.Workload, v.Points(s)[at].Binds
		}
	}
	return of.Of.Workload.Name, ""
}

// worthTelling is by how much throughput has to change for a limit to count: less may be
// significant, and moves nobody to change a limit by a fifth.
const worthTelling = 0.03

// mayMatter is the change of throughput that has to be ruled out before a limit is said not
// to count.
const mayMatter = 0.1

// undecided reports whether a change that is not significant may be large all the same.
func undecided(c *fact.LimitChange) bool {
	if c == nil || c.Rate.Differs {
		return false
	}
	return !c.Rate.HasInterval() || c.Rate.Low < 1-mayMatter || c.Rate.High > 1+mayMatter
}

// conclude names the limits that count, and whether both sides agree.
func conclude(e *fact.Elasticity) {
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
			if c.Rate.Differs && c.Rate.Ratio >= 1+worthTelling {
				helps = append(helps, counted{w.Resource, c.Rate.Ratio})
			}
		}
		if c := w.Less; c != nil {
			e.Open = e.Open && c.Rate.TooFew
			if c.Rate.Differs && c.Rate.Ratio <= 1-worthTelling {
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
