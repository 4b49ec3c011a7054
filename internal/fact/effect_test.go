package fact_test

import (
	"math"
	"testing"

	"plimsoll/internal/fact"
)

// A table says of a ratio whether it can be told from chance, and nothing of an interval that there is not.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		effect          *fact.Effect
		ratio, interval string
	}{
		{&fact.Effect{Ratio: 0.81, Low: 0.8, High: 0.82, Differs: true}, "0.81x", "0.80 to 0.82"},
		{&fact.Effect{Ratio: 0.81, Low: 0.6, High: 1.2}, "~", "0.60 to 1.20"},
		{&fact.Effect{Ratio: 4, Low: 0.07, High: 70, Differs: true}, "4.0x", "not known"},
		{&fact.Effect{Ratio: 4, Low: 1, High: math.Inf(1), Differs: true}, "4.0x", "-"},
		{&fact.Effect{Ratio: 0.81, TooFew: true}, "too few", "-"},
		{&fact.Effect{}, "-", "-"},
		{nil, "-", "-"},
	} {
		ratio, interval := c.effect.Cells()
		if ratio.String() != c.ratio || interval.String() != c.interval {
			t.Errorf("%+v is %q, %q, want %q, %q", c.effect, ratio, interval, c.ratio, c.interval)
		}
	}
}

func TestWritten(t *testing.T) {
	for want, e := range map[string]*fact.Effect{
		"0.83x (0.78 to 0.89)":   {Ratio: 0.83, Low: 0.78, High: 0.89, Differs: true},
		"~ 1.01x (0.98 to 1.03)": {Ratio: 1.01, Low: 0.98, High: 1.03},
		"4.0x (not known)":       {Ratio: 4, Low: 0.07, High: 70, Differs: true},
		"4.0x":                   {Ratio: 4, TooFew: true},
	} {
		if got := e.Written(); got != want {
			t.Errorf("%+v is %q, want %q", e, got, want)
		}
	}
}
