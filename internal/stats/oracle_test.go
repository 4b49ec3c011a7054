package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// oracle holds results of SciPy and NumPy, from testdata/oracle.py.
type oracle struct {
	SciPy       string
	MannWhitney []struct {
		Name, Method string
		X, Y         []float64
		P            float64
	} `json:"mann_whitney"`
	Quantile []struct {
		Values, Q, Want []float64
		Median          float64
	}
	MedianInterval []struct {
		Values              []float64
		Low, High, Coverage float64
		SciPyLow            *float64 `json:"scipy_low"`
		SciPyHigh           *float64 `json:"scipy_high"`
	} `json:"median_interval"`
	Ratio []struct {
		Subject, Baseline []float64
		Method            string
		Ratio             float64
		Low, High         [3]float64 // the quantile half a point lower, the quantile, half a point higher
	}
}

func readJSON(t *testing.T, name string, target any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, target); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	readJSON(t, "testdata/oracle.json", &o)
	if len(o.MannWhitney) < 20 || len(o.Quantile) < 5 || len(o.MedianInterval) < 10 || len(o.Ratio) < 5 {
		t.Fatal("testdata/oracle.json lacks cases")
	}
	return o
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(1, math.Abs(want))
}

func TestMannWhitneyIsSciPys(t *testing.T) {
	for _, c := range readOracle(t).MannWhitney {
		if got := MannWhitney(c.X, c.Y); !near(got, c.P, 1e-11) {
			t.Errorf("%s: p = %.15g, SciPy (%s) %.15g", c.Name, got, c.Method, c.P)
		}
	}
}

func TestQuantileIsNumPys(t *testing.T) {
	for _, c := range readOracle(t).Quantile {
		for i, q := range c.Q {
			if got := Quantile(c.Values, q); !near(got, c.Want[i], 1e-12) {
				t.Errorf("quantile %v of %v = %v, NumPy %v", q, c.Values, got, c.Want[i])
			}
		}
		if got := Median(c.Values); !near(got, c.Median, 1e-12) {
			t.Errorf("median of %v = %v, NumPy %v", c.Values, got, c.Median)
		}
	}
}

func TestMedianIntervalIsSciPys(t *testing.T) {
	for _, c := range readOracle(t).MedianInterval {
		got := MedianInterval(c.Values)
		if got.Low != c.Low || got.High != c.High || !near(got.Coverage, c.Coverage, 1e-9) {
			t.Errorf("%d values: %+v, want %v to %v at %v", len(c.Values), got, c.Low, c.High, c.Coverage)
		}
		if c.SciPyLow != nil && (got.Low != *c.SciPyLow || got.High != *c.SciPyHigh) {
			t.Errorf("%d values: %+v, SciPy's quantile_test %v to %v", len(c.Values), got, *c.SciPyLow, *c.SciPyHigh)
		}
	}
}

// The interval comes from random resamples, so each limit must lie between
// the quantiles half a percentage point to either side: of the whole bootstrap
// distribution where it can be enumerated, of SciPy's 200,000 resamples else.
func TestRatioOfMediansIsSciPys(t *testing.T) {
	for _, c := range readOracle(t).Ratio {
		for seed := range uint64(5) {
			got, ok := RatioOfMedians(c.Subject, c.Baseline, seed)
			between := func(v float64, q [3]float64) bool { return v >= q[0]*(1-1e-12) && v <= q[2]*(1+1e-12) }
			if !ok || !near(got.Ratio, c.Ratio, 1e-12) || !between(got.Low, c.Low) || !between(got.High, c.High) {
				t.Errorf("%v / %v: %+v, %s says %v, %v to %v", c.Subject, c.Baseline, got, c.Method, c.Ratio, c.Low, c.High)
			}
		}
	}
}
