package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// shared are the stations that all flows of tests use; each has one more for itself.
const shared = 6

func anyFlow(t *rapid.T, name string, own int) flow {
	f := flow{clients: rapid.Float64Range(1, 500).Draw(t, name+" clients"), count: 2,
		base: rapid.Float64Range(1e-5, 1e-1).Draw(t, name+" base")}
	f.writes = Writes{At1: 1, Batch: Number(rapid.Float64Range(-1, mostBatch).Draw(t, name+" batch"))}
	for s := range shared + 1 {
		if s == shared {
			s += own
		}
		if rapid.Bool().Draw(t, name+" uses") {
			u := use{station: s, sharp: rapid.Float64Range(0.5, 30).Draw(t, name+" sharp"),
				fixed: rapid.Float64Range(1e-6, 1e-2).Draw(t, name+" demand")}
			if rapid.Bool().Draw(t, name+" writes") && f.writes.Batch > 0 {
				u.writes = u.fixed
			}
			f.uses = append(f.uses, u)
		}
	}
	return f
}

// No station does more than it can, and the clients of each flow are either busy with
// their own or wait: Little's law.
func TestNoStationIsOverloaded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var flows []flow
		for i := range rapid.IntRange(1, 6).Draw(t, "flows") {
			flows = append(flows, anyFlow(t, string(rune('a'+i)), i))
		}
		rates, used := solve(flows, shared+len(flows))
		for s, u := range used {
			if !(u < 1) {
				t.Fatalf("station %d is used %v times", s, u)
			}
		}
		for i, f := range flows {
			cycle := f.base
			for _, u := range f.uses {
				cycle += (u.fixed + u.writes*f.writes.At(rates[i]/f.count)) * wait(used[u.station], u.sharp)
			}
			if in := rates[i] * cycle; !(math.Abs(in/f.clients-1) < 1e-5) {
				t.Fatalf("flow %d has %v clients, and %v are in its cycle", i, f.clients, in)
			}
		}
	})
}

// Two halves of a class do what the whole does.
func TestHalvesDoWhatTheWholeDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyFlow(t, "a", 0)
		whole.writes.Batch = 0
		half := whole
		half.clients, half.count = half.clients/2, half.count/2
		one, _ := solve([]flow{whole}, shared+1)
		two, _ := solve([]flow{half, half}, shared+1)
		if sum := two[0] + two[1]; math.Abs(sum/one[0]-1) > 1e-6 {
			t.Fatalf("halves do %v, and the whole %v", sum, one[0])
		}
	})
}

// More of a resource, or fewer others, is never worse; a flow without clients changes nothing.
func TestMoreIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFlow(t, "a", 0)
		faster := f
		faster.uses = nil
		s := rapid.IntRange(0, shared).Draw(t, "station")
		for _, u := range f.uses {
			if u.station == s {
				u.fixed, u.writes = u.fixed/1.5, u.writes/1.5
			}
			faster.uses = append(faster.uses, u)
		}
		slow, _ := solve([]flow{f}, shared+2)
		fast, _ := solve([]flow{faster}, shared+2)
		other := anyFlow(t, "b", 1)
		beside, _ := solve([]flow{f, other}, shared+2)
		if fast[0] < slow[0]*(1-1e-6) {
			t.Fatalf("with half more of station %d it does %v instead of %v", s, fast[0], slow[0])
		}
		if beside[0] > slow[0]*(1+1e-6) {
			t.Fatalf("beside another it does %v, and alone %v", beside[0], slow[0])
		}
		other.clients = 0
		if none, _ := solve([]flow{f, other}, shared+2); none[1] != 0 || math.Abs(none[0]/slow[0]-1) > 1e-9 {
			t.Fatalf("beside one that asks for nothing it does %v, and alone %v", none, slow[0])
		}
	})
}

// Where waiting begins late, the rate is the least of the bounds.
func TestTheRateIsTheLeastBound(t *testing.T) {
	f := flow{base: 2e-3, count: 1, uses: []use{{0, 2000, 1e-4, 0, 0}, {3, 2000, 4e-4, 0, 0}}}
	for clients, want := range map[float64]float64{1: 500, 4: 2000, 8: 2500, 80: 2500} {
		f.clients = clients
		if rates, _ := solve([]flow{f}, 4); math.Abs(rates[0]/want-1) > 0.01 {
			t.Errorf("%v clients do %v, and the least bound is %v", clients, rates[0], want)
		}
	}
}

// solve returns the rates of flows, and what is used of each station.
func solve(flows []flow, stations int) (rates, used []float64) {
	var s search
	s.solve(flows, stations, nil)
	return s.now.rates, s.now.used
}
