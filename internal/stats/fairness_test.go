package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestJain(t *testing.T) {
	for _, test := range []struct {
		got  []float64
		want float64
	}{
		{[]float64{5, 5, 5, 5}, 1},
		{[]float64{1, 0, 0, 0}, 0.25},
		{[]float64{1, 2, 3}, 36.0 / 42},
		{[]float64{7}, 1},
	} {
		if index := Jain(test.got); math.Abs(index-test.want) > 1e-12 {
			t.Errorf("of %v it is %v, want %v", test.got, index, test.want)
		}
	}
	for _, none := range [][]float64{nil, {0, 0}} {
		if index := Jain(none); !math.IsNaN(index) {
			t.Errorf("of %v it is %v", none, index)
		}
	}
}

// It is from 1/n to 1, and does not depend on the unit.
func TestJainIsAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), 1, 20).Draw(t, "got")
		index, unit := Jain(got), rapid.Float64Range(0.1, 10).Draw(t, "unit")
		if index > 1+1e-9 || index < 1/float64(len(got))-1e-9 {
			t.Fatalf("it is %v", index)
		}
		for i := range got {
			got[i] *= unit
		}
		if again := Jain(got); math.Abs(again-index) > 1e-9 {
			t.Fatalf("in another unit it is %v, not %v", again, index)
		}
	})
}
