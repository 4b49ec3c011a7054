package stopping

import (
	"math"

	"plimsoll/internal/stats"
)

// MeanInterval makes mostBatches batches, or half as many. More than some
// thirty gain little precision (Schmeiser 1982); with fewer than ten, neither
// their variance nor the test of their independence is worth much.
const (
	mostBatches   = 20
	fewestBatches = 10
)

// independence is the level of the two-sided test that batch means are
// independent: high, because to take dependent batches for independent ones
// does harm, and the opposite only costs time.
const independence = 0.2

// Mean is the mean of a series and its confidence interval, Value-HalfWidth
// to Value+HalfWidth, in the unit of the series.
type Mean struct {
	Value, HalfWidth float64
	Confidence       float64 // the interval's, 0 to 1
	// The last Batches*BatchSize samples made up the mean; fewer than Batches
	// samples at the beginning were left over.
	Batches, BatchSize int
	// Lag1 is the autocorrelation of successive batch means, and Independent
	// whether they passed the test of independence. When they did not, the
	// series is short for its memory, and the interval more of a guess.
	Lag1        float64
	Independent bool
	// Rise is the change of the least-squares line through the batch means from the first to the last. RiseP is the p
	// value of the t test that it is 0.
	Rise, RiseP float64
}

// Relative is the half-width as a share of the mean; +Inf when that is 0.
func (m Mean) Relative() float64 {
	if m.Value == 0 {
		return math.Inf(1)
	}
	return m.HalfWidth / math.Abs(m.Value)
}

// Low is the interval's lower limit.
func (m Mean) Low() float64 { return m.Value - m.HalfWidth }

// High is the interval's upper limit.
func (m Mean) High() float64 { return m.Value + m.HalfWidth }

// MeanInterval is the mean of a stationary, autocorrelated series with its
// interval at the given confidence (above 0.5, below 1), by batch means: the
// series is cut into 20 batches, and, when von Neumann's test finds that their
// means are not independent, into 10 (Fishman 1978). The interval is
// Student's, from the variance of the batch means; what positive correlation
// there is between them, significant or not, widens it as in a first-order
// autoregression, by sqrt((1+r)/(1-r)) (as in Tafazzoli and Wilson 2011).
// ok is false for fewer than 10 samples.
func MeanInterval(series []float64, confidence float64) (m Mean, ok bool) {
	for batches := mostBatches; batches >= fewestBatches && !m.Independent; batches /= 2 {
		if size := len(series) / batches; size > 0 {
			m, ok = interval(series[len(series)-batches*size:], size, confidence), true
		}
	}
	return m, ok
}

// interval returns the mean of a series that is a whole number of batches of size, with its interval.
func interval(series []float64, size int, confidence float64) Mean {
	means := batchMeans(series, size)
	k := float64(len(means))
	mean, squares := stats.MeanAndSquares(means)
	m := Mean{Value: mean, Confidence: confidence, Batches: len(means), BatchSize: size}
	var p float64
	m.Lag1, p = vonNeumann(means)
	m.Independent = p >= independence
	m.Rise, m.RiseP = rise(means)
	r := max(0, m.Lag1)
	m.HalfWidth = stats.StudentQuantile((1+confidence)/2, len(means)-1) * math.Sqrt(squares/(k-1)/k*(1+r)/(1-r))
	return m
}

// vonNeumann tests whether successive values are independent. lag1 is 1 - q/2,
// where q is von Neumann's ratio of squared successive differences to squared
// deviations: the autocorrelation at lag 1, but for an end effect. For
// independent normal values it has mean 0 and variance (n-2)/(n^2-1); p is
// that of the two-sided normal approximation. Equal values are independent.
func vonNeumann(values []float64) (lag1, p float64) {
	_, squares := stats.MeanAndSquares(values)
	if squares == 0 {
		return 0, 1
	}
	var differences float64
	for i := 1; i < len(values); i++ {
		d := values[i] - values[i-1]
		differences += d * d
	}
	n := float64(len(values))
	lag1 = 1 - differences/squares/2
	return lag1, math.Erfc(math.Abs(lag1) / math.Sqrt((n-2)/(n*n-1)) / math.Sqrt2)
}

// rise returns the change of the least-squares line through values from the first to the last, and the two-sided p
// value of the t test that its slope is 0.
func rise(values []float64) (rise, p float64) {
	rise = leastSquaresRise(values)
	n := float64(len(values))
	_, squares := stats.MeanAndSquares(values)
	// The line's share of the squares: slope^2 times the squares of 0 to n-1.
	explained := rise * rise / ((n - 1) * (n - 1)) * n * (n*n - 1) / 12
	switch rest := squares - explained; {
	case rise == 0:
		return rise, 1
	case rest <= 0:
		return rise, 0
	default:
		return rise, stats.StudentP(math.Sqrt(explained/rest*(n-2)), len(values)-2)
	}
}
