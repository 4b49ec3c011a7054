package stopping

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// However often equals are looked at, they are found to differ no more often than the level has it.
func TestLooksSpendTheLevel(t *testing.T) {
	const level, draws = 0.05, 40_000
	looks := []int{4, 6, 8, 10, 14, 20, 30}
	bounds := map[int]float64{} // of the mean times the root of the number
	for k := range looks {
		bounds[looks[k]] = boundOf(Look(level, looks[:k+1]))
	}
	r := rand.New(rand.NewPCG(1, 2))
	once, first := 0, 0
	for range draws {
		sum, found := 0.0, false
		for n := 1; n <= 30; n++ {
			sum += r.NormFloat64()
			bound, looked := bounds[n]
			found = found || looked && sum > bound*math.Sqrt(float64(n))
			if n == looks[0] && found {
				first++
			}
		}
		if found {
			once++
		}
	}
	shareOf := func(n int) float64 { return float64(n) / draws }
	if p := shareOf(once); p > level+0.004 || p < level*0.9 {
		t.Errorf("equals differ at one look or another in %.4f of runs, of which %.4f is spent", p, level)
	}
	if p := shareOf(first); math.Abs(p-firstLook*level) > 0.004 {
		t.Errorf("the first look finds %.4f, not %.4f", p, firstLook*level)
	}
}

// boundOf returns the value that a standard normal exceeds with a probability.
func boundOf(p float64) float64 {
	low, high := 0.0, 10.0
	for range 60 {
		if middle := (low + high) / 2; normalAbove(middle) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// A look at hardly more values than the one before spends what it has nearly in full: it finds little that is new.
func TestLooksAtTheSameCostLittle(t *testing.T) {
	alone, near, far := Look(0.05, []int{30}), Look(0.05, []int{29, 30}), Look(0.05, []int{4, 30})
	if !(near > far) || !(alone > far) || far < 0.05*spent(1) {
		t.Errorf("alone %v, soon after another %v, long after it %v", alone, near, far)
	}
}

func TestCounted(t *testing.T) {
	if c := Counted([]int{2, 4, 4, 3, 9}); !slices.Equal(c, []int{4, 9}) {
		t.Errorf("%v count", c)
	}
}

// Looks that a hostile file names are a level all the same.
func TestAttackLooks(t *testing.T) {
	for _, looks := range [][]int{nil, {0}, {-5, math.MaxInt}, {4, math.MaxInt}, {math.MinInt, 4, 5}} {
		if level := Look(0.05, Counted(looks)); !(level > 0) || level > 0.05 {
			t.Errorf("%v: %v", looks, level)
		}
	}
}
