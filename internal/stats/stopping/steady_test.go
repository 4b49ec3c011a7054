package stopping

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundsSettle(t *testing.T) {
	for _, c := range []struct {
		story    string
		rounds   []float64
		from, to int
		why      string // what Why says; empty when settled
	}{
		{"steady from the start", []float64{100, 101, 99, 100, 102}, 0, 5, ""},
		{"the first window that is steady counts, not the last", []float64{100, 100, 100, 100, 100, 300}, 0, 5, ""},
		{"a fresh device slows down to its steady state", []float64{300, 180, 106, 103, 101, 100, 99}, 2, 7, ""},
		{"exactly 20% apart, without a slope", []float64{110, 90, 100, 90, 110}, 0, 5, ""},
		{"a little more", []float64{110.2, 90, 100, 90, 110.2}, 0, 5,
			"the rounds differ by 20.2% of their average, 20% is allowed"},
		{"falls slowly but for ever", []float64{100, 97, 94, 91, 88, 85, 82}, 2, 7,
			"still falls, by 13.7% over the window, 10% is allowed"},
		{"rises", []float64{88, 91, 94, 97, 100}, 0, 5, "still rises"},
		{"both at once", []float64{100, 80, 60, 40, 20}, 0, 5, "allowed; the rate still falls"},
		{"too few rounds", []float64{100, 100, 100}, 0, 3, "only 3 of the 5 rounds"},
		{"no rounds", nil, 0, 0, "only 0 of the 5 rounds"},
		{"a device that does nothing", make([]float64, 6), 1, 6, "no I/O was completed"},
	} {
		v := SNIA.Judge(c.rounds)
		if v.Settled != (c.why == "") || v.From != c.from || v.To != c.to {
			t.Errorf("%s: %+v", c.story, v)
		}
		if !strings.Contains(v.Why, c.why) || v.Settled && v.Why != "" {
			t.Errorf("%s: says %q", c.story, v.Why)
		}
	}
}

func TestWarmupIsCutOff(t *testing.T) {
	// What a cache takes in 30 samples, then the device, with a small ripple.
	cached := func(n int) []float64 {
		series := make([]float64, n)
		for i := range series {
			series[i] = 100 + float64(i%3)
			if i < 30 {
				series[i] += 200
			}
		}
		return series
	}
	for _, c := range []struct {
		story  string
		series []float64
		want   Truncation
	}{
		{"long after the cache is full", cached(200), Truncation{Cut: 30, Best: 30, Enough: true}},
		{"just long enough", cached(62), Truncation{Cut: 30, Best: 30, Enough: true}},
		{"most of the time was warm-up", cached(55), Truncation{Cut: 0, Best: 30, Enough: true}},
		{"nothing to cut", slices.Repeat([]float64{100}, 50), Truncation{Enough: true}},
		{"too short to decide", cached(34), Truncation{}},
		{"empty", nil, Truncation{}},
	} {
		if got := MSER5(c.series); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.story, got, c.want)
		}
	}
}

// Of a trial of a fixed time, a warm-up that ends is left out, and one that does not is told of. A rate that
// falls is none.
func TestServersThatWarmUpAreTold(t *testing.T) {
	series := func(rate func(i int) float64) (all []float64) {
		for i := range 100 {
			all = append(all, rate(i)+math.Sin(float64(i*i))) // as good as noise, of 1%
		}
		return all
	}
	for _, c := range []struct {
		story  string
		series []float64
		least  int // that are left out
		why    string
	}{
		{"steady", series(func(int) float64 { return 100 }), 0, ""},
		{"warm after a third", series(func(i int) float64 { return 100 * min(1, 0.5+float64(i)/60) }), 25, ""},
		{"still rising", series(func(i int) float64 { return 50 + float64(i) }), 0, "the rate still rose by "},
		{"warm near the end", series(func(i int) float64 { return 100 + 100*float64(i/80) }), 0, "the rate still rose by "},
		{"falling", series(func(i int) float64 { return 150 - float64(i)/2 }), 0, ""},
		{"short", series(func(int) float64 { return 100 })[:30], 0, "too short"},
	} {
		cut, why := Warming(c.series)
		if cut < c.least || !strings.Contains(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: leaves out %d, says %q", c.story, cut, why)
		}
	}
}

func TestIntervalsWidenWithMemory(t *testing.T) {
	// The same values, shuffled and in order: only their memory differs.
	sorted := make([]float64, 400)
	for i := range sorted {
		sorted[i] = 100 + math.Sin(2*math.Pi*float64(i)/400)
	}
	shuffled := make([]float64, 400)
	for i := range shuffled {
		shuffled[i] = sorted[i*147%400]
	}
	correlated, _ := MeanInterval(sorted, 0.95)
	independent, _ := MeanInterval(shuffled, 0.95)
	if correlated.Independent || correlated.HalfWidth < 3*independent.HalfWidth {
		t.Errorf("a slow wave: %+v, the same shuffled: %+v", correlated, independent)
	}
	if _, ok := MeanInterval(sorted[:9], 0.95); ok {
		t.Error("9 samples gave an interval")
	}
}

// rates are series as a device could give them: a level, a warm-up, noise.
func rates(t *rapid.T) []float64 {
	level := rapid.Float64Range(1, 1e6).Draw(t, "level")
	noise := rapid.Float64Range(0, 1).Draw(t, "noise")
	warmup := rapid.Float64Range(-0.9, 3).Draw(t, "warm-up")
	decay := rapid.Float64Range(1, 100).Draw(t, "decay")
	n := rapid.IntRange(0, 400).Draw(t, "samples")
	unit := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "unit")
	series := make([]float64, n)
	for i := range series {
		series[i] = max(0, level*(1+noise*unit[i]+warmup*math.Exp(-float64(i)/decay)))
	}
	return series
}

func TestVerdictsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.SliceOfN(rapid.Float64Range(0, 1000), 0, 30).Draw(t, "rounds")
		v := SNIA.Judge(rounds)
		if v.Settled == (v.Why != "") {
			t.Fatalf("%+v", v)
		}
		if v.Settled {
			window := rounds[v.From:v.To]
			if len(window) != 5 || slices.Max(window)-slices.Min(window) > 0.2*average(window)*(1+1e-12) {
				t.Fatalf("%+v of %v", v, window)
			}
		} else if v.To != len(rounds) {
			t.Fatalf("not settled, but the last window is not given: %+v", v)
		}
		// Another unit changes nothing; a power of two does so without rounding.
		scaled := SNIA.Judge(times(rounds, 1024))
		if scaled.Settled != v.Settled || scaled.From != v.From || scaled.Why != v.Why || len(rounds) > 0 &&
			scaled.Average != 1024*v.Average {
			t.Fatalf("%+v, in another unit %+v", v, scaled)
		}
	})
}

func times(series []float64, factor float64) []float64 {
	scaled := make([]float64, len(series))
	for i, v := range series {
		scaled[i] = v * factor
	}
	return scaled
}

func TestWarmupIsAtMostHalf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rates(t)
		got := MSER5(series)
		if got.Cut%5 != 0 || 2*got.Cut > len(series) || got.Cut < 0 || got.Best < got.Cut ||
			got.Best > max(0, len(series)-25) || got.Enough != (len(series) >= 35) {
			t.Fatalf("%+v of %d samples", got, len(series))
		}
		if scaled := MSER5(times(series, 0.25)); scaled != got {
			t.Fatalf("%+v, in another unit %+v", got, scaled)
		}
		if rest := len(series) % 5; MSER5(series[:len(series)-rest]) != got {
			t.Fatal("samples beyond the last whole batch took part")
		}
	})
}

func TestIntervalsScaleAndShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rates(t)
		m, ok := MeanInterval(series, 0.95)
		if ok != (len(series) >= 10) {
			t.Fatalf("ok is %v for %d samples", ok, len(series))
		}
		if !ok {
			return
		}
		used := series[len(series)-m.Batches*m.BatchSize:]
		if len(series)-len(used) >= m.Batches || m.HalfWidth < 0 || math.Abs(m.Value-average(used)) > 1e-9*m.Value {
			t.Fatalf("%+v of %d samples with mean %v", m, len(series), average(used))
		}
		if scaled, _ := MeanInterval(times(series, 4), 0.95); scaled.Value != 4*m.Value ||
			scaled.HalfWidth != 4*m.HalfWidth || scaled.Relative() != m.Relative() && m.Value != 0 {
			t.Fatalf("%+v, in another unit %+v", m, scaled)
		}
		if surer, _ := MeanInterval(series, 0.99); surer.HalfWidth < m.HalfWidth {
			t.Fatalf("99%%: %+v, 95%%: %+v", surer, m)
		}
		if same, _ := MeanInterval(used, 0.95); same != m {
			t.Fatalf("%+v, without what was left over %+v", m, same)
		}
	})
}
