package stats

import (
	"math"
	"testing"
)

func TestEliminate(t *testing.T) {
	m := []float64{ // the first row has no coefficient of the first unknown: rows are exchanged
		0, 2, 1, 7,
		1, 1, 1, 6,
		4, -1, 2, 8,
	}
	Eliminate(m, 3)
	got := []float64{m[3], m[7], m[11]}
	for i, want := range []float64{1, 2, 3} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("unknown %d is %v, and not %v", i, got[i], want)
		}
	}
	singular := []float64{1, 2, 3, 2, 4, 7}
	Eliminate(singular, 2)
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	if finite(singular[2]) && finite(singular[5]) {
		t.Errorf("parallel lines meet at %v, %v", singular[2], singular[5])
	}
}
