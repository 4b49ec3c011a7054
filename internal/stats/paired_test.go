package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pairedOracle holds results of SciPy and NumPy, from testdata/paired.py.
type pairedOracle struct {
	Paired []struct {
		Subject, Baseline []float64
		Ratio, P          float64
		Low, High         *float64
	}
	Discovery []struct{ P, Adjusted []float64 }
	Variance  []struct {
		Cells []Cell
		Parts struct{ Within, Between, Blocks *float64 }
	}
	Student []struct {
		T       float64
		Degrees int
		P       float64
	}
}

func readPairedOracle(t *testing.T) (o pairedOracle) {
	t.Helper()
	readJSON(t, "testdata/paired.json", &o)
	if len(o.Paired) < 20 || len(o.Discovery) < 5 || len(o.Variance) < 6 || len(o.Student) < 20 {
		t.Fatal("testdata/paired.json lacks cases")
	}
	return o
}

func TestPairedRatioIsSciPys(t *testing.T) {
	significant := 0
	for _, c := range readPairedOracle(t).Paired {
		got, ok := PairedRatio(c.Subject, c.Baseline)
		if !ok || got.Pairs != len(c.Subject) || !near(got.Ratio, c.Ratio, 1e-9) || !near(got.P, c.P, 1e-9) {
			t.Errorf("%v against %v: %+v, %v; SciPy %v, p %v", c.Subject, c.Baseline, got, ok, c.Ratio, c.P)
		}
		if (c.Low == nil) != math.IsNaN(got.Low) || (c.Low == nil) != math.IsNaN(got.High) {
			t.Errorf("%d pairs: interval %v to %v", got.Pairs, got.Low, got.High)
		} else if c.Low != nil && (!near(got.Low, *c.Low, 1e-9) || !near(got.High, *c.High, 1e-9)) {
			t.Errorf("%v against %v: %+v; SciPy %v to %v", c.Subject, c.Baseline, got, *c.Low, *c.High)
		}
		if got.P < Alpha {
			significant++
		}
	}
	if significant < 5 {
		t.Errorf("%d cases differ: they show little", significant)
	}
}

func TestStudentPIsSciPys(t *testing.T) {
	for _, c := range readPairedOracle(t).Student {
		if got := StudentP(c.T, c.Degrees); math.Abs(got-c.P) > 1e-12 {
			t.Errorf("t %v, %d degrees of freedom: p %v, SciPy %v", c.T, c.Degrees, got, c.P)
		}
	}
	if StudentP(math.NaN(), 3) != 1 || StudentP(math.Inf(1), 3) != 0 {
		t.Error("no number, or an infinite one, has an odd p value")
	}
}

func TestBenjaminiHochbergIsSciPys(t *testing.T) {
	for _, c := range readPairedOracle(t).Discovery {
		got := BenjaminiHochberg(c.P)
		if !slices.EqualFunc(got, c.Adjusted, func(a, b float64) bool { return near(a, b, 1e-12) }) {
			t.Errorf("%v: %v, SciPy %v", c.P, got, c.Adjusted)
		}
	}
	if len(BenjaminiHochberg(nil)) != 0 {
		t.Error("no tests have adjusted values")
	}
}

func TestVariancePartsAreNumPys(t *testing.T) {
	for _, c := range readPairedOracle(t).Variance {
		got := VarianceParts(c.Cells)
		for _, p := range []struct {
			name string
			got  float64
			want *float64
		}{
			{"within", got.Within, c.Parts.Within},
			{"between", got.Between, c.Parts.Between},
			{"blocks", got.Blocks, c.Parts.Blocks},
		} {
			if (p.want == nil) != math.IsNaN(p.got) || p.want != nil && math.Abs(p.got-*p.want) > 1e-6 {
				t.Errorf("%d cells, %s: %v, NumPy %v", len(c.Cells), p.name, p.got, show(p.want))
			}
		}
	}
}

func show(x *float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}

// Parts come out as they were put in, when there is enough of them.
func TestVariancePartsAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var cells []Cell
	for block := range 400 {
		region := 0.14 * random.NormFloat64()
		for treatment := range 6 {
			made := 0.05 * random.NormFloat64()
			c := Cell{Treatment: treatment, Block: block}
			for range 2 {
				c.Logs = append(c.Logs, 9+float64(treatment)+region+made+0.04*random.NormFloat64())
			}
			cells = append(cells, c)
		}
	}
	p := VarianceParts(cells)
	if !near(p.Within, 0.04, 0.003) || !near(p.Between, 0.05, 0.003) || !near(p.Blocks, 0.14, 0.012) {
		t.Errorf("%+v", p)
	}
}

// Exchanging subject and baseline inverts the ratio, and what both have in
// common cancels.
func TestPairedRatioProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "pairs")
		positive := rapid.SliceOfN(rapid.Float64Range(0.01, 1e6), n, n)
		x, y, region := positive.Draw(t, "x"), positive.Draw(t, "y"), positive.Draw(t, "region")
		p, ok := PairedRatio(x, y)
		back, okBack := PairedRatio(y, x)
		if !ok || !okBack || !near(p.Ratio*back.Ratio, 1, 1e-9) || !near(p.P, back.P, 1e-6) {
			t.Fatalf("%+v, and the other way round %+v", p, back)
		}
		if n >= FewestPairs && (!(p.Low <= p.Ratio && p.Ratio <= p.High) || !near(p.Low*back.High, 1, 1e-6)) {
			t.Fatalf("%+v, and the other way round %+v", p, back)
		}
		for i := range x {
			x[i], y[i] = x[i]*region[i], y[i]*region[i]
		}
		if q, _ := PairedRatio(x, y); !near(q.Ratio, p.Ratio, 1e-6) || math.Abs(q.P-p.P) > 1e-4 {
			t.Fatalf("%+v, on other regions %+v", p, q)
		}
		if d, pAgain := PairedTest(x, y, 0); n >= FewestPairs &&
			(!near(math.Exp(d), p.Ratio, 1e-6) || math.Abs(pAgain-p.P) > 1e-4) {
			t.Fatalf("test %v, %v; ratio %+v", d, pAgain, p)
		}
	})
	for _, bad := range [][]float64{nil, {0}, {-1}, {math.NaN()}, {math.Inf(1)}} {
		if _, ok := PairedRatio(bad, bad); ok {
			t.Errorf("%v have a ratio", bad)
		}
	}
}

// Equals differ significantly in no more than the level says, whatever the
// noise: also when one trial of ten is disturbed by a factor.
func TestPairedTestOfEquals(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for name, noise := range map[string]func() float64{
		"normal":    random.NormFloat64,
		"disturbed": func() float64 { return random.NormFloat64() - float64(random.IntN(10)/9)*6*random.ExpFloat64() },
	} {
		for _, n := range []int{4, 5, 8, 10, 18, 30} {
			const replays = 2000
			found := 0
			for range replays {
				x, y := make([]float64, n), make([]float64, n)
				for i := range x {
					region := 0.3 * random.NormFloat64()
					x[i], y[i] = math.Exp(region+0.05*noise()), math.Exp(region+0.05*noise())
				}
				if _, p := PairedTest(x, y, 0); p < Alpha {
					found++
				}
			}
			// 5%, and three standard errors of that share.
			if share := float64(found) / replays; share > Alpha+3*math.Sqrt(Alpha*(1-Alpha)/replays) {
				t.Errorf("%s, %d pairs: %.1f%% of equals differ", name, n, 100*share)
			}
		}
	}
}
