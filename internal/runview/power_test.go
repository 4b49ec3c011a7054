package runview

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// How much setups of the same mix differ is printed, and decides nothing: the mean of many is known better than one,
// and a difference that so many find to be significant is one.
func TestMoreSetupsFindMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	sampleAround := func(rate float64, setups int) (s Sample) {
		for block := 1; block <= setups; block++ {
			value := rate * (1 + 0.1*float64(block%7)) * (1 + 0.05*rng.NormFloat64())
			s = append(s, Unit{Round: block, Setup: block, Values: []float64{value}})
		}
		return s
	}
	v := New(&result.Run{})
	found := 0
	for _, setups := range []int{8, 30, 120} {
		differ := 0
		for range 100 {
			e, ok := v.Effect(IOPS, "b", "a", sampleAround(1030, setups), sampleAround(1000, setups))
			if !ok || e.Floor <= 1 || e.Floor > 1.2 || e.Differs != (e.P < stats.Alpha) { // whatever Floor is
				t.Fatalf("%d setups that differ by 5%%: %+v", setups, e)
			}
			v.AdjustTogether([]*fact.Effect{&e})
			if e.Differs {
				differ++
			}
		}
		if differ < found {
			t.Errorf("%d setups find 3%% in %d of 100, and fewer in %d", setups, differ, found)
		}
		found = differ
	}
	if found < 95 {
		t.Errorf("120 setups find 3%% in %d of 100", found)
	}
}
