package iofit

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model"
)

// What is predicted of a pod is its own share of what the model says, and says the same once it was read.
func TestPrediction(t *testing.T) {
	k := aKind(t, "big", "")
	d := aDemand(t, "class", "writes")
	alone := k.Judge(Stand(nil), d)
	beside := k.Judge(Stand([]*Demand{d, d}), d)
	for _, v := range []Verdict{alone, beside} {
		p := v.Prediction()
		if !(p.Operations > 0 && p.Writes > 0 && p.WriteBytes > 0) || float64(p.Operations) != v.Rate {
			t.Errorf("%+v of %+v", p, v)
		}
		if !math.IsNaN(float64(p.Least)) && !(p.Least > 0 && p.Least < p.Operations) {
			t.Errorf("%+v has an interval that ends above it", p)
		}
		again, err := ParsePrediction(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%s is read as %s, %v", p, again, err)
		}
	}
	if !(beside.Device.Writes <= alone.Device.Writes) {
		t.Errorf("beside others it writes %g/s, and %g/s alone", beside.Device.Writes, alone.Device.Writes)
	}
	unknown := Prediction{Operations: 1, Least: model.Number(math.NaN())}
	if again, err := ParsePrediction(unknown.String()); err != nil || !math.IsNaN(float64(again.Least)) {
		t.Errorf("%+v, %v", again, err)
	}
	for _, wrong := range []string{"", "fast", `{"operations": -1}`, `{"reads": 1e999}`, "[]",
		`{"drive": "` + strings.Repeat("a", 64) + `"}`, strings.Repeat(" ", 1001)} {
		if p, err := ParsePrediction(wrong); err == nil {
			t.Errorf("%q is read as %+v", wrong, p)
		}
	}
}
