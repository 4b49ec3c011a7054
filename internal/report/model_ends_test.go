package report

import (
	"math"
	"testing"

	"plimsoll/internal/model"
)

// An interval that says nothing is not printed as numbers.
func TestEndsOfAnInterval(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0.001, 0.002, "1.00 ms to 2.00 ms"}, {nan, nan, "not known"}, {1e-5, 4, "not known"}, {0, 1, "not known"},
		{1, math.Inf(1), "not known"},
	} {
		got := ends(model.Estimate{Low: model.Number(c.low), High: model.Number(c.high)}, secondsText)
		if got != c.want {
			t.Errorf("%v to %v: %q, not %q", c.low, c.high, got, c.want)
		}
	}
}
