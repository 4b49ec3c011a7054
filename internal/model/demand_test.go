package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMissCurvesAreFound(t *testing.T) {
	for name, of := range map[string]Miss{
		"uniform":      {Scale: 1, Fits: 2e8, Shape: 1},
		"popular":      {Scale: 2, Fits: 3e8, Shape: 2},
		"with a floor": {Floor: 0.3, Scale: 1, Fits: 2e8, Shape: 1},
		"level":        {Floor: 1, Shape: 1},
		"nothing":      {Shape: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			var all []observation
			for _, m := range []float64{1e9, 5e8, 2.5e8, 1.8e8, 1.5e8, 1.2e8, 1e8} {
				all = append(all, observation{m, of.At(m) * (1 + 0.02*rng.NormFloat64()), 1})
			}
			got := fitMiss(all)
			for m := 8e7; m < 2e9; m *= 1.1 {
				if want := of.At(m); math.Abs(got.At(m)-want) > 0.01+0.07*want {
					t.Errorf("%.0f bytes: %v reads, and there are %v, by %+v", m, got.At(m), want, got)
				}
			}
		})
	}
}

func TestWritesThatAreBatchedAreFound(t *testing.T) {
	of := Writes{At1: 0.08, Batch: 0.35}
	var all, level []observation
	for _, rate := range []float64{1400, 620, 377, 306} {
		all = append(all, observation{rate, of.At(rate), 1})
		level = append(level, observation{rate, 0.5 + rate*1e-7, 1})
	}
	if got := fitWrites(all); math.Abs(float64(got.Batch-of.Batch)) > 0.01 || math.Abs(got.At(1000)/of.At(1000)-1) > 0.01 {
		t.Errorf("%+v of %+v", got, of)
	}
	if got := fitWrites(level); got.Batch != 0 || math.Abs(float64(got.At1)-0.5) > 0.01 {
		t.Errorf("%+v of writes that are always as many", got)
	}
	if got := fitWrites([]observation{{1000, 0.0001, 1}, {500, 0, 1}, {100, 0, 1}}); got.At1 != 0 {
		t.Errorf("%+v of no writes", got)
	}
}

func TestLinesGoUp(t *testing.T) {
	up := []observation{{0, 1, 1}, {0.1, 1.2, 1}, {0.5, 2, 1}}
	if got := fitLine(up); math.Abs(float64(got.Base)-1) > 1e-6 || math.Abs(float64(got.More)-2) > 1e-6 {
		t.Errorf("%+v of 1 + 2x", got)
	}
	down := []observation{{0, 2, 1}, {0.1, 1.8, 1}, {0.5, 1, 1}}
	if got := fitLine(down); got.More != 0 || got.Base < 1 || got.Base > 2 {
		t.Errorf("%+v of what falls by chance", got)
	}
	if got := fitLine(nil); !math.IsNaN(float64(got.Base)) {
		t.Errorf("%+v of nothing", got)
	}
}
