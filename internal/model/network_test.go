package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func anyFlow(t *rapid.T, name string) flow {
	var d, sharp stationed
	for s := range d {
		if rapid.Bool().Draw(t, name+" uses") {
			d[s] = rapid.Float64Range(1e-6, 1e-2).Draw(t, name+" demand")
		}
		sharp[s] = rapid.Float64Range(0.5, 30).Draw(t, name+" sharp")
	}
	return flow{clients: rapid.Float64Range(1, 500).Draw(t, name+" clients"),
		base: rapid.Float64Range(1e-5, 1e-1).Draw(t, name+" base"), sharp: sharp,
		demand: func(float64) stationed { return d }}
}

// No station does more than it can, and the clients of each flow are either busy with
// their own or wait: Little's law.
func TestNoStationIsOverloaded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := []flow{anyFlow(t, "a"), anyFlow(t, "b"), anyFlow(t, "c")}
		rates, used := solve(flows)
		for i, f := range flows {
			var others stationed
			for s, u := range used[i] {
				if u > 1+1e-6 {
					t.Fatalf("flow %d finds station %d to be used %v times", i, s, u)
				}
				others[s] = u - rates[i]*f.demand(rates[i])[s]
			}
			if in := rates[i] * f.cycle(rates[i]*(1-1e-7), others); math.Abs(in/f.clients-1) > 1e-2 {
				t.Fatalf("flow %d has %v clients, and %v are in its cycle", i, f.clients, in)
			}
		}
	})
}

// Two halves of a class do what the whole does.
func TestHalvesDoWhatTheWholeDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyFlow(t, "a")
		d := whole.demand(0)
		d[1] = 0 // which each class has for itself
		whole.demand = func(float64) stationed { return d }
		half := whole
		half.clients /= 2
		one, _ := solve([]flow{whole})
		two, _ := solve([]flow{half, half})
		if sum := two[0] + two[1]; math.Abs(sum/one[0]-1) > 1e-4 {
			t.Fatalf("halves do %v, and the whole %v", sum, one[0])
		}
	})
}

// More of a resource, or fewer others, is never worse.
func TestMoreIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFlow(t, "a")
		faster := f
		s := rapid.IntRange(0, len(stations)-1).Draw(t, "station")
		faster.demand = func(rate float64) stationed {
			d := f.demand(rate)
			d[s] /= 1.5
			return d
		}
		slow, _ := solve([]flow{f})
		fast, _ := solve([]flow{faster})
		beside, _ := solve([]flow{f, anyFlow(t, "b")})
		if fast[0] < slow[0]*(1-1e-6) {
			t.Fatalf("with half more of station %d it does %v instead of %v", s, fast[0], slow[0])
		}
		if beside[0] > slow[0]*(1+1e-6) {
			t.Fatalf("beside another it does %v, and alone %v", beside[0], slow[0])
		}
	})
}

// Where waiting begins late, the rate is the least of the bounds.
func TestTheRateIsTheLeastBound(t *testing.T) {
	f := flow{clients: 8, base: 2e-3, demand: func(float64) stationed { return stationed{1e-4, 0, 0, 4e-4} }}
	for s := range f.sharp {
		f.sharp[s] = 2000
	}
	for clients, want := range map[float64]float64{1: 500, 4: 2000, 8: 2500, 80: 2500} {
		f.clients = clients
		if rates, _ := solve([]flow{f}); math.Abs(rates[0]/want-1) > 0.01 {
			t.Errorf("%v clients do %v, and the least bound is %v", clients, rates[0], want)
		}
	}
}
