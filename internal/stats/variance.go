package stats

import "math"

// Cell is one measurement of a design with two factors: a treatment measured
// in a block, by one or several trials, as logarithms.
type Cell struct {
	Treatment, Block int // from 0
	Logs             []float64
}

// Parts are the parts of the variance of logarithms, as standard deviations:
// 0.04 is about 4% of the value. A part that cannot be told is NaN.
type Parts struct {
	Within  float64 // between trials of one cell
	Between float64 // between cells, beyond the variance within them: the effect of making a stack anew
	Blocks  float64 // between blocks, which all treatments share
}

// VarianceParts splits the variance of cells, by the analysis of variance with two crossed factors and trials nested
// in cells, and Henderson's third method for designs that miss some cells (Searle, Casella and McCulloch, Variance
// Components, 1992, chapter 5). Negative components are set to 0.
func VarianceParts(cells []Cell) Parts {
	var (
		within, withinDegrees, inverse float64
		means                          = make([]float64, len(cells))
		treatments, blocks             int
	)
	for i, c := range cells {
		mean, squares := MeanAndSquares(c.Logs)
		means[i] = mean
		within += squares
		withinDegrees += float64(len(c.Logs) - 1)
		inverse += 1 / float64(len(c.Logs))
		treatments, blocks = max(treatments, c.Treatment+1), max(blocks, c.Block+1)
	}
	n := float64(len(cells))
	parts := Parts{Within: math.NaN(), Between: math.NaN(), Blocks: math.NaN()}
	trial := 0.0 // variance between trials of a cell, for what follows
	if withinDegrees > 0 {
		trial = within / withinDegrees
		parts.Within = math.Sqrt(trial)
	}
	alone, both, rank := fitTwoWay(cells, means, treatments, blocks)
	degrees := n - float64(rank)
	if degrees < 1 {
		return parts
	}
	residual := both / degrees
	between := residual
	if withinDegrees > 0 {
		between = max(0, residual-trial*inverse/n)
	}
	parts.Between = math.Sqrt(between)
	extra := float64(rank - treatmentsSeen(cells)) // degrees that blocks take
	if extra > 0 {
		parts.Blocks = math.Sqrt(max(0, (alone-both-extra*residual)/(n-float64(treatmentsSeen(cells)))))
	}
	return parts
}

func treatmentsSeen(cells []Cell) int {
	seen := map[int]bool{}
	for _, c := range cells {
		seen[c.Treatment] = true
	}
	return len(seen)
}

// fitTwoWay returns the squares that treatments alone leave, those that
// treatments and blocks leave, and how many independent numbers the latter
// fit has. The fit is found by turns, each factor's effects given the other's:
// the design is small, and turns end at the least squares.
func fitTwoWay(cells []Cell, means []float64, treatments, blocks int) (alone, both float64, rank int) {
	byTreatment, byBlock := make([]float64, treatments), make([]float64, blocks)
	turn := func(effects []float64, of func(Cell) int, others []float64, otherOf func(Cell) int) (moved float64) {
		sums, counts := make([]float64, len(effects)), make([]float64, len(effects))
		for i, c := range cells {
			sums[of(c)] += means[i] - others[otherOf(c)]
			counts[of(c)]++
		}
		for i := range effects {
			if counts[i] == 0 {
				continue
			}
			next := sums[i] / counts[i]
			moved = max(moved, math.Abs(next-effects[i]))
			effects[i] = next
		}
		return moved
	}
	treatment, block := func(c Cell) int { return c.Treatment }, func(c Cell) int { return c.Block }
	left := func() (squares float64) {
		for i, c := range cells {
			d := means[i] - byTreatment[c.Treatment] - byBlock[c.Block]
			squares += d * d
		}
		return squares
	}
	turn(byTreatment, treatment, byBlock, block)
	alone = left()
	const most, enough = 10_000, 1e-12
	for range most {
		moved := turn(byBlock, block, byTreatment, treatment)
		moved = max(moved, turn(byTreatment, treatment, byBlock, block))
		if moved < enough {
			break
		}
	}
	return alone, left(), treatmentsSeen(cells) + blocksSeen(cells) - pieces(cells, treatments, blocks)
}

func blocksSeen(cells []Cell) int {
	seen := map[int]bool{}
	for _, c := range cells {
		seen[c.Block] = true
	}
	return len(seen)
}

// pieces counts the parts of the design between which nothing is shared: no
// block has treatments of two of them.
func pieces(cells []Cell, treatments, blocks int) int {
	parent := make([]int, treatments+blocks)
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	for _, c := range cells {
		parent[root(c.Treatment)] = root(treatments + c.Block)
	}
	roots := map[int]bool{}
	for _, c := range cells {
		roots[root(c.Treatment)] = true
	}
	return len(roots)
}

// TrialsPerBringUp returns how many trials of a setup are worth their time:
// with costs of a setup and of a trial, in one unit, and the standard
// deviations within setups and between them, so many make an interval of a
// given width in the least time (Kalibera and Jones, ISMM 2013, section 6). It
// is at least 1, and very large where setups do not differ.
func TrialsPerBringUp(bringUp, trial, within, between float64) int {
	if !(within > 0) {
		return 1
	}
	best := math.Ceil(math.Sqrt(bringUp/trial) * within / between)
	return int(max(1, min(best, math.MaxInt32)))
}
