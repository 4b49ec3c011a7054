package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/testkit/soak"
)

type jsonLevels []struct {
	X      float64
	Values []float64
}

func (l jsonLevels) levels() []Level {
	var out []Level
	for _, v := range l {
		out = append(out, Level(v))
	}
	return out
}

// curveOracle is what testdata/curve.py got from NumPy, ruptures and
// piecewise-regression.
type curveOracle struct {
	Cases []struct {
		Name     string
		Levels   jsonLevels
		P        float64
		Searches []struct {
			Changes     [][2]any
			RSS, Second float64
			Fit         []float64
		}
	}
	Steps []struct {
		Levels jsonLevels
		After  []int
	}
	Knees []struct {
		Levels            jsonLevels
		At, Before, After float64
	}
}

func readCurves(t *testing.T) (o curveOracle) {
	t.Helper()
	readJSON(t, "testdata/curve.json", &o)
	if len(o.Cases) < 10 || len(o.Steps) < 3 || len(o.Knees) < 4 {
		t.Fatal("testdata/curve.json lacks cases")
	}
	return o
}

// The best curve with one change, and with two, is that of an exhaustive
// search with NumPy's least squares.
func TestSearchIsNumPys(t *testing.T) {
	for _, c := range readCurves(t).Cases {
		f := newFitter(c.Levels.levels(), 1)
		for _, s := range c.Searches {
			m := f.fit(f.search(len(s.Changes)), f.medians)
			rss := 0.0
			for i, fitted := range m.fitted {
				if s.Second > s.RSS*1.001 && !near(math.Exp(fitted), s.Fit[i], 1e-9) {
					t.Errorf("%s, %v: level %d is fitted as %v, NumPy %v", c.Name, s.Changes, i, math.Exp(fitted), s.Fit[i])
				}
				d := f.root[i] * (fitted - f.medians[i])
				rss += d * d
			}
			if !near(rss, s.RSS, 1e-9) {
				t.Errorf("%s, %v: %v is left, NumPy %v", c.Name, s.Changes, rss, s.RSS)
			}
		}
	}
}

// p of 999 random signs is that of NumPy's 100,000, but for chance: five
// standard deviations, and the seeds are fixed.
func TestSignTestIsNumPys(t *testing.T) {
	for _, c := range readCurves(t).Cases {
		for seed := range uint64(3) {
			got := newFitter(c.Levels.levels(), seed).test(nil)
			if chance := 5*math.Sqrt(c.P*(1-c.P)/signs) + 1.0/signs; math.Abs(got-c.P) > chance {
				t.Errorf("%s: p = %v, NumPy %v", c.Name, got, c.P)
			}
		}
	}
}

// On curves that are flat but for steps, steps are where the optimal partition
// of ruptures is.
func TestStepsAreRuptures(t *testing.T) {
	for _, c := range readCurves(t).Steps {
		levels := c.Levels.levels()
		curve, err := FindChanges(levels, 1)
		if err != nil {
			t.Fatal(err)
		}
		var after []int
		for _, change := range curve.Changes {
			if change.Kind == Knee {
				t.Errorf("a knee at %v", change.From)
			}
			after = append(after, slices.IndexFunc(levels, func(l Level) bool { return l.X == change.To }))
		}
		if !slices.Equal(after, c.After) {
			t.Errorf("steps before levels %v, ruptures %v", after, c.After)
		}
	}
}

// Knees between levels, and the slopes beside them, are those of Muggeo's
// method. It takes any place, we every 64th part of a gap.
func TestKneesAreMuggeos(t *testing.T) {
	for _, c := range readCurves(t).Knees {
		curve, err := FindChanges(c.Levels.levels(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(curve.Changes) != 1 || curve.Changes[0].Kind != Knee {
			t.Errorf("Muggeo's method finds a knee at %.1f, we %+v", c.At, curve.Changes)
			continue
		}
		got := curve.Changes[0]
		if got.Low > c.At || got.High < c.At {
			t.Errorf("the knee at %.2f lies between %.2f and %.2f", c.At, got.Low, got.High)
		}
		if got.From == got.To && math.Abs(math.Log(got.From/c.At)) > math.Ln2/perGap && !levelOf(c.Levels, got.From) {
			t.Errorf("knee at %.3f, Muggeo's %.3f", got.From, c.At)
		}
		if math.Abs(got.Before.Value-c.Before) > 0.02 || math.Abs(got.After.Value-c.After) > 0.04 {
			t.Errorf("slopes %.3f and %.3f, Muggeo's %.3f and %.3f", got.Before.Value, got.After.Value, c.Before, c.After)
		}
	}
}

func levelOf(levels jsonLevels, x float64) bool {
	for _, l := range levels {
		if l.X == x {
			return true
		}
	}
	return false
}

// drawCurve measures a curve with relative noise.
func drawCurve(seed uint64, xs []float64, trials int, sigma float64, y func(x float64) float64) []Level {
	r := rand.New(rand.NewPCG(seed, 3))
	var levels []Level
	for _, x := range xs {
		l := Level{X: x}
		for range trials {
			l.Values = append(l.Values, y(x)*math.Exp(sigma*r.NormFloat64()))
		}
		levels = append(levels, l)
	}
	return levels
}

var powersOfTwo = []float64{1, 2, 4, 8, 16, 32, 64}

func TestShapesWithoutNoise(t *testing.T) {
	soak.WithoutRace(t)
	const rise, fall, flat, unclear = Rises, Falls, Plateau, Unclear
	for name, c := range map[string]struct {
		xs     []float64
		y      func(x float64) float64
		kinds  []ChangeKind
		places [][2]float64
		shapes []SegmentShape
	}{
		"flat":         {y: func(float64) float64 { return 5000 }, shapes: []SegmentShape{flat}},
		"proportional": {y: func(x float64) float64 { return 100 * x }, shapes: []SegmentShape{rise}},
		"inverse":      {y: func(x float64) float64 { return 100 / x }, shapes: []SegmentShape{fall}},
		"saturates": {y: func(x float64) float64 { return min(x, 8) }, kinds: []ChangeKind{Knee},
			places: [][2]float64{{8, 8}}, shapes: []SegmentShape{rise, flat}},
		"saturates at once": {y: func(x float64) float64 { return min(x, 2) }, kinds: []ChangeKind{Knee},
			places: [][2]float64{{2, 2}}, shapes: []SegmentShape{rise, flat}},
		"hockey stick": {y: func(x float64) float64 { return max(x, 16) }, kinds: []ChangeKind{Knee},
			places: [][2]float64{{16, 16}}, shapes: []SegmentShape{flat, rise}},
		"cliff": {y: levelUpTo(16, 0.5), kinds: []ChangeKind{Cliff}, places: [][2]float64{{16, 32}},
			shapes: []SegmentShape{flat, flat}},
		"cliff at the end": {y: levelUpTo(32, 0.5), kinds: []ChangeKind{Cliff}, places: [][2]float64{{32, 64}},
			shapes: []SegmentShape{flat, unclear}},
		"cliff at once": {y: levelUpTo(1, 0.5), kinds: []ChangeKind{Cliff}, places: [][2]float64{{1, 2}},
			shapes: []SegmentShape{unclear, flat}},
		"jump": {y: levelUpTo(8, 2), kinds: []ChangeKind{Jump}, places: [][2]float64{{8, 16}},
			shapes: []SegmentShape{flat, flat}},
		"small cliff": {y: levelUpTo(16, 0.95), shapes: []SegmentShape{flat}},
		"peak": {y: func(x float64) float64 { return min(x, 64/x) }, kinds: []ChangeKind{Knee},
			places: [][2]float64{{8, 8}}, shapes: []SegmentShape{rise, fall}},
		"rises, stays, falls": {
			y:     func(x float64) float64 { return min(x, 8) * levelUpTo(24, 0.6)(x) },
			kinds: []ChangeKind{Knee, Cliff}, places: [][2]float64{{8, 8}, {16, 32}}, shapes: []SegmentShape{rise, flat, flat},
		},
		"uneven levels": {
			xs: []float64{1, 3, 5, 24, 28, 100}, y: levelUpTo(24, 0.5),
			kinds: []ChangeKind{Cliff}, places: [][2]float64{{24, 28}}, shapes: []SegmentShape{flat, flat},
		},
		"four levels": {
			xs: []float64{4, 8, 16, 32}, y: func(x float64) float64 { return min(x, 16) },
			kinds: []ChangeKind{Knee}, places: [][2]float64{{16, 16}}, shapes: []SegmentShape{rise, unclear},
		},
	} {
		t.Run(name, func(t *testing.T) {
			xs := c.xs
			if xs == nil {
				xs = powersOfTwo
			}
			// So little noise that only rounding could do harm.
			curve, err := FindChanges(drawCurve(1, xs, 5, 0.002, c.y), 1)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []ChangeKind
			var shapes []SegmentShape
			for i, change := range curve.Changes {
				kinds = append(kinds, change.Kind)
				if i < len(c.places) && (!near(change.From, c.places[i][0], 0.02) || !near(change.To, c.places[i][1], 0.02)) {
					t.Errorf("change %d is at %v to %v, want %v", i, change.From, change.To, c.places[i])
				}
				if change.Low > change.From || change.High < change.To || change.P >= Alpha {
					t.Errorf("change %+v", change)
				}
			}
			for _, s := range curve.Segments {
				shapes = append(shapes, s.Shape)
			}
			if !slices.Equal(kinds, c.kinds) || name != "four levels" && !slices.Equal(shapes, c.shapes) {
				t.Errorf("changes %v between %v, want %v between %v", kinds, shapes, c.kinds, c.shapes)
			}
			for i, x := range xs {
				if math.Abs(curve.Fit[i]/c.y(x)-1) > 0.03 {
					t.Errorf("the fit at %v is %v, want %v", x, curve.Fit[i], c.y(x))
				}
			}
		})
	}
}

func levelUpTo(level, then float64) func(float64) float64 {
	return func(x float64) float64 {
		if x > level {
			return then
		}
		return 1
	}
}

func TestSizesOfChanges(t *testing.T) {
	y := func(x float64) float64 { return math.Sqrt(min(x, 8)) * levelUpTo(16, 0.6)(x) }
	curve, err := FindChanges(drawCurve(5, powersOfTwo, 5, 0.02, y), 1)
	if err != nil || len(curve.Changes) != 2 {
		t.Fatalf("%v, %+v", err, curve.Changes)
	}
	knee, cliff := curve.Changes[0], curve.Changes[1]
	for _, c := range []struct {
		name             string
		value, low, high float64
		want             float64
	}{
		{"slope before the knee", knee.Before.Value, knee.Before.Low, knee.Before.High, 0.5},
		{"slope behind it", knee.After.Value, knee.After.Low, knee.After.High, 0},
		{"fall of the cliff", cliff.Ratio.Ratio, cliff.Ratio.Low, cliff.Ratio.High, 0.6},
		{"rise of the first segment", curve.Segments[0].Ratio.Ratio, curve.Segments[0].Ratio.Low,
			curve.Segments[0].Ratio.High, math.Sqrt(8)},
	} {
		if c.low > c.want || c.high < c.want || c.low > c.value || c.high < c.value || c.high-c.low > 0.3 {
			t.Errorf("%s is %.3f (%.3f to %.3f), and was made %.3f", c.name, c.value, c.low, c.high, c.want)
		}
	}
}

// TestPowerAndFalseAlarms holds docs/evidence/curves.md to its word, with fewer curves;
// make bench NAME=curves has the whole. Seeds are fixed.
func TestPowerAndFalseAlarms(t *testing.T) {
	soak.WithoutRace(t)
	const curvesInFull = 60
	curves := soak.Of(curvesInFull, 15)
	scaled := func(n int) int { return n * curves / curvesInFull }
	for _, c := range []struct {
		name      string
		y         func(float64) float64
		sigma     float64
		least     int // of all curves, those on which a change is seen
		largest   int
		held      int // whose interval holds the place
		low, high float64
	}{
		{"flat", func(float64) float64 { return 1 }, 0.1, 0, 8, 0, 0, 0},
		{"proportional", func(x float64) float64 { return x }, 0.1, 0, 8, 0, 0, 0},
		{"falls to 70%", levelUpTo(16, 0.7), 0.1, 57, curvesInFull, 52, 16, 32},
		{"falls to 90%", levelUpTo(16, 0.9), 0.05, 20, curvesInFull, 16, 16, 32},
		{"saturates", func(x float64) float64 { return min(x, 6) }, 0.1, 59, curvesInFull, 52, 6, 6},
	} {
		seen, held := 0, 0
		for seed := range uint64(curves) {
			curve, err := FindChanges(drawCurve(seed, powersOfTwo, 5, c.sigma, c.y), seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(curve.Changes) > 0 {
				seen++
			}
			if slices.ContainsFunc(curve.Changes, func(h Change) bool { return h.Low <= c.low && h.High >= c.high }) {
				held++
			}
		}
		if seen < scaled(c.least) || seen > scaled(c.largest) || held < scaled(c.held) {
			t.Errorf("%s: a change was seen on %d of %d curves, and on %d its interval holds the place; want %d to %d, and %d",
				c.name, seen, curves, held, scaled(c.least), scaled(c.largest), scaled(c.held))
		}
	}
}

func TestFindChangesSaysWhatLevelsLack(t *testing.T) {
	five := []float64{1, 2, 3, 4, 5}
	_, err := FindChanges([]Level{{1, five}, {1, five[:2]}, {-4, []float64{1, 0, 2}}}, 1)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"3 levels are too few", "level 1: levels of a curve are positive numbers that ascend", "level 1 has 2 trials",
		"level -4: levels of a curve", "level -4 has a trial whose value is no positive number",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// TestCurveProperties: whatever the values, the answer is consistent, the same
// for the same trials in another order, and scales with the response.
func TestCurveProperties(t *testing.T) {
	soak.Checks(t, 20)
	rapid.Check(t, func(t *rapid.T) {
		var levels, moved []Level
		x := 0.5
		for range rapid.IntRange(MinLevels, 9).Draw(t, "levels") {
			x *= rapid.Float64Range(1.01, 8).Draw(t, "factor")
			values := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e9), MinTrials, 6).Draw(t, "values")
			if rapid.Bool().Draw(t, "exact") {
				values = slices.Repeat(values[:1], len(values))
			}
			levels = append(levels, Level{x, values})
			other := slices.Clone(values)
			slices.Reverse(other)
			moved = append(moved, Level{x, other})
		}
		kept := make([]Level, len(levels))
		for i, l := range levels {
			kept[i] = Level{l.X, slices.Clone(l.Values)}
		}
		curve, err := FindChanges(levels, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(levels, kept) {
			t.Fatal("the arguments were changed")
		}
		if again, _ := FindChanges(moved, 1); !reflect.DeepEqual(curve, again) {
			t.Fatalf("another order of trials gives %+v instead of %+v", again, curve)
		}
		checkCurve(t, levels, curve)
	})
}

func checkCurve(t *rapid.T, levels []Level, c Curve) {
	if len(c.Segments) != len(c.Changes)+1 || len(c.Fit) != len(levels) || !(c.P > 0 && c.P <= 1) {
		t.Fatalf("%+v", c)
	}
	first, last := levels[0].X, levels[len(levels)-1].X
	if c.Segments[0].From != first || c.Segments[len(c.Changes)].To != last {
		t.Fatalf("segments %+v do not cover %v to %v", c.Segments, first, last)
	}
	position := first
	for _, h := range c.Changes {
		if h.From < position || h.To < h.From || h.Low > h.From || h.High < h.To || h.Low < first*(1-1e-9) ||
			h.High > last*(1+1e-9) {
			t.Fatalf("change %+v", h)
		}
		if h.P >= Alpha || h.Alike < 0 || h.Alike > 1+1e-9 || h.Kind == Cliff && h.From == h.To {
			t.Fatalf("change %+v", h)
		}
		position = h.From
	}
	for _, s := range c.Segments {
		for _, v := range []float64{s.Ratio.Ratio, s.Ratio.Low, s.Ratio.High, s.Slope.Value, s.Slope.Low, s.Slope.High} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("segment %+v", s)
			}
		}
	}
}
