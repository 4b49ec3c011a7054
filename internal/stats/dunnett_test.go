package stats

import (
	"math"
	"testing"
)

// TestDunnettIsAsPrinted compares with Dunnett's table 1a (1955) for one-sided comparisons at 5%, correlated by a half.
func TestDunnettIsAsPrinted(t *testing.T) {
	for degrees, printed := range map[int][]float64{
		5:  {2.02, 2.44, 2.68, 2.85, 2.98, 3.08, 3.16, 3.24, 3.30},
		10: {1.81, 2.15, 2.34, 2.47, 2.56, 2.64, 2.70, 2.76, 2.81},
		20: {1.72, 2.03, 2.19, 2.30, 2.39, 2.46, 2.51, 2.56, 2.60},
		60: {1.67, 1.95, 2.10, 2.21, 2.28, 2.35, 2.39, 2.44, 2.48},
	} {
		for i, want := range printed {
			if got := Dunnett(0.05, i+1, degrees, 0.5); math.Abs(got-want) > 0.0101 {
				t.Errorf("%d comparisons, %d degrees: %.4f, printed is %.2f", i+1, degrees, got, want)
			}
		}
	}
}

// One comparison is Student's, independent ones are Sidak's up to the error that they share, and more correlation asks
// for less.
func TestDunnettLimits(t *testing.T) {
	for _, degrees := range []int{1, 2, 3, 8, 30, 1000} {
		for _, level := range []float64{0.05, 0.01, 0.0005} {
			dunnett, student := Dunnett(level, 1, degrees, 0.5), StudentQuantile(1-level, min(degrees, 200))
			if dunnett < student*(1-1e-3) || dunnett > student*1.01 {
				t.Errorf("%d degrees, level %v: %v of one comparison, Student's is %v", degrees, level, dunnett, student)
			}
			last := math.Inf(1)
			for _, correlation := range []float64{-1, 0, 0.3, 0.5, 0.9, 1} {
				eight := Dunnett(level, 8, degrees, correlation)
				if eight > last || eight < student*(1-1e-3) {
					t.Errorf("%d degrees, level %v, correlation %v: %v, with less correlation %v", degrees, level, correlation,
						eight, last)
				}
				last = eight
			}
		}
	}
	if got, sidak := Dunnett(0.05, 8, 200, 0), StudentQuantile(1-Simultaneous(8), 200); math.Abs(got-sidak) > 0.01 {
		t.Errorf("independent ones: %v, Sidak's is %v", got, sidak)
	}
}
