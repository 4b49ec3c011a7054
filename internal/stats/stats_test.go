package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/testkit/soak"
)

var (
	sample  = rapid.SliceOfN(rapid.Float64Range(1, 1e6), 1, 12)
	coarse  = rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 5), func(i int) float64 { return float64(i) }), 1, 12)
	samples = rapid.OneOf(sample, coarse) // with and without ties
)

func scaled(values []float64, factor float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * factor
	}
	return out
}

func TestMedianAndIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := samples.Draw(t, "values")
		before := slices.Clone(values)
		m, iv := Median(values), MedianInterval(values)
		if !slices.Equal(values, before) {
			t.Fatal("the argument was changed")
		}
		if !(slices.Min(values) <= iv.Low && iv.Low <= m && m <= iv.High && iv.High <= slices.Max(values)) {
			t.Fatalf("median %v outside %+v", m, iv)
		}
		if len(values) >= 6 && iv.Coverage < Confidence || len(values) < 6 && iv.Coverage >= Confidence ||
			iv.Coverage < 0 || iv.Coverage > 1 {
			t.Fatalf("%d values: coverage %v", len(values), iv.Coverage)
		}
		const factor = 8 // a power of two: exact
		if s := MedianInterval(scaled(values, factor)); Median(scaled(values, factor)) != m*factor ||
			s.Low != iv.Low*factor ||
			s.High != iv.High*factor {
			t.Fatal("the unit matters")
		}
		if r := rapid.Permutation(values).Draw(t, "shuffled"); Median(r) != m || MedianInterval(r) != iv {
			t.Fatal("the order matters")
		}
	})
}

func TestQuantileProperties(t *testing.T) {
	share := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		values := samples.Draw(t, "values")
		if rapid.Bool().Draw(t, "all equal") {
			values = slices.Repeat(values[:1], len(values))
		}
		p, q := share.Draw(t, "p"), share.Draw(t, "q")
		if p > q {
			p, q = q, p
		}
		low, high := Quantile(values, p), Quantile(values, q)
		if !(slices.Min(values) <= low && low <= high && high <= slices.Max(values)) {
			t.Fatalf("quantile %v is %v, and %v is %v", p, low, q, high)
		}
	})
}

func TestRatioProperties(t *testing.T) {
	soak.WithoutRace(t)
	rapid.Check(t, func(t *rapid.T) {
		x, y, seed := samples.Draw(t, "x"), samples.Draw(t, "y"), rapid.Uint64().Draw(t, "seed")
		r, ok := RatioOfMedians(x, y, seed)
		if !ok {
			t.Fatal("no ratio")
		}
		if again, _ := RatioOfMedians(rapid.Permutation(x).Draw(t, "shuffled"), y, seed); again != r {
			t.Fatalf("%+v, and again %+v", r, again)
		}
		if s, _ := RatioOfMedians(scaled(x, 4), scaled(y, 4), seed); s != r {
			t.Fatalf("the unit matters: %+v, %+v", r, s)
		}
		if s, _ := RatioOfMedians(scaled(x, 4), y, seed); s != (Ratio{4 * r.Ratio, 4 * r.Low, 4 * r.High}) {
			t.Fatalf("a subject 4 times as fast: %+v, %+v", r, s)
		}
		least, most := slices.Min(x)/slices.Max(y), slices.Max(x)/slices.Min(y)
		if !(least <= r.Low && r.Low <= r.Ratio && r.Ratio <= r.High && r.High <= most && r.Low > 0) {
			t.Fatalf("%+v outside %v to %v", r, least, most)
		}
	})
}

func TestRatioOfWhatIsNotPositive(t *testing.T) {
	good := []float64{1, 2, 3}
	for _, bad := range [][]float64{nil, {0}, {1, 0, 2}, {-1}, {math.NaN()}, {1, math.Inf(1)}} {
		if r, ok := RatioOfMedians(good, bad, 1); ok || r != (Ratio{}) {
			t.Errorf("by %v: %+v", bad, r)
		}
		if r, ok := RatioOfMedians(bad, good, 1); ok || r != (Ratio{}) {
			t.Errorf("of %v: %+v", bad, r)
		}
	}
}

func TestMannWhitneyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := samples.Draw(t, "x"), samples.Draw(t, "y")
		p := MannWhitney(x, y)
		if !(p > 0 && p <= 1) {
			t.Fatalf("p = %v", p)
		}
		if p < SmallestP(len(x), len(y))*(1-1e-12) &&
			len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(x, y))))) == len(x)+len(y) {
			t.Fatalf("p = %v below the smallest possible %v", p, SmallestP(len(x), len(y)))
		}
		if q := MannWhitney(y, x); !near(q, p, 1e-12) {
			t.Fatalf("not symmetric: %v, %v", p, q)
		}
		if q := MannWhitney(scaled(x, 4), scaled(y, 4)); q != p {
			t.Fatalf("the unit matters: %v, %v", p, q)
		}
		if q := MannWhitney(x, x); q != 1 {
			t.Fatalf("a sample differs from itself: p = %v", q)
		}
	})
}

// Where the exact test ends, the approximation goes on smoothly.
func TestMannWhitneyApproximationIsClose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.IntRange(0, 1000), 20, 20).Draw(t, "x")
		y := rapid.SliceOfN(rapid.IntRange(100, 1100), 25, 25).Draw(t, "y")
		ranks, ties := midranks(floats(x), floats(y))
		exact, approximate := exactP(ranks, len(x)), normalP(ranks, len(x), ties)
		if math.Abs(exact-approximate) > 0.01 {
			t.Fatalf("exact %v, approximation %v", exact, approximate)
		}
	})
}

func floats(ints []int) []float64 {
	out := make([]float64, len(ints))
	for i, v := range ints {
		out[i] = float64(v)
	}
	return out
}

func TestMannWhitneyAtItsLimits(t *testing.T) {
	far := make([]float64, 3000)
	for i := range far {
		far[i] = float64(i)
	}
	if p := MannWhitney(far, shifted(far, 1e6)); !(p > 0 && p < 1e-300) {
		t.Errorf("3000 against 3000, apart: p = %v", p)
	}
	if p := MannWhitney(nil, []float64{1}); p != 1 {
		t.Errorf("nothing against 1: p = %v", p)
	}
	equal := make([]float64, 100)
	if p := MannWhitney(equal, equal); p != 1 {
		t.Errorf("100 equal values against themselves: p = %v", p)
	}
	for n, want := range map[int]float64{1: 1, 2: 1. / 3, 3: 0.1, 4: 2. / 70, 5: 2. / 252} {
		if got := SmallestP(n, n); !near(got, want, 1e-12) {
			t.Errorf("smallest p of %d against %d = %v, want %v", n, n, got, want)
		}
	}
	if n := RepeatsNeeded(); n != 4 {
		t.Errorf("%d repeats needed, want 4: 2/C(6,3) = 0.1, 2/C(8,4) = 0.029", n)
	}
}

func shifted(values []float64, add float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v + add
	}
	return out
}
