package placement

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
)

// Rooms say what the model says of the same containers, and that there is none where a limit or a wish is broken.
func TestRooms(t *testing.T) {
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(56, 2))
	full, roomy := 0, 0
	for range 300 {
		fleet := someFleet(m, r, Throughput)
		for i := range fleet.Hosts {
			fleet.Hosts[i].Is.Drives = fleet.Hosts[i].Is.Drives[:1]
		}
		rooms, err := NewRooms(m, fleet)
		if err != nil {
			continue // a container that fits nowhere
		}
		h := r.IntN(len(fleet.Hosts))
		counts := map[string]int{}
		var placed []model.Placed
		var demands []int
		k := rooms.s.kinds[h]
		for d, c := range fleet.Containers {
			n := r.IntN(4)
			if counts[c.Name] = n; n > 0 {
				one := k.single(d, k.able[0])
				one.Count = n
				placed, demands = append(placed, one), append(demands, d)
			}
		}
		if len(placed) == 0 {
			continue
		}
		b := &brute{m: k.model, f: fleet, known: map[string]told{}, alone: rooms.s.alone}
		p99, why := rooms.P99(hostName(&fleet.Hosts[h], 1), counts, fleet.Containers[demands[0]].Name)
		if b.host(h, placed, demands).ok != (why == "") {
			t.Fatalf("%v on %+v: %q, and the model says otherwise", counts, fleet.Hosts[h], why)
		}
		if why != "" {
			full++
			continue
		}
		roomy++
		solved, err := k.model.Solve(k.is, placed)
		if err != nil || math.Abs(p99-solved.Tenants[0].P99) > 1e-12 {
			t.Fatalf("a p99 of %v, and the model has %+v, %v", p99, solved.Tenants[0], err)
		}
	}
	if full < 20 || roomy < 20 {
		t.Errorf("%d full and %d roomy: this shows little", full, roomy)
	}
	if _, why := (&Rooms{&search{}}).P99("none", nil, "c0"); why != `the fleet has no host "none"` {
		t.Errorf("a host that is not there: %q", why)
	}
}
