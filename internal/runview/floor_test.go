package runview

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// So many setups find a small difference to be significant. Where those of the same mix differ by
// more than that, it is not called real.
func TestNoDifferenceBelowWhatBringUpsDifferBy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	of := func(rate, noise float64) (s Sample) {
		for block := 1; block <= 60; block++ {
			value := rate * (1 + 0.1*float64(block%7)) * (1 + noise*rng.NormFloat64())
			s = append(s, Unit{Round: block, Setup: block, Values: []float64{value}})
		}
		return s
	}
	v := New(&result.Run{})
	for _, c := range []struct {
		noise   float64
		differs bool
	}{{0.03, false}, {0.01, true}} {
		e, ok := v.Effect(IOPS, "b", "a", of(1020, c.noise), of(1000, c.noise))
		if !ok || e.P >= stats.Alpha {
			t.Fatalf("setups that differ by %v do not find 2%%: %+v", c.noise, e)
		}
		if e.Floor < 1+c.noise/2 || e.Floor > 1+2*c.noise || e.Differs != c.differs {
			t.Errorf("setups differ by %v: %+v", c.noise, e)
		}
		again := e
		AdjustTogether([]*fact.Effect{&again})
		if again.Differs != c.differs {
			t.Errorf("with others, it is %+v", again)
		}
	}
}
