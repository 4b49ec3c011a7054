package elasticity_test

import (
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// predicted is what is found of a run that a model was fitted to, which takes long.
var predicted = sync.OnceValue(func() []fact.Finding { return elasticity.Find(runview.New(runtest.Density(true))) })

// What a real run tells of twice the memory is what another run with twice the memory showed:
// about twice as many instances. Twice of what does not bind moves nothing.
func TestTwiceTheMemoryCarriesTwiceAsMany(t *testing.T) {
	found := predicted()
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	finding := found[0]
	d := finding.Facts.(*elasticity.Facts).Elasticity.Doubled
	if d == nil {
		t.Fatalf("nothing is predicted: %+v", finding)
	}
	if d.Line != 5 || d.Off > 0.05 || len(d.Measured) != 7 || len(d.Curve) < 10 {
		t.Errorf("%+v", d)
	}
	for _, m := range d.Moved {
		low, high := 5, 6 // noise may move it by one
		if m.Limit == "memory" {
			low, high = 9, 11
		}
		if m.Low < low || m.High > high || m.Instances < m.Low || m.Instances > m.High {
			t.Errorf("%+v, and not %d to %d", m, low, high)
		}
	}
	const origin = "Predicted, not measured: by a model of this run"
	if why := strings.Join(strings.Fields(finding.Why), " "); !strings.Contains(why, origin) ||
		!strings.Contains(why, "with twice the memory 10") || !strings.Contains(why, "with twice the CPUs and reads a second no more") {
		t.Errorf("it says %q", why)
	}
}
