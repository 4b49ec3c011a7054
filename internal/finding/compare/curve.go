package compare

import (
	"fmt"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units/plural"
)

// curve is mixes that differ in the number of their instances alone, in both runs. Each number has
// few setups, which hardly tell anything by themselves, and all of them together tell whether
// the host carries less than it did: they are judged in one row.
type curve struct {
	name   string // what stands for the name of a workload: "C, 1 to 8 instances"
	pairs  []comparedPair
	tooFew []comparedPair // points left out, which a side has too few trials of for an interval
}

// curvesOf returns the curves that the runs have in common, of at least two points. Points that a
// side has too few trials of are left out where two others have enough.
func curvesOf(va, vb *runview.View, pairs []comparedPair) (curves []curve) {
	other := vb.Scalings()
	for _, a := range va.Scalings() {
		for _, b := range other {
			c := curve{}
			var counts []int
			for _, enough := range []int{stats.FewestPairs, 1} {
				c.pairs, c.tooFew, counts = nil, nil, nil
				for i, cell := range a.Cells() {
					place := slices.IndexFunc(pairs, func(p comparedPair) bool { return p.a.cell == cell })
					if place < 0 || !slices.Contains(b.Cells(), pairs[place].b.cell) {
						continue
					}
					if min(len(cell.Rates), len(pairs[place].b.cell.Rates)) >= enough {
						c.pairs, counts = append(c.pairs, pairs[place]), append(counts, a.Levels[i].Count())
					} else {
						c.tooFew = append(c.tooFew, pairs[place])
					}
				}
				if len(c.pairs) > 1 {
					break
				}
			}
			if len(c.pairs) > 1 {
				c.name = fmt.Sprintf("%s, %d to %s", a.Workload, counts[0], plural.Count(counts[len(counts)-1], "instance"))
				if policy := policyOf(va.Run, a.Levels[0].Cell.Workload.Name); policy != "" {
					c.name = policy + " " + c.name
				}
				curves = append(curves, c)
			}
		}
	}
	return curves
}

// policyOf is the policy of the only tenant of a mix, or "".
func policyOf(run *result.Run, mix string) string {
	for _, m := range run.Mixes {
		if m.Name == mix {
			return m.Tenants[0].Policy
		}
	}
	return ""
}

// rowsOf measures pairs by a metric; the row of a curve is before those of its points.
func rowsOf(m runview.Metric, pairs []comparedPair, curves []curve, seed uint64, decides bool) (rows []Row) {
	begun := map[int]bool{}
	for _, p := range pairs {
		row := p.row(m, seed, decides)
		i := slices.IndexFunc(curves, func(c curve) bool {
			return slices.Contains(c.pairs, p) || slices.Contains(c.tooFew, p)
		})
		if i >= 0 {
			row.Curve, row.leftOut = curves[i].name, slices.Contains(curves[i].tooFew, p)
			if !begun[i] {
				rows, begun[i] = append(rows, curves[i].row(m, seed, decides)), true
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// row compares all points: ranks are those within a number of instances, and the ratio is the
// geometric mean of those of all.
func (c curve) row(m runview.Metric, seed uint64, decides bool) Row {
	var r Row
	var a, b [][]float64
	var runsA, runsB []map[int]float64
	for i, p := range c.pairs {
		point := p.row(m, seed, decides)
		if i == 0 {
			r = point
			r.Workload, r.WorkloadB, r.Summary, r.A, r.B = c.name, "", "", Sample{}, Sample{}
			r.Ratio, r.Low, r.High = nil, nil, nil
		}
		a, b = append(a, point.A.values), append(b, point.B.values)
		runsA, runsB = append(runsA, point.A.runs), append(runsB, point.B.runs)
		r.Points++
		r.fewest = min(r.fewest, point.fewest)
		r.A.N, r.B.N = r.A.N+point.A.N, r.B.N+point.B.N
		r.A.Trials, r.B.Trials = r.A.Trials+point.A.Trials, r.B.Trials+point.B.Trials
		if point.Source != r.Source {
			r.Source = string(result.SourceUnknown)
		}
		for _, mark := range point.Marks {
			r.Marks = runview.AddNew(r.Marks, mark)
		}
	}
	r.A.Median, r.B.Median = middle(a), middle(b)
	r.P, r.smallest = stats.StratifiedMannWhitney(b, a), stats.SmallestStratifiedP(b, a)
	r.PAdjusted = r.P
	if ratio := r.B.Median / r.A.Median; invertible(ratio) {
		r.Ratio = &ratio
	}
	if r.A.runs, r.B.runs = together(runsA), together(runsB); r.A.several() || r.B.several() {
		r.judgeRuns()
		return r
	}
	if iv, ok := ratioOfStrata(b, a, seed); ok && r.fewest >= stats.FewestPairs {
		r.Low, r.High = &iv.Low, &iv.High
	}
	return r
}

// middle is the geometric mean of the medians of all points; 0 where one of them has none.
func middle(strata [][]float64) float64 {
	var medians []float64
	for _, values := range strata {
		if len(values) == 0 {
			return 0
		}
		medians = append(medians, stats.Median(values))
	}
	mean := stats.GeometricMean(medians)
	if !runview.Finite(mean) {
		return 0 // one of them is 0
	}
	return mean
}
