package headroom

import (
	"math/rand/v2"
	"testing"
)

// A recording of four hours, and what each part of the answer takes.
func BenchmarkFind(b *testing.B) {
	h := newSimulatedHost(1)
	r := h.record(rand.New(rand.NewPCG(1, 2)), 14_400)
	for b.Loop() {
		if _, err := Find(r, Options{Container: "shop/db", Capacities: []Capacity{{Drive: "nvme0n1", Resource: Operations,
			Value: h.capacity, Source: Given}}}); err != nil {
			b.Fatal(err)
		}
	}
}
