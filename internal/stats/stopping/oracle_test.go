package stopping

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"plimsoll/internal/stats"
)

// oracle holds results of NumPy, SciPy and statsmodels, from testdata/oracle.py.
type oracle struct {
	Versions string
	Series   []struct {
		Name      string
		Values    []float64
		MSER5     Truncation
		Intervals []struct {
			Confidence    float64
			Batches, Size int
			Mean          float64
			HalfWidth     float64 `json:"half_width"`
			Lag1, P       float64
			Rise          float64
			RiseP         float64 `json:"rise_p"`
		}
	}
	SNIA []struct {
		Rounds                    []float64
		Settled                   bool
		From                      int
		Average, Excursion, Slope float64
		First, Last               float64
	}
	Student []struct {
		Degrees int
		P, T    float64
	}
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Series) < 12 || len(o.SNIA) < 15 || len(o.Student) < 50 {
		t.Fatal("testdata/oracle.json lacks cases")
	}
	return o
}

func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))
}

func TestMSER5IsNumPys(t *testing.T) {
	cut := 0
	for _, c := range readOracle(t).Series {
		got := MSER5(c.Values)
		if got != c.MSER5 {
			t.Errorf("%s: %+v, NumPy %+v", c.Name, got, c.MSER5)
		}
		if got.Cut > 0 {
			cut++
		}
	}
	if cut < 5 {
		t.Errorf("only %d series had a warm-up: the cases show little", cut)
	}
}

func TestMeanIntervalIsSciPys(t *testing.T) {
	batches := map[int]int{}
	for _, c := range readOracle(t).Series {
		for _, want := range c.Intervals {
			got, ok := MeanInterval(c.Values, want.Confidence)
			if !ok || got.Batches != want.Batches || got.BatchSize != want.Size || got.Independent != (want.P >= independence) ||
				got.Confidence != want.Confidence || !near(got.Value, want.Mean) || !near(got.HalfWidth, want.HalfWidth) ||
				!near(got.Lag1, want.Lag1) || !near(got.Rise, want.Rise) || !near(got.RiseP, want.RiseP) {
				t.Errorf("%s: %+v, SciPy %+v", c.Name, got, want)
			}
			batches[got.Batches]++
		}
	}
	if batches[mostBatches] == 0 || batches[fewestBatches] == 0 {
		t.Errorf("not every number of batches was chosen: %v", batches)
	}
}

func TestVonNeumannIsStatsmodels(t *testing.T) {
	for _, c := range readOracle(t).Series {
		want := c.Intervals[0]
		values := c.Values[len(c.Values)-want.Batches*want.Size:]
		if lag1, p := vonNeumann(batchMeans(values, want.Size)); !near(lag1, want.Lag1) || !near(p, want.P) {
			t.Errorf("%s: %v, p %v; statsmodels %v, %v", c.Name, lag1, p, want.Lag1, want.P)
		}
	}
}

func TestSNIAIsNumPys(t *testing.T) {
	settled := 0
	for _, c := range readOracle(t).SNIA {
		got := SNIA.Judge(c.Rounds)
		if got.Settled != c.Settled || got.From != c.From || got.To != c.From+5 || !near(got.Average, c.Average) ||
			!near(got.Excursion, c.Excursion) || !near(got.Slope, c.Slope) || !near(got.First, c.First) ||
			!near(got.Last, c.Last) {
			t.Errorf("%v: %+v, NumPy %+v", c.Rounds, got, c)
		}
		if c.Settled {
			settled++
		}
	}
	if settled == 0 || settled == len(readOracle(t).SNIA) {
		t.Error("all verdicts are alike: the cases show little")
	}
}

func TestStudentQuantileIsSciPys(t *testing.T) {
	for _, c := range readOracle(t).Student {
		if got := stats.StudentQuantile(c.P, c.Degrees); !near(got, c.T) {
			t.Errorf("quantile %v with %d degrees of freedom: %v, SciPy %v", c.P, c.Degrees, got, c.T)
		}
	}
}
