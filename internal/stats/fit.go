package stats

import (
	"maps"
	"math"
	"slices"
)

// Fit is the weighted least-squares fit of the logarithms of a design with two crossed factors: treatments, such as
// stacks, and blocks that treatments share, such as rounds. Blocks may miss treatments: a treatment that was not in a
// block is compared with those that were through the treatments that both have met (John, Statistical Design and
// Analysis of Experiments, 1971, chapter 11). Each treatment has a variance of its own, moderated over all of them,
// see moderate.
type Fit struct {
	Margin float64 // as a share, up to which treatments are equally good; 0 for the usual one

	// Bias is the standard deviation of what stays between two treatments in all blocks and is no effect of theirs, see
	// Calibrate: every Contrast is as much less certain.
	Bias        float64
	BiasDegrees int // of freedom of Bias

	effects  []float64
	cells    []Cell
	means    []float64   // of cells
	weights  []float64   // of a cell of each treatment
	inverse  [][]float64 // generalised inverse of the treatments' information matrix
	counts   [][]float64 // cells of each block, by treatment
	size     []float64   // weight of the cells of each block
	piece    []int       // of each treatment; -1 for one without a cell
	blocks   []float64   // effects of blocks
	squares  float64     // of residuals
	rank     int
	variance []float64 // of a cell of each treatment, moderated
	degrees  []float64 // of these variances
	// products are sums over the cells of a treatment, the first index: of the weight that a cell has in the effect of
	// one treatment, times that in the effect of another.
	products [][][]float64
}

// FitTwoWay fits cells, each by the mean of its Logs. Cells of the same treatment and block count apart,
// and those of a treatment that share a Cluster count once, where there are several clusters. Those of a Run count
// once where there are several runs: what a treatment has in one run and not in the next is a part of every error
// then. Few runs hardly show it of one treatment, so that it is drawn towards what it is of all, see RunSpread.
func FitTwoWay(cells []Cell) *Fit {
	units, severalRuns := byUnit(cells)
	f := fitCells(units)
	for range reweighed {
		f.reweigh()
		f.solve()
		f.spread()
	}
	if severalRuns {
		f.drawToRuns(cells)
	} else {
		moderate(f.variance, f.degrees)
	}
	f.multiply()
	return f
}

// drawToRuns draws the variance of each treatment's mean of a run towards what is to be expected of it: what its cells
// differ by within runs, and how much more the means of runs differ, over all treatments.
func (f *Fit) drawToRuns(cells []Cell) {
	within, withinDegrees := withinRuns(cells, len(f.piece))
	moderate(within, withinDegrees)
	counts, means := make([]float64, len(f.piece)), make([]float64, len(f.piece))
	for _, c := range cells {
		counts[c.Treatment]++
	}
	for _, c := range f.cells {
		means[c.Treatment]++
	}
	spread := RunSpreadOf(cells)
	for s, d := range f.degrees {
		if spread.Degrees == 0 || withinDegrees[s] == 0 || means[s] == 0 {
			continue
		}
		expected := spread.Times * within[s] * means[s] / counts[s]
		worth := 1 / (1/spread.Degrees + 1/withinDegrees[s])
		f.variance[s] = (d*f.variance[s] + worth*expected) / (d + worth)
		f.degrees[s] += worth
	}
}

// withinRuns returns the variance of each treatment's cells within runs, with its degrees of freedom.
func withinRuns(cells []Cell, treatments int) (variance, degrees []float64) {
	variance, degrees = make([]float64, treatments), make([]float64, treatments)
	byRun := map[int][]Cell{}
	for _, c := range cells {
		byRun[c.Run] = append(byRun[c.Run], c)
	}
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		fit := fitCells(byRun[run])
		for s, d := range fit.degrees {
			variance[s], degrees[s] = variance[s]+d*fit.variance[s], degrees[s]+d
		}
	}
	for s, d := range degrees {
		if d > 0 {
			variance[s] /= d
		}
	}
	return variance, degrees
}

// reweighed is how often the weights of treatments are set anew: they hardly change after that.
const reweighed = 3

// reweigh gives a treatment that varies much less weight in the effects of blocks, so that what it varies by is not
// taken for that of others. Variances are hardly known where there are few blocks: each has some of their mean added.
func (f *Fit) reweigh() {
	const ofMean = 0.3
	mean, _ := MeanAndSquares(f.variance)
	if mean == 0 {
		return
	}
	for s, v := range f.variance {
		f.weights[s] = mean / (v + ofMean*mean)
	}
}

func fitCells(cells []Cell) *Fit {
	f := &Fit{cells: cells, means: make([]float64, len(cells))}
	treatments, blocks := 0, 0
	for i, c := range cells {
		f.means[i], _ = MeanAndSquares(c.Logs)
		treatments, blocks = max(treatments, c.Treatment+1), max(blocks, c.Block+1)
	}
	f.counts, f.size = make([][]float64, blocks), make([]float64, blocks)
	for b := range f.counts {
		f.counts[b] = make([]float64, treatments)
	}
	for _, c := range cells {
		f.counts[c.Block][c.Treatment]++
	}
	var pieces int
	f.piece, pieces = piecesOf(cells, treatments, blocks)
	f.rank = treatmentsSeen(cells) + blocksSeen(cells) - pieces
	f.weights = slices.Repeat([]float64{1}, treatments)
	f.solve()
	f.spread()
	return f
}

// solve finds the effects of treatments from the equations that blocks are eliminated from, and then those of blocks.
func (f *Fit) solve() {
	n := len(f.piece)
	information, right := make([][]float64, n), make([]float64, n)
	for s := range n {
		information[s] = make([]float64, n)
		for o := range n {
			// The mean of the effects of each piece is set to 0, and so is the effect of a treatment without cells.
			if f.piece[s] >= 0 && f.piece[s] == f.piece[o] || s == o {
				information[s][o] = 1
			}
		}
	}
	sums := make([]float64, len(f.size)) // of blocks
	clear(f.size)
	for i, c := range f.cells {
		w := f.weights[c.Treatment]
		information[c.Treatment][c.Treatment] += w
		right[c.Treatment] += w * f.means[i]
		sums[c.Block] += w * f.means[i]
		f.size[c.Block] += w
	}
	for b, counts := range f.counts {
		for s, n := range counts {
			if n == 0 {
				continue
			}
			n *= f.weights[s]
			right[s] -= n * sums[b] / f.size[b]
			for o, m := range counts {
				information[s][o] -= n * m * f.weights[o] / f.size[b]
			}
		}
	}
	f.inverse = inverseOf(information)
	f.effects = make([]float64, n)
	for s := range n {
		for o := range n {
			f.effects[s] += f.inverse[s][o] * right[o]
		}
	}
	f.blocks = make([]float64, len(f.size))
	for i, c := range f.cells {
		f.blocks[c.Block] += f.weights[c.Treatment] * (f.means[i] - f.effects[c.Treatment]) / f.size[c.Block]
	}
}

// spread sets the variance of each treatment's cells from what the fit leaves of them.
func (f *Fit) spread() {
	n := len(f.piece)
	squares := make([]float64, n)
	f.degrees, f.squares = make([]float64, n), 0
	shares := f.shares()
	for i, c := range f.cells {
		left := f.means[i] - f.effects[c.Treatment] - f.blocks[c.Block]
		squares[c.Treatment] += left * left
		f.squares += left * left
		f.degrees[c.Treatment] += max(0, 1-f.weights[c.Treatment]*f.leverage(c, shares))
	}
	f.variance = make([]float64, n)
	for s := range n {
		if f.degrees[s] > 1e-9 {
			f.variance[s] = squares[s] / f.degrees[s]
		} else {
			f.degrees[s] = 0
		}
	}
}

// shares returns what the mean of each block, the second index, is worth in the effect of each treatment.
func (f *Fit) shares() [][]float64 {
	shares := make([][]float64, len(f.piece))
	for s := range shares {
		shares[s] = make([]float64, len(f.size))
		for b, counts := range f.counts {
			for other, n := range counts {
				if n > 0 {
					shares[s][b] += f.inverse[s][other] * n * f.weights[other] / f.size[b]
				}
			}
		}
	}
	return shares
}

// leverage returns how much the fit follows a cell, by a unit of its weight.
func (f *Fit) leverage(c Cell, shares [][]float64) float64 {
	of := 1/f.size[c.Block] + f.inverse[c.Treatment][c.Treatment] - 2*shares[c.Treatment][c.Block]
	for s, n := range f.counts[c.Block] {
		of += n * f.weights[s] / f.size[c.Block] * shares[s][c.Block]
	}
	return of
}

// multiply sets products.
func (f *Fit) multiply() {
	n := len(f.piece)
	f.products = make([][][]float64, n)
	for s := range f.products {
		f.products[s] = make([][]float64, n)
		for a := range n {
			f.products[s][a] = make([]float64, n)
		}
	}
	shares, weight := f.shares(), make([]float64, n)
	for _, c := range f.cells {
		for a := range n {
			weight[a] = f.weights[c.Treatment] * (f.inverse[a][c.Treatment] - shares[a][c.Block])
		}
		for a, x := range weight {
			for b, y := range weight {
				f.products[c.Treatment][a][b] += x * y
			}
		}
	}
}

// together returns the covariance of two contrasts with the same treatment: of a above b, and of a above c. Bias is in
// it: each treatment has one of its own.
func (f *Fit) together(a, b, c int) (covariance float64) {
	for s, p := range f.products {
		covariance += f.variance[s] * (p[a][a] - p[a][c] - p[b][a] + p[b][c])
	}
	shared := f.Bias * f.Bias
	if b != c {
		shared /= 2
	}
	return covariance + shared
}

// Level returns what a treatment does on the average of the blocks that it, or what it is compared with, was in: as a
// logarithm, whichever of them it met. ok is false for a treatment without cells.
func (f *Fit) Level(treatment int) (level float64, ok bool) {
	if treatment >= len(f.piece) || f.piece[treatment] < 0 {
		return 0, false
	}
	sum, blocks := 0.0, 0.0
	for b, counts := range f.counts {
		for other, n := range counts {
			if n > 0 && f.piece[other] == f.piece[treatment] {
				sum, blocks = sum+f.blocks[b], blocks+1
				break
			}
		}
	}
	return f.effects[treatment] + sum/blocks, true
}

// Effect returns a treatment's effect, as a logarithm beside the mean of what it can be compared with.
func (f *Fit) Effect(treatment int) float64 { return f.effects[treatment] }

// Block returns a block's effect, as a logarithm: what all treatments that were in it share.
func (f *Fit) Block(block int) float64 { return f.blocks[block] }

// Contrast is the difference of two treatments' effects: the logarithm of a ratio.
type Contrast struct {
	Log     float64
	Error   float64 // standard error of Log
	Degrees int     // of freedom of Error; 0 where it is not known
}

// Contrast returns how far treatment a is above b. ok is false where no chain of blocks connects them. Its error adds
// the treatments' own variances and Bias; its degrees of freedom are Satterthwaite's, and no more than the whole fit
// has.
func (f *Fit) Contrast(a, b int) (c Contrast, ok bool) {
	if a >= len(f.piece) || b >= len(f.piece) || f.piece[a] < 0 || f.piece[a] != f.piece[b] {
		return c, false
	}
	sum, denominator := 0.0, 0.0
	for s, p := range f.products {
		part := f.variance[s] * (p[a][a] - 2*p[a][b] + p[b][b])
		sum += part
		if part > 0 && f.degrees[s] > 0 {
			denominator += part * part / f.degrees[s]
		}
	}
	if bias := f.Bias * f.Bias; bias > 0 {
		sum, denominator = sum+bias, denominator+bias*bias/float64(f.BiasDegrees)
	}
	c.Log = f.effects[a] - f.effects[b]
	c.Error = math.Sqrt(sum)
	whole := float64(len(f.cells) - f.rank)
	switch {
	case sum > 0 && denominator > 0:
		c.Degrees = int(max(min(sum*sum/denominator, whole), min(1, whole)) + 1e-6)
	default:
		c.Degrees = int(whole)
	}
	return c, true
}

// mostLog is how far an end may be from a ratio, as a logarithm: beyond, nothing is known of it.
const mostLog = 20

// Interval returns the ends that each are exceeded with a probability of level, as ratios. They are NaN where the error
// is not known, or so large that no ratio is excluded.
func (c Contrast) Interval(level float64) (low, high float64) {
	if c.Degrees < 1 {
		return math.NaN(), math.NaN()
	}
	half := StudentQuantile(1-level, c.Degrees) * c.Error
	if !(half < mostLog) {
		return math.NaN(), math.NaN()
	}
	return math.Exp(c.Log - half), math.Exp(c.Log + half)
}

// P returns the two-sided p value of the hypothesis that both treatments are equal; 1 where the error is not known.
func (c Contrast) P() float64 {
	switch {
	case c.Degrees < 1 || c.Log == 0:
		return 1
	case c.Error == 0:
		return 0
	}
	return StudentP(c.Log/c.Error, c.Degrees)
}

// ContrastOfRuns compares the means of the subject's runs with those of the baseline's, each a logarithm: Student's t
// for two samples of equal variance.
func ContrastOfRuns(subject, baseline []float64) Contrast {
	mean, squares := MeanAndSquares(sorted(subject))
	baselineMean, baselineSquares := MeanAndSquares(sorted(baseline))
	n, m := float64(len(subject)), float64(len(baseline))
	c := Contrast{Log: mean - baselineMean, Degrees: max(0, len(subject)+len(baseline)-2)}
	if c.Degrees > 0 {
		c.Error = math.Sqrt((squares + baselineSquares) / (n + m - 2) * (1/n + 1/m))
	}
	return c
}

// inverseOf returns the inverse of a matrix that has one, column by column.
func inverseOf(matrix [][]float64) [][]float64 {
	n := len(matrix)
	inverse := make([][]float64, n)
	for i := range inverse {
		inverse[i] = make([]float64, n)
	}
	for column := range n {
		equations := make([]float64, 0, n*(n+1))
		for i, row := range matrix {
			right := 0.0
			if i == column {
				right = 1
			}
			equations = append(append(equations, row...), right)
		}
		Eliminate(equations, n)
		for i := range n {
			inverse[i][column] = equations[i*(n+1)+n]
		}
	}
	return inverse
}

// byUnit returns the cells with those of a treatment that share a run as one, where there are several runs; else with
// those that share a cluster as one, where that is more than one block. Fewer clusters than FewestPairs are no sample
// of clusters: the fit is of them alone then.
func byUnit(cells []Cell) (units []Cell, severalRuns bool) {
	runs, known := unitsOf(cells, func(c Cell) int { return c.Run })
	if known && len(runs) > 1 {
		return joined(cells, runs, func(c Cell) int { return c.Run }), true
	}
	clusters, known := unitsOf(cells, func(c Cell) int { return c.Cluster })
	if known && len(clusters) >= FewestPairs && len(clusters) < blocksSeen(cells) {
		return joined(cells, clusters, func(c Cell) int { return c.Cluster }), false
	}
	return cells, false
}

// unitsOf numbers the units that cells are of. known is false where some cell has none.
func unitsOf(cells []Cell, unit func(Cell) int) (number map[int]int, known bool) {
	number = map[int]int{}
	for _, c := range cells {
		if unit(c) == 0 {
			return nil, false
		}
		if _, seen := number[unit(c)]; !seen {
			number[unit(c)] = len(number)
		}
	}
	return number, true
}

// joined returns one cell for each treatment and unit: the mean of their cells less the effects of blocks. The
// interaction of a treatment with a unit is constant within the unit, so that units vary, and not blocks.
func joined(cells []Cell, number map[int]int, unit func(Cell) int) (means []Cell) {
	numbers := map[[2]int]int{} // of a treatment and a unit, in means
	fit := fitCells(cells)
	usual, _ := MeanAndSquares(fit.blocks)
	for i, c := range cells {
		key := [2]int{c.Treatment, unit(c)}
		k, known := numbers[key]
		if !known {
			k = len(means)
			numbers[key] = k
			means = append(means, Cell{Treatment: c.Treatment, Block: number[unit(c)]})
		}
		means[k].Logs = append(means[k].Logs, fit.means[i]-fit.blocks[c.Block]+usual)
	}
	return means
}
