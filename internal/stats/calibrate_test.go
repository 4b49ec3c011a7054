package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Copies that differ by nothing but chance leave comparisons nearly as they were. A bias that copies show is part of
// the error of comparisons with others: intervals hold, and more copies show it better.
func TestCopiesCalibrate(t *testing.T) {
	const draws, blocks = 300, 12
	for _, c := range []struct {
		bias    float64
		copies  []int
		held    float64 // least share of draws in which the interval of the first two holds
		widened float64 // most times as wide, at the median
	}{
		{0, []int{4, 5}, 0.94, 1.1}, {0, []int{4, 5, 6}, 0.94, 1.1},
		{0.05, []int{4, 5}, 0.70, 10}, {0.05, []int{4, 5, 6}, 0.80, 10},
	} {
		r := rand.New(rand.NewPCG(1, 8))
		held := 0
		var widths []float64
		for range draws {
			effects := make([]float64, 7)
			for i := range effects {
				effects[i] = c.bias * r.NormFloat64()
			}
			fit := FitTwoWay(design(r, effects, []float64{0.03}, blocks, 0.15, nil))
			before, _ := fit.Contrast(0, 1)
			fit.Calibrate(c.copies)
			after, _ := fit.Contrast(0, 1)
			if low, high := after.Interval(Alpha / 2); low <= 1 && high >= 1 {
				held++
			}
			widths = append(widths, after.Error/before.Error)
			if after.Error < before.Error*(1-1e-9) || after.Degrees < 1 {
				t.Fatalf("an error of %v becomes %v, of %d degrees", before.Error, after.Error, after.Degrees)
			}
		}
		if share := float64(held) / draws; share < c.held {
			t.Errorf("a bias of %v, %d copies: %.3f of intervals hold", c.bias, len(c.copies), share)
		}
		if w := Median(widths); w > c.widened {
			t.Errorf("a bias of %v, %d copies: errors are %.2f times as large", c.bias, len(c.copies), w)
		}
	}
}

// A copy alone, and copies that share no block, show nothing.
func TestCopiesThatShowNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	apart := func(t, b int) bool { return (t == 2) != (b >= 6) }
	fit := FitTwoWay(design(r, []float64{0, 0, 0}, []float64{0.03}, 8, 0.1, apart))
	for _, copies := range [][]int{nil, {1}, {1, 2}} {
		if fit.Calibrate(copies); fit.Bias != 0 || math.IsNaN(fit.Bias) {
			t.Errorf("%v show a bias of %v", copies, fit.Bias)
		}
	}
}
