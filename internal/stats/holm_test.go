package stats

import (
	"testing"

	"pgregory.net/rapid"
)

// Holm's procedure is the shortcut of closed testing with Bonferroni's bound:
// the adjusted p of a test is the largest bound, size times smallest p, of all
// sets of tests that hold it. Here the sets are gone through one by one.
func TestHolmIsClosedBonferroni(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Float64Range(0, 0.1), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.01, 0.05, 1}))
		ps := rapid.SliceOfN(p, 0, 8).Draw(t, "p")
		want := make([]float64, len(ps))
		for set := range 1 << len(ps) {
			size, smallest := 0.0, 1.0
			for i, p := range ps {
				if set>>i&1 == 1 {
					size, smallest = size+1, min(smallest, p)
				}
			}
			for i := range ps {
				if set>>i&1 == 1 {
					want[i] = max(want[i], min(1, size*smallest))
				}
			}
		}
		got := Holm(ps)
		if len(got) != len(ps) {
			t.Fatalf("%d adjusted values of %d", len(got), len(ps))
		}
		for i := range ps {
			if !near(got[i], want[i], 1e-12) {
				t.Errorf("Holm(%v)[%d] = %v, want %v", ps, i, got[i], want[i])
			}
		}
	})
}

// Worked by hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04, which may not be
// below the one before it.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("Holm gives %v at %d, want %v", got[i], i, want)
		}
	}
}
