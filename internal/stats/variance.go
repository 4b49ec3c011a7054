package stats

import (
	"maps"
	"math"
	"slices"
)

// Cell is one measurement of a design with two factors: a treatment measured
// in a block, by one or several trials, as logarithms.
type Cell struct {
	Treatment, Block int // from 0
	Cluster          int // from 1, of blocks that share more than their number, such as a region; 0 for none
	Run              int // from 1, of pooled runs, each of blocks of its own; 0 where there is one
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
		sums                           = map[int][]float64{} // means of cells, by treatment
	)
	for _, c := range cells {
		mean, squares := MeanAndSquares(c.Logs)
		sums[c.Treatment] = append(sums[c.Treatment], mean)
		within += squares
		withinDegrees += float64(len(c.Logs) - 1)
		inverse += 1 / float64(len(c.Logs))
	}
	alone := 0.0 // squares that treatments without blocks leave
	for _, treatment := range slices.Sorted(maps.Keys(sums)) {
		_, squares := MeanAndSquares(sums[treatment])
		alone += squares
	}
	n := float64(len(cells))
	parts := Parts{Within: math.NaN(), Between: math.NaN(), Blocks: math.NaN()}
	trial := 0.0 // variance between trials of a cell, for what follows
	if withinDegrees > 0 {
		trial = within / withinDegrees
		parts.Within = math.Sqrt(trial)
	}
	fit := fitCells(cells)
	both, degrees := fit.squares, n-float64(fit.rank)
	if degrees < 1 {
		return parts
	}
	residual := both / degrees
	between := residual
	if withinDegrees > 0 {
		between = max(0, residual-trial*inverse/n)
	}
	parts.Between = math.Sqrt(between)
	extra := float64(fit.rank - treatmentsSeen(cells)) // degrees that blocks take
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

func blocksSeen(cells []Cell) int {
	seen := map[int]bool{}
	for _, c := range cells {
		seen[c.Block] = true
	}
	return len(seen)
}

// piecesOf returns the part of the design that each treatment belongs to, -1 for one without cells, and the number of
// parts: no block has treatments of two of them.
func piecesOf(cells []Cell, treatments, blocks int) (piece []int, pieces int) {
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
	seen := make([]bool, treatments)
	for _, c := range cells {
		parent[root(c.Treatment)] = root(treatments + c.Block)
		seen[c.Treatment] = true
	}
	number := map[int]int{}
	piece = make([]int, treatments)
	for t := range piece {
		piece[t] = -1
		if !seen[t] {
			continue
		}
		r := root(t)
		if _, known := number[r]; !known {
			number[r] = len(number)
		}
		piece[t] = number[r]
	}
	return piece, len(number)
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
