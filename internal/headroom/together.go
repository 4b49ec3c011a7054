package headroom

import (
	"math/rand/v2"
	"slices"

	"plimsoll/internal/stats"
)

// Pair is two services that are busiest in the same intervals more often than chance.
type Pair struct {
	A        string   `json:"a"`
	B        string   `json:"b"`
	Drive    string   `json:"drive,omitempty"`
	Resource Resource `json:"resource"`
	// Ratio is how often both are among their busiest 1% of intervals, beside what chance would do.
	Ratio float64 `json:"ratio"`
	// P is the probability, corrected by Holm for all pairs, that services which know nothing of each other would do so:
	// of one of them shifted in time, so that its stretches stay whole.
	P float64 `json:"p"`
}

const (
	busiest        = 0.01
	mostTogether   = 10   // services that are compared with each other: those with most use
	shiftedTests   = 1999 // shifts of one beside the other
	fewestBusy     = 10   // busy intervals of each
	significant    = 0.05
	leastDisplaced = 60 // intervals that a shift has at least
)

// demandOf is the use of a resource by a service, over all intervals.
type demandOf struct {
	service string
	values  []float32
}

// peakTogether returns the pairs of services that peak together, the most frequent first.
func peakTogether(demands []demandOf, drive string, resource Resource, seed uint64) (pairs []Pair) {
	type busy struct {
		service string
		indices []int
		is      []bool
	}
	var candidates []busy
	for _, d := range demands {
		sorted := slices.Clone(d.values)
		slices.Sort(sorted)
		if len(sorted) == 0 {
			continue
		}
		level := float32(sortedQuantile(sorted, 1-busiest))
		b := busy{service: d.service, is: make([]bool, len(d.values))}
		for i, v := range d.values {
			if v > level && v > 0 {
				b.indices, b.is[i] = append(b.indices, i), true
			}
		}
		if len(b.indices) >= fewestBusy {
			candidates = append(candidates, b)
		}
	}
	var ps []float64
	for i := range candidates {
		for _, b := range candidates[i+1:] {
			a := candidates[i]
			n := len(a.is)
			both := func(shift int) (count int) {
				for _, indices := range a.indices {
					if indices += shift; indices >= n {
						indices -= n
					}
					if b.is[indices] {
						count++
					}
				}
				return count
			}
			seen := both(0)
			random := rand.New(rand.NewPCG(seed, uint64(len(ps))))
			asOften := 1
			for range shiftedTests {
				if both(leastDisplaced+random.IntN(max(1, n-2*leastDisplaced))) >= seen {
					asOften++
				}
			}
			expected := float64(len(a.indices)) * float64(len(b.indices)) / float64(n)
			pairs = append(pairs, Pair{A: a.service, B: b.service, Drive: drive, Resource: resource,
				Ratio: float64(seen) / expected})
			ps = append(ps, float64(asOften)/(shiftedTests+1))
		}
	}
	for i, p := range stats.Holm(ps) {
		pairs[i].P = p
	}
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return p.P > significant })
	slices.SortStableFunc(pairs, func(x, y Pair) int {
		switch {
		case x.Ratio > y.Ratio:
			return -1
		case x.Ratio < y.Ratio:
			return 1
		}
		return 0
	})
	return pairs
}
