package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/testkit/soak"
)

// design draws cells of treatments with these effects in so many blocks; missing leaves some out.
func design(r *rand.Rand, effects, deviations []float64, blocks int, shared float64,
	missing func(t, b int) bool) (cells []Cell) {
	for b := range blocks {
		block := shared * r.NormFloat64()
		for t, effect := range effects {
			log := effect + block + deviations[t%len(deviations)]*r.NormFloat64()
			if missing == nil || !missing(t, b) {
				cells = append(cells, Cell{Treatment: t, Block: b, Logs: []float64{log}})
			}
		}
	}
	return cells
}

// The fit of two treatments that met the same blocks is the comparison of pairs.
func TestFitOfTwoIsPaired(t *testing.T) {
	cells := design(rand.New(rand.NewPCG(1, 2)), []float64{0.1, 0}, []float64{0.05}, 6, 0.2, nil)
	var x, y []float64
	for _, c := range cells {
		if c.Treatment == 0 {
			x = append(x, math.Exp(c.Logs[0]))
		} else {
			y = append(y, math.Exp(c.Logs[0]))
		}
	}
	want, _ := PairedRatio(x, y)
	got, ok := FitTwoWay(cells).Contrast(0, 1)
	low, high := got.Interval(Alpha / 2)
	if !ok || !near(math.Exp(got.Log), want.Ratio, 1e-9) || !near(low, want.Low, 1e-9) || !near(high, want.High, 1e-9) ||
		!near(got.P(), want.P, 1e-9) || got.Degrees != 5 {
		t.Errorf("the fit has %+v, %v to %v, and pairs %+v", got, low, high, want)
	}
}

// What blocks share is in no contrast, however few of them two treatments share; treatments that no chain of blocks
// connects have none.
func TestFitOfIncompleteBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	effects := []float64{0.3, 0.2, 0, -0.1}
	cells := design(r, effects, []float64{0}, 9, 1, func(t, b int) bool { return b > 2 && (t+b)%2 == 0 })
	fit := FitTwoWay(cells)
	for a := range effects {
		for b := range effects {
			if c, ok := fit.Contrast(a, b); !ok || !near(c.Log, effects[a]-effects[b], 1e-9) {
				t.Errorf("contrast of %d and %d is %+v", a, b, c)
			}
		}
	}
	apart := FitTwoWay(design(r, effects, []float64{0.1}, 8, 1, func(t, b int) bool { return (t < 2) != (b < 4) }))
	if _, ok := apart.Contrast(0, 2); ok {
		t.Error("treatments that share no block, not even through others, are compared")
	}
	if c, ok := apart.Contrast(2, 3); !ok || c.Degrees < 1 {
		t.Errorf("treatments that share four blocks have %+v", c)
	}
}

// Blocks that share a cluster are one: what treatment and cluster have with each other comes again.
func TestFitByCluster(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	const draws, clusters = 400, 5
	wrong := map[bool]int{}
	for range draws {
		var suits [2][clusters]float64
		for s := range suits {
			for c := range clusters {
				suits[s][c] = 0.05 * r.NormFloat64()
			}
		}
		cells := design(r, []float64{0, 0}, []float64{0.01}, 20, 0.2, nil)
		for i := range cells {
			c := &cells[i]
			c.Logs[0] += suits[c.Treatment][c.Block%clusters]
		}
		for _, known := range []bool{false, true} {
			for i := range cells {
				cells[i].Cluster = 0
				if known {
					cells[i].Cluster = 1 + cells[i].Block%clusters
				}
			}
			if c, _ := FitTwoWay(cells).Contrast(0, 1); c.P() < Alpha {
				wrong[known]++
			}
		}
	}
	if wrong[true] > draws/12 || wrong[false] < draws/4 {
		t.Errorf("equals differ in %d of %d with clusters, and in %d without", wrong[true], draws, wrong[false])
	}
}

// A treatment that varies much makes what is known of the others no wider.
func TestFitOfANoisyThird(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	fit := FitTwoWay(design(r, []float64{0, 0, 0}, []float64{0.001, 0.001, 0.2}, 8, 0.2, nil))
	quiet, _ := fit.Contrast(0, 1)
	noisy, _ := fit.Contrast(0, 2)
	if quiet.Error > noisy.Error/4 {
		t.Errorf("beside one with an error of %v, two quiet ones have %v", noisy.Error, quiet.Error)
	}
}

// Moments of Smyth's model: digamma and trigamma by known values, and a prior that is found.
func TestModerate(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{digamma(1), -0.5772156649015329}, {digamma(0.5), -1.9635100260214235}, {trigamma(1), math.Pi * math.Pi / 6},
		{trigamma(0.5), math.Pi * math.Pi / 2}, {trigammaInverse(trigamma(3.7)), 3.7},
	} {
		if !near(c.got, c.want, 1e-7) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	alone, degrees := []float64{4}, []float64{3}
	if moderate(alone, degrees); alone[0] != 4 || degrees[0] != 3 {
		t.Errorf("a variance by itself becomes %v of %v degrees", alone, degrees)
	}
	variances, degrees := []float64{1, 2, 4, 3, 9}, []float64{3, 3, 3, 3, 3}
	before := slices.Clone(variances)
	moderate(variances, degrees)
	order := []float64{variances[0], variances[1], variances[3], variances[2], variances[4]}
	if !slices.IsSorted(order) || variances[0] <= before[0] || variances[4] >= before[4] {
		t.Errorf("%v become %v", before, variances)
	}
	if slices.Min(degrees) <= 3 {
		t.Errorf("they have %v degrees", degrees)
	}
}

// Of nine, one that is 10% slower is found after four blocks.
func TestFourBlocksFindATenth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	effects := make([]float64, 9)
	effects[4] = math.Log(0.9)
	found, pairs := 0, 0
	for range 100 {
		fit := FitTwoWay(design(r, effects, []float64{0.03}, 4, 0.15, nil))
		for other := range effects {
			if other != 4 {
				pairs++
				if c, _ := fit.Contrast(4, other); c.P() < Alpha/9 { // about what the correction for all 36 asks
					found++
				}
			}
		}
	}
	if found < pairs*8/10 {
		t.Errorf("found in %d of %d pairs", found, pairs)
	}
}

// All bounds hold together in 95 of 100 draws, whether blocks miss treatments or treatments vary by unequal amounts.
func TestBoundsHoldTogether(t *testing.T) {
	soak.WithoutRace(t)
	r := rand.New(rand.NewPCG(1, 7))
	effects := []float64{0, -0.02, -0.02, -0.05, -0.1, -0.3}
	treatments := []int{0, 1, 2, 3, 4, 5}
	const draws = 400
	for name, c := range map[string]struct {
		deviations []float64
		missing    func(t, b int) bool
	}{
		"equal":      {[]float64{0.03}, nil},
		"unequal":    {[]float64{0.02, 0.08, 0.02}, nil},
		"incomplete": {[]float64{0.03}, func(t, b int) bool { return b >= 4 && (t+b)%3 == 0 }},
	} {
		wrong := 0
		for range draws {
			bounds, ok := FitTwoWay(design(r, effects, c.deviations, 8, 0.15, c.missing)).Best(treatments, Alpha)
			if !ok {
				t.Fatal("no bounds")
			}
			for i, b := range bounds {
				others := slices.Delete(slices.Clone(effects), i, i+1)
				if ratio := math.Exp(effects[i] - slices.Max(others)); min(1, ratio) < b.Low || ratio > max(1, b.High) {
					wrong++
					break
				}
			}
		}
		// Three standard deviations above 5%.
		if wrong > draws*8/100 {
			t.Errorf("%s: some bound is wrong in %d of %d draws", name, wrong, draws)
		}
	}
}

// Contenders are those that may be the best, until one is known to be within the margin; they lose those that are far.
func TestContenders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	effects, treatments := []float64{0, -0.01, -0.5, -0.5}, []int{0, 1, 2, 3}
	uncertain := FitTwoWay(design(r, effects, []float64{0.08}, 4, 0.2, nil))
	if open := uncertain.Contenders(treatments, Alpha); !slices.Equal(open, []int{0, 1}) {
		t.Errorf("after four blocks %v", open)
	}
	certain := FitTwoWay(design(r, effects, []float64{0.03}, 200, 0.2, nil))
	if open := certain.Contenders(treatments, Alpha); len(open) != 0 {
		t.Errorf("after many blocks %v", open)
	}
	none := FitTwoWay(design(r, effects, []float64{0.03}, 1, 0.2, nil))
	if open := none.Contenders(treatments, Alpha); !slices.Equal(open, treatments) {
		t.Errorf("after one block %v", open)
	}
}
