package stopping

import (
	"math"

	"plimsoll/internal/stats"
)

// firstLook is the share of a level that the first look spends. Most runs are looked at once.
const firstLook = 0.8

// spent returns the share of a level that look k, counted from 0, spends: most for the first, and half of what is left
// for each of the others, so that there may be any number of them.
func spent(k int) float64 {
	if k == 0 {
		return firstLook
	}
	return (1 - firstLook) * math.Exp2(-float64(k))
}

// Look returns the level of the test at the last of several looks, where all of them together find a difference between
// equals with a probability of level at most, one-sided and below 0.5. looks are the numbers of values that each look
// has, ascending: each has those of the look before, so that what it finds beyond that is less than its own level. It
// is the alpha spending of Lan and DeMets (Discrete sequential boundaries for clinical trials, Biometrika 70, 1983)
// for looks that were not planned: the share that a look spends depends on how many there were before it.
func Look(level float64, looks []int) float64 {
	const limit = 32 // of which the last has hardly any share
	if len(looks) > limit {
		return level * spent(len(looks)-1)
	}
	walk := newWalk()
	for k, n := range looks {
		bound := walk.boundFor(level*spent(k), n)
		if k == len(looks)-1 {
			return normalAbove(bound / math.Sqrt(float64(n)))
		}
		walk.pass(bound, n)
	}
	return level
}

// walk is the distribution of a sum of standard normals that no look has rejected: its density over a grid.
type walk struct {
	values    int       // that are summed up
	points    []float64 // of the grid
	densities []float64 // times the width of a cell
}

func newWalk() *walk { return &walk{points: []float64{0}, densities: []float64{1}} }

// probabilityAbove returns the probability that the sum of a number of values is above a bound, and that no look before
// was above its bound.
func (w *walk) probabilityAbove(bound float64, values int) (p float64) {
	apart := math.Sqrt(float64(values - w.values))
	for i, d := range w.densities {
		p += d * normalAbove((bound-w.points[i])/apart)
	}
	return p
}

// boundFor returns the bound that the sum of so many values is above with a probability.
func (w *walk) boundFor(p float64, values int) float64 {
	low, high := 0.0, 12*math.Sqrt(float64(values))
	for range 50 {
		middle := (low + high) / 2
		if w.probabilityAbove(middle, values) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// pass goes on to a number of values, given that the sum is not above a bound.
func (w *walk) pass(bound float64, values int) {
	const cells = 200
	apart := math.Sqrt(float64(values - w.values))
	from := -8 * math.Sqrt(float64(values))
	width := (bound - from) / cells
	next := walk{values: values}
	for i := range cells {
		point := from + (float64(i)+0.5)*width
		sum := 0.0
		for j, d := range w.densities {
			z := (point - w.points[j]) / apart
			sum += d * math.Exp(-z*z/2)
		}
		next.points, next.densities = append(next.points, point), append(next.densities, sum*width/apart/math.Sqrt(2*math.Pi))
	}
	*w = next
}

func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// Counted returns the looks that count: those at which something is concluded, each at more values than the one before.
func Counted(looks []int) (counted []int) {
	for _, n := range looks {
		if n >= stats.FewestPairs && (len(counted) == 0 || n > counted[len(counted)-1]) {
			counted = append(counted, n)
		}
	}
	return counted
}
