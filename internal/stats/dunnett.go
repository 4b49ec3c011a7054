package stats

import (
	"math"
	"sync"
)

type dunnettKey struct {
	level       float64
	statements  int
	degrees     int
	correlation int // in twentieths
}

var dunnettKnown sync.Map // of dunnettKey: float64, since they are slow to compute and always the same

// Dunnett returns the value that the greatest of several Student's t exceeds with a probability of level, below 0.5.
// The statements share their estimate of the error, with its degrees of freedom, and any two of them have at least the
// given correlation: they are comparisons of several treatments with the same one (Dunnett, A multiple
// comparison procedure for comparing several treatments with a control, Journal of the American Statistical
// Association 50, 1955; that less correlation is on the safe side: Slepian 1962). Degrees and correlation are rounded
// to the safe side.
func Dunnett(level float64, statements, degrees int, correlation float64) float64 {
	const steps = 20
	shared := int(steps * min(max(correlation, 0), 0.95) * (1 + 1e-9))
	key := dunnettKey{level, max(1, statements), roundedDegrees(degrees), shared}
	if known, ok := dunnettKnown.Load(key); ok {
		return known.(float64)
	}
	greatest := greatestOf{statements: float64(key.statements), correlation: float64(key.correlation) / steps}
	greatest.spread(key.degrees)
	low, high := 0.0, StudentQuantile(1-level/float64(key.statements), key.degrees) // Bonferroni
	for high-low > 1e-5*high {
		middle := (low + high) / 2
		if greatest.probabilityBelow(middle) < 1-level {
			low = middle
		} else {
			high = middle
		}
	}
	dunnettKnown.Store(key, high)
	return high
}

// roundedDegrees rounds degrees of freedom down to fewer numbers: quantiles hardly differ by the last of many.
func roundedDegrees(degrees int) int {
	step := 1
	switch {
	case degrees >= 200:
		return 200
	case degrees >= 60:
		step = 20
	case degrees >= 20:
		step = 4
	}
	return degrees - degrees%step
}

// greatestOf is the distribution of the greatest of several correlated Student's t: that of normals which share a part,
// divided by an estimate of their standard deviation.
type greatestOf struct {
	statements, correlation float64
	deviations, odds        []float64 // of the estimate
}

// spread sets the estimates that have any odds: by the trapezoidal rule over their logarithm, which converges fast for
// what vanishes at both ends.
func (g *greatestOf) spread(degrees int) {
	const points = 64
	n := float64(degrees)
	wide := 8 / math.Sqrt(2*n)
	from, to := -max(16/n, wide), min(wide, 2)
	step := (to - from) / points
	half, _ := math.Lgamma(n / 2)
	total := 0.0
	for i := range points + 1 {
		log := from + float64(i)*step
		square := math.Exp(2 * log)
		odds := math.Exp(n*log-n*square/2+n/2*math.Log(n/2)-half) * 2 * step
		g.deviations, g.odds = append(g.deviations, math.Exp(log)), append(g.odds, odds)
		total += odds
	}
	for i := range g.odds {
		g.odds[i] /= total
	}
}

// probabilityBelow returns the probability that all statements are below a value.
func (g *greatestOf) probabilityBelow(value float64) (p float64) {
	const reach, step = 6, 0.25
	ownDeviation := math.Sqrt(1 - g.correlation)
	for i, deviation := range g.deviations {
		inside := 0.0
		for z := -float64(reach); z <= reach; z += step {
			alone := normalBelow((value*deviation + math.Sqrt(g.correlation)*z) / ownDeviation)
			inside += step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * math.Pow(alone, g.statements)
		}
		p += g.odds[i] * inside
	}
	return p
}

// normalBelow is the probability that a standard normal is below a value.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
