package rounds

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestRelativeHalfWidthIsSciPys compares with what SciPy says: see the oracle's program beside its results.
func TestRelativeHalfWidthIsSciPys(t *testing.T) {
	text, err := os.ReadFile("../../../stats/stopping/testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Trials struct {
			Means []struct {
				Values               []float64
				Confidence, Relative float64
			}
		}
	}
	if err := json.Unmarshal(text, &oracle); err != nil || len(oracle.Trials.Means) < 18 {
		t.Fatalf("%d cases: %v", len(oracle.Trials.Means), err)
	}
	for _, c := range oracle.Trials.Means {
		got := relativeHalfWidth(c.Values, c.Confidence)
		if math.Abs(got-c.Relative) > 1e-9*max(1, math.Abs(c.Relative)) {
			t.Errorf("%v: %v, SciPy %v", c.Values, got, c.Relative)
		}
	}
}
