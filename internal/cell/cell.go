// Package cell turns the trials of a run into samples that statistics may be
// made of: what was measured of one point by one metric, nested as it was
// made. The unit is what was made anew, a bring-up of a stack on a region of
// the disk; trials within one bring-up tell how well that unit is known, and
// are no further evidence (Kalibera and Jones, Rigorous Benchmarking in
// Reasonable Time, ISMM 2013).
//
// The package is pure. Findings, comparisons, reports and the scheduler of a
// budget read samples here; none of them groups trials itself.
package cell

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Unit is what was measured of a point in one bring-up of its stack. Where
// bring-ups are not known, as in imported runs, it is one trial.
type Unit struct {
	Block   int // of trials, from 1, in which it came up; 0 when not known
	BringUp int // of the stack, from 1; 0 when not known
	Region  int // of the disk; 0 when not known, or when there is none
	Values  []float64
}

// Mean returns the mean of the unit's values.
func (u Unit) Mean() float64 {
	mean, _ := stats.MeanAndSquares(u.Values)
	return mean
}

// Sample is the units of one point, by block and bring-up.
type Sample []Unit

// Times returns the sample with every value so many times as large.
func (s Sample) Times(factor float64) (out Sample) {
	for _, u := range s {
		u.Values = slices.Clone(u.Values)
		for i := range u.Values {
			u.Values[i] *= factor
		}
		out = append(out, u)
	}
	return out
}

// Take returns the sample that trials of one point make. value returns what a
// trial measured; a trial without such a value is left out. The order of the
// trials does not matter.
func Take(trials []*result.Trial, value func(*result.Trial) (v float64, ok bool)) Sample {
	var s Sample
	for _, t := range trials {
		v, ok := value(t)
		if !ok {
			continue
		}
		at := -1
		if t.BringUp > 0 {
			at = slices.IndexFunc(s, func(u Unit) bool { return u.BringUp == t.BringUp })
		}
		if at < 0 {
			s = append(s, Unit{Block: t.Block, BringUp: t.BringUp, Region: t.Region})
			at = len(s) - 1
		}
		s[at].Values = append(s[at].Values, v)
	}
	for _, u := range s {
		slices.Sort(u.Values)
	}
	slices.SortStableFunc(s, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.BringUp, b.BringUp), cmp.Compare(a.Values[0], b.Values[0]))
	})
	return s
}

// Means returns the mean of each unit.
func (s Sample) Means() []float64 {
	means := make([]float64, len(s))
	for i, u := range s {
		means[i] = u.Mean()
	}
	return means
}

// Trials returns how many trials a sample is made of.
func (s Sample) Trials() (n int) {
	for _, u := range s {
		n += len(u.Values)
	}
	return n
}

// Nested reports whether the bring-ups of all units are known.
func (s Sample) Nested() bool {
	return !slices.ContainsFunc(s, func(u Unit) bool { return u.BringUp == 0 })
}

// Pairs returns the means of both samples in the blocks that they share, one
// pair for each block. Units of a block that stood on different regions of the
// disk are no pair.
func Pairs(a, b Sample) (x, y []float64) {
	at := map[int]int{} // of a block, in what follows
	var sums [][2]float64
	var counts []float64
	for _, u := range a {
		for _, v := range b {
			if u.Block != v.Block || u.Region != v.Region && u.Region > 0 && v.Region > 0 {
				continue
			}
			i, again := at[u.Block]
			if !again {
				i = len(sums)
				at[u.Block] = i
				sums, counts = append(sums, [2]float64{}), append(counts, 0)
			}
			sums[i][0] += u.Mean()
			sums[i][1] += v.Mean()
			counts[i]++
		}
	}
	for i, n := range counts {
		x, y = append(x, sums[i][0]/n), append(y, sums[i][1]/n)
	}
	return x, y
}

// Effect is how a subject compares with a baseline.
type Effect struct {
	Ratio     float64 // subject / baseline
	Low, High float64 // 95% interval of Ratio; NaN where there is none
	P         float64 // two-sided, of this comparison alone
	N         [2]int  // units of subject and baseline
	Pairs     int     // blocks that both were in; 0 for samples that are not paired
	Paired    bool
}

// Decidable reports whether a comparison of so many units can find a
// difference at all.
func (e Effect) Decidable() bool {
	if e.Paired {
		return e.Pairs >= stats.FewestPairs
	}
	return stats.SmallestP(e.N[0], e.N[1]) < stats.Alpha
}

// Compare compares two samples: in pairs of the same block where bring-ups are
// known, which takes out what a region of the disk and an hour do to both; and
// as two samples where they are not, when trials are taken for independent.
// seed is of the resampling of the latter. ok is false when there is no ratio:
// nothing in common, or a unit that is not above 0.
func Compare(subject, baseline Sample, seed uint64) (e Effect, ok bool) {
	e = Effect{P: 1, N: [2]int{len(subject), len(baseline)}, Low: math.NaN(), High: math.NaN()}
	if subject.Nested() && baseline.Nested() {
		e.Paired = true
		x, y := Pairs(subject, baseline)
		e.Pairs = len(x)
		p, ok := stats.PairedRatio(x, y)
		if !ok {
			// What completed nothing at all has no ratio, and may differ all the same.
			e.P = stats.MannWhitney(x, y)
			return e, false
		}
		e.Ratio, e.Low, e.High, e.P = p.Ratio, p.Low, p.High, p.P
		return e, true
	}
	x, y := subject.Means(), baseline.Means()
	e.P = stats.MannWhitney(x, y)
	r, ok := stats.RatioOfMedians(x, y, seed)
	if !ok {
		return e, false
	}
	e.Ratio = r.Ratio
	if min(len(x), len(y)) >= stats.FewestPairs {
		e.Low, e.High = r.Low, r.High
	}
	return e, true
}

// PValue returns the p value that Compare has, without its interval. ok is
// false when so few units cannot find a difference, or there is no ratio.
func PValue(a, b Sample) (p float64, ok bool) {
	if a.Nested() && b.Nested() {
		x, y := Pairs(a, b)
		if r, ok := stats.PairedRatio(x, y); ok {
			return r.P, r.Pairs >= stats.FewestPairs
		}
		return stats.MannWhitney(x, y), len(x) >= stats.FewestPairs
	}
	return stats.MannWhitney(a.Means(), b.Means()), stats.SmallestP(len(a), len(b)) < stats.Alpha
}

// Parts takes the variance of several points apart that were measured under
// the same workload, see stats.VarianceParts. ok is false when no bring-ups
// are known, or a value is not above 0.
func Parts(points []Sample) (parts stats.Parts, ok bool) {
	var cells []stats.Cell
	blocks := map[[2]int]int{}
	for i, s := range points {
		if !s.Nested() {
			return parts, false
		}
		for _, u := range s {
			key := [2]int{u.Block, u.Region}
			if _, known := blocks[key]; !known {
				blocks[key] = len(blocks)
			}
			c := stats.Cell{Treatment: i, Block: blocks[key]}
			for _, v := range u.Values {
				if !(v > 0) {
					return parts, false
				}
				c.Logs = append(c.Logs, math.Log(v))
			}
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return parts, false
	}
	return stats.VarianceParts(cells), true
}
