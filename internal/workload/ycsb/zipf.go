package ycsb

import (
	"math"
	"math/rand/v2"
)

// theta is YCSB's zipfian constant: how skewed requests are.
const theta = 0.99

// zipf draws from 0, 1, ... items-1, of which the first is the most frequent: the
// method of Gray et al., "Quickly Generating Billion-Record Synthetic Databases"
// (SIGMOD 1994), which YCSB uses.
type zipf struct {
	items int64
	zeta  float64 // sum of 1/i^theta over all items
	eta   float64
}

func newZipf(items int64) zipf {
	zeta := harmonic(items)
	return zipf{items: items, zeta: zeta,
		eta: (1 - math.Pow(2/float64(items), 1-theta)) / (1 - firstTwo/zeta)}
}

// rank returns the item at the quantile u, from 0 up to 1.
func (z *zipf) rank(u float64) int64 {
	switch uz := u * z.zeta; {
	case uz < 1 || z.items < 2:
		return 0
	case uz < firstTwo || z.items < 3:
		return 1
	}
	item := int64(float64(z.items) * math.Pow(z.eta*u-z.eta+1, 1/(1-theta)))
	return min(max(item, 0), z.items-1) // rounding may reach the end
}

func (z *zipf) next(random *rand.Rand) int64 { return z.rank(random.Float64()) }

// exactTerms is how many terms of a sum are added up one by one.
const exactTerms = 1000

var (
	firstTwo = terms(2)
	first    = terms(exactTerms)
)

// terms adds up 1/i^theta for i from 1 to n.
func terms(n int64) (sum float64) {
	for i := int64(1); i <= n; i++ {
		sum += math.Pow(float64(i), -theta)
	}
	return sum
}

// harmonic is the sum of 1/i^theta for i from 1 to n: beyond the first terms by the
// Euler-Maclaurin formula, whose error is below 1e-12 there.
func harmonic(n int64) float64 {
	if n <= exactTerms {
		return terms(n)
	}
	a, b := float64(exactTerms), float64(n)
	f := func(x float64) float64 { return math.Pow(x, -theta) }
	slope := func(x float64) float64 { return -theta * math.Pow(x, -theta-1) }
	integral := (math.Pow(b, 1-theta) - math.Pow(a, 1-theta)) / (1 - theta)
	return first + integral + (f(b)-f(a))/2 + (slope(b)-slope(a))/12
}
