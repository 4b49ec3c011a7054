package noise

import (
	"testing"

	"plimsoll/internal/fact"
)

// What stands under a table says what copies differ by, and what rates vary by, as far as it is known.
func TestRow(t *testing.T) {
	share := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		n    fact.Noise
		want string
		line string
	}{
		{fact.Noise{}, "", ""},
		{fact.Noise{Within: share(0.02), Blocks: share(0)}, "rates vary by 2% within a setup and less than 0.1% between rounds", "noise: "},
		{fact.Noise{Twin: "a", Control: &fact.Effect{TooFew: true}}, "so few setups do not show how far two copies of a differ",
			"noise floor: "},
		{fact.Noise{Twin: "a", Control: &fact.Effect{Ratio: 1.05}, Between: share(0.1)},
			"two copies of a differ by 5%; rates vary by 10% between setups", "noise floor: "},
	} {
		c.n.Text = row(c.n)
		if c.n.Text != c.want || c.n.Line() != c.line+c.want {
			t.Errorf("it says %q, want %q", c.n.Line(), c.line+c.want)
		}
	}
}

// Many workloads are told of together.
func TestSpans(t *testing.T) {
	low, high := 0.01, 0.2
	first, second := fact.Noise{Workload: "w", Within: &low}, fact.Noise{Workload: "x", Within: &high}
	if got := (Facts{byWorkload: []fact.Noise{first, second,
		first}}).why(); got != "Under w, rates vary by 1% within a setup. Under x, rates vary by "+
		"20% within a setup. Under w, rates vary by 1% within a setup. In each round all mixes use the same region of the disk, "+
		"one after the other." {
		t.Error(got)
	}
	many := Facts{byWorkload: []fact.Noise{first, second, first, first}}
	if got := many.title(); got != "Equal trials differ in their rates by 1% to 20% within a setup" {
		t.Error(got)
	}
}
