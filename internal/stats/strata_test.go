package stats

import (
	"math"
	"testing"
)

// One stratum is the test of Mann and Whitney; strata whose levels are far apart count together,
// where ranks across them would show nothing.
func TestStratifiedMannWhitney(t *testing.T) {
	x, y := []float64{1, 4, 6, 9, 9}, []float64{3, 5, 9, 11, 12, 13}
	if got, want := StratifiedMannWhitney([][]float64{x}, [][]float64{y}), MannWhitney(x, y); !near(got, want, 1e-12) {
		t.Errorf("one stratum: p is %g, and that of MannWhitney %g", got, want)
	}
	low := [][]float64{{1, 2, 3, 4}, {101, 102, 103, 104}, nil}
	high := [][]float64{{5, 6, 7, 8}, {105, 106, 107, 108}, {1}}
	p := StratifiedMannWhitney(low, high)
	// Of the 70 times 70 ways to deal both out, one is as extreme at each end.
	if want := 2.0 / 4900; !near(p, want, 1e-12) || !near(SmallestStratifiedP(low, high), want, 1e-12) {
		t.Errorf("p is %g, the smallest %g, want %g", p, SmallestStratifiedP(low, high), want)
	}
	if back := StratifiedMannWhitney(high, low); back != p {
		t.Errorf("p is %g, the other way round %g", p, back)
	}
	if p := StratifiedMannWhitney([][]float64{nil}, [][]float64{{1}}); p != 1 {
		t.Errorf("p of nothing is %g", p)
	}
	against := StratifiedMannWhitney([][]float64{{1, 2}, {8, 9}}, [][]float64{{3, 4}, {6, 7}})
	if against != 1 {
		t.Errorf("strata that differ in opposite ways: p is %g", against)
	}
	// So it is above the exact range.
	long := func(by float64) (values []float64) {
		for i := range 26 {
			values = append(values, float64(i*i%17)+by)
		}
		return values
	}
	approximate, alone := StratifiedMannWhitney([][]float64{long(0)}, [][]float64{long(3)}), MannWhitney(long(0), long(3))
	if !near(approximate, alone, 1e-12) {
		t.Errorf("of many values p is %g, and that of MannWhitney %g", approximate, alone)
	}
}

func TestRatioOfStrata(t *testing.T) {
	x, y := []float64{98, 100, 103, 104}, []float64{50, 51, 52, 49}
	single, ok := RatioOfStrata([][]float64{x}, [][]float64{y}, 7)
	want, _ := RatioOfMedians(x, y, 7)
	if !ok || !near(single.Ratio, want.Ratio, 1e-12) || !near(single.Low, want.Low, 1e-12) ||
		!near(single.High, want.High, 1e-12) {
		t.Errorf("one stratum: %v, and RatioOfMedians says %v", single, want)
	}
	// Twice and eight times are four times in the geometric mean.
	two, ok := RatioOfStrata([][]float64{{2, 2}, {800, 800}}, [][]float64{{1, 1}, {100, 100}}, 7)
	if !ok || !near(two.Ratio, 4, 1e-12) || !near(two.Low, 4, 1e-12) {
		t.Errorf("two strata: %v", two)
	}
	for _, bad := range [][][]float64{nil, {{}}, {{1}, {0}}, {{math.NaN()}}} {
		_, ok := RatioOfStrata(bad, bad, 7)
		if ok {
			t.Errorf("%v has a ratio", bad)
		}
	}
}
