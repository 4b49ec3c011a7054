// Package runview is a run by point: its trials as samples that statistics may be
// made of, summarised and compared once, its stacks with their lines parsed. The
// unit of a sample is what was made anew, a setup of a stack on a region of the
// disk; trials within one setup say how well that unit is known, and are no
// further evidence (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time,
// ISMM 2013).
//
// The package is pure. Findings, comparisons, reports, models and the scheduler of
// a budget read runs here; none of them groups trials itself, and it knows none of
// them.
package runview

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Unit is the measurement of a point in one setup of its stack. Where setups are unknown, as in imported runs, it is
// one trial.
type Unit struct {
	Round  int       // of trials, from 1, in which it came up; 0 when not known
	Setup  int       // of the stack, from 1; 0 when not known
	Run    int       // of pooled runs, from 1; 0 where there is one
	Region int       // of the disk; 0 when not known, or when there is none
	Values []float64 // of its trials, ascending
	// value of the trials' merged measurements, where that is not the mean of Values; otherwise 0
	Merged float64
	Trials []*result.Trial
}

// Value returns the value of the unit: that of the merged measurements, as for percentiles, or the mean of Values.
func (u Unit) Value() float64 {
	if u.Merged > 0 {
		return u.Merged
	}
	mean, _ := stats.MeanAndSquares(u.Values)
	return mean
}

// Sample is the units of one point, by round and setup.
type Sample []Unit

// Times returns the sample with every value so many times as large.
func (s Sample) Times(factor float64) (out Sample) {
	for _, u := range s {
		u.Values = slices.Clone(u.Values)
		for i := range u.Values {
			u.Values[i] *= factor
		}
		u.Merged *= factor
		out = append(out, u)
	}
	return out
}

// Take returns the sample of trials of one point. value returns a trial's value; trials without one are left out. The
// order of the trials does not matter.
func Take(trials []*result.Trial, value func(*result.Trial) (v float64, ok bool)) Sample {
	var s Sample
	units := map[int]int{} // by setup
	for _, t := range trials {
		v, ok := value(t)
		if !ok {
			continue
		}
		i, known := units[t.BringUp]
		if !known || t.BringUp <= 0 {
			i = len(s)
			s = append(s, Unit{Round: t.Block, Setup: t.BringUp, Run: t.Run, Region: t.Region})
			units[t.BringUp] = i
		}
		s[i].Values, s[i].Trials = append(s[i].Values, v), append(s[i].Trials, t)
	}
	for i := range s {
		sort.Stable(byValue(s[i]))
	}
	slices.SortStableFunc(s, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Setup, b.Setup), cmp.Compare(a.Values[0], b.Values[0]))
	})
	return s
}

// byValue sorts the trials of a unit, and their values, by value.
type byValue Unit

func (u byValue) Len() int           { return len(u.Values) }
func (u byValue) Less(i, j int) bool { return u.Values[i] < u.Values[j] }
func (u byValue) Swap(i, j int) {
	u.Values[i], u.Values[j] = u.Values[j], u.Values[i]
	u.Trials[i], u.Trials[j] = u.Trials[j], u.Trials[i]
}

// Values returns the value of each unit.
func (s Sample) Values() []float64 {
	values := make([]float64, len(s))
	for i, u := range s {
		values[i] = u.Value()
	}
	return values
}

// Median returns the median of the units' values; 0 for an empty sample, and where a value is not a number.
func (s Sample) Median() float64 {
	if len(s) == 0 {
		return 0
	}
	median := stats.Median(s.Values())
	if math.IsNaN(median) {
		return 0
	}
	return median
}

// Trials returns how many trials a sample is made of.
func (s Sample) Trials() (n int) {
	for _, u := range s {
		n += len(u.Values)
	}
	return n
}

// Nested reports whether the setups of all units are known.
func (s Sample) Nested() bool {
	return !slices.ContainsFunc(s, func(u Unit) bool { return u.Setup == 0 })
}

// Pairs returns the values of both samples in the rounds that they share, one
// pair for each round. Units of a round that stood on different regions of the
// disk are no pair.
func Pairs(a, b Sample) (x, y []float64) {
	x, y, _ = pairsByRun(a, b)
	return x, y
}

// pairsByRun returns the pairs, and the run that each was in.
func pairsByRun(a, b Sample) (x, y []float64, runs []int) {
	pairOf := map[int]int{} // by round, the index of its pair
	var sums [][2]float64
	var counts []float64
	for _, u := range a {
		for _, v := range b {
			if u.Round != v.Round || u.Region != v.Region && u.Region > 0 && v.Region > 0 {
				continue
			}
			i, again := pairOf[u.Round]
			if !again {
				i = len(sums)
				pairOf[u.Round] = i
				sums, counts, runs = append(sums, [2]float64{}), append(counts, 0), append(runs, u.Run)
			}
			sums[i][0] += u.Value()
			sums[i][1] += v.Value()
			counts[i]++
		}
	}
	for i, n := range counts {
		x, y = append(x, sums[i][0]/n), append(y, sums[i][1]/n)
	}
	return x, y, runs
}

// Effect is the comparison of a subject with a baseline.
type Effect struct {
	Ratio     float64 // subject / baseline
	Low, High float64 // 95% interval of Ratio; NaN where there is none
	P         float64 // two-sided, of this comparison alone
	N         [2]int  // units of subject and baseline
	Pairs     int     // rounds that both were in; 0 for samples that are not paired
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

// Compare compares two samples: in pairs of the same round where setups are known, which cancels the effects of the
// disk region and the time on both; otherwise as two samples, with trials assumed to be independent. seed is for the
// resampling of the latter; spread is what is known of several runs. ok is false when there is no ratio: no common
// round, or a unit that is not above 0.
func Compare(subject, baseline Sample, seed uint64, spread stats.RunSpread) (e Effect, ok bool) {
	e = Effect{P: 1, N: [2]int{len(subject), len(baseline)}, Low: math.NaN(), High: math.NaN()}
	if subject.Nested() && baseline.Nested() {
		e.Paired = true
		x, y, runs := pairsByRun(subject, baseline)
		e.Pairs = len(x)
		p, ok := stats.PairedRatioOfRuns(x, y, runs, spread)
		if !ok {
			// What completed nothing at all has no ratio, and may differ all the same.
			e.P = stats.MannWhitney(x, y)
			return e, false
		}
		e.Ratio, e.Low, e.High, e.P = p.Ratio, p.Low, p.High, p.P
		return e, true
	}
	x, y := subject.Values(), baseline.Values()
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

// Parts splits the variance of several points measured under the same workload, see stats.VarianceParts. ok is false
// when no setups are known, or a value is not above 0.
func Parts(points []Sample) (parts stats.Parts, ok bool) {
	var cells []stats.Cell
	rounds := map[[2]int]int{}
	for i, s := range points {
		if !s.Nested() {
			return parts, false
		}
		for _, u := range s {
			key := [2]int{u.Round, u.Region}
			if _, known := rounds[key]; !known {
				rounds[key] = len(rounds)
			}
			c := stats.Cell{Treatment: i, Block: rounds[key]}
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
