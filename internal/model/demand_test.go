package model

import (
	"math"
	"math/rand/v2"
	"slices"
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

// Where reads over memory bend as no such curve does, here as TPC-C over buffer pools was published, lines through what
// was seen do: they never rise with memory, and are level far below it and beyond.
func TestCurvesThatBendAreFound(t *testing.T) {
	seen := []observation{{5e9, 18.1, 1}, {10e9, 8.6, 1}, {20e9, 5.4, 1}, {30e9, 4.2, 1}, {30e9, 4.4, 1}}
	level := fitMiss(seen)
	got := level.bent(seen)
	if worst := math.Abs(level.At(20e9)/5.4 - 1); len(got.Times) != 4 || worst < 0.1 {
		t.Errorf("%+v of %+v, which is %v off", got, level, worst)
	}
	for i, want := range []float64{18.1, 8.6, 5.4, 4.3} {
		if at := got.At(seen[i].x); math.Abs(at/want-1) > 1e-3 {
			t.Errorf("%v at %v, not %v", at, seen[i].x, want)
		}
	}
	if between := got.At(math.Sqrt(5e9 * 10e9)); math.Abs(between/math.Sqrt(18.1*8.6)-1) > 2e-3 {
		t.Errorf("%v between 18.1 and 8.6", between)
	}
	for m, before := 1e8, math.Inf(1); m < 1e11; m *= 1.05 {
		at := got.At(m)
		if at > before {
			t.Errorf("more memory reads more: %v at %v", at, m)
		}
		before = at
	}
	if got.At(1) != got.At(farBelow*5e9) || got.At(1e12) != got.At(30e9) || got.At(0) != got.At(30e9) {
		t.Errorf("%v with 1 byte, %v with 1 TB, %v with all", got.At(1), got.At(1e12), got.At(0))
	}
	p := Params{Reads: got, HostCPU: Line{Base: 1}, CPU: Line{Base: 1}, Latency: Line{Base: 1}, Late: Sharp{1, 1},
		Reach: Reach{1, 1, 1}}
	if why := p.impossible(); why != "" {
		t.Error(why)
	}
	rises := append(slices.Clone(seen[:2]), observation{15e9, 9, 1}, seen[2], seen[3])
	pools := Miss{Floor: 100, Shape: 1}.bent(rises)
	if a, b := pools.At(10e9), pools.At(15e9); math.Abs(a/8.8-1) > 1e-3 || math.Abs(b/8.8-1) > 1e-3 {
		t.Errorf("%v and %v of 8.6 and 9, which are as one", a, b)
	}
	// A curve that agrees stays: a cache that all records want as often.
	line := Miss{Scale: 1, Fits: 2e8, Shape: 1}
	var straight []observation
	for _, m := range []float64{1e9, 5e8, 2.5e8, 1.8e8, 1.5e8, 1.2e8, 1e8} {
		straight = append(straight, observation{m, line.At(m), 1})
	}
	if got := fitMiss(straight).bent(straight); len(got.Times) > 0 {
		t.Errorf("%+v of a straight line", got)
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

// One size of memory that is short agrees with curves that rise as steeply as one likes below it: the mean is taken.
func TestOneShortSizeMakesNoSteepCurve(t *testing.T) {
	short := []observation{{8e8, 0, 1}, {2.7e8, 0, 1}, {2.1e8, 0, 1}, {1.4e8, 0.35, 1}}
	curve := fitMiss(short)
	if at := curve.At(1.05e8); math.Abs(curve.At(1.4e8)/0.35-1) > 0.05 || curve.At(2.1e8) > 0.01 || at < 0.5 || at > 1.1 {
		t.Errorf("%+v: %v reads at three quarters of the short size", curve, at)
	}
	known := append(slices.Clone(short), observation{1.2e8, 2.2, 1}) // which says that it is steep
	if at := fitMiss(known).At(1.2e8); math.Abs(at/2.2-1) > 0.05 {
		t.Errorf("%+v: %v", fitMiss(known), at)
	}
}
