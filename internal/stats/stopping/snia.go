package stopping

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Criteria define when rounds are steady: over a window of successive rounds, the largest and the smallest value
// differ by at most Excursion of the average, and so do the ends of the least-squares line.
type Criteria struct {
	Window    int     // rounds, at least 2
	Excursion float64 // share of the average
	Slope     float64 // share of the average, over the whole window
}

// SNIA are the criteria of the SNIA Solid State Storage Performance Test
// Specification (version 2.0, definition of steady state).
var SNIA = Criteria{Window: 5, Excursion: 0.20, Slope: 0.10}

// MaxRounds is after how many rounds SNIA's specification gives up on a device
// that has not become steady.
const MaxRounds = 25

// Verdict states whether rounds became steady, with the first window that met the criteria, or else the last one.
type Verdict struct {
	Settled bool
	// From and To delimit the window: rounds From to To-1, counted from 0.
	From, To int
	Average  float64 // of the window, in the unit of the rounds
	// Excursion is the largest less the smallest value of the window, and
	// Slope how far its least-squares line rises (above 0) or falls, both as
	// shares of the average; NaN when that is not above 0.
	Excursion, Slope float64
	// First and Last are the least-squares line at the window's ends, for plots.
	First, Last float64
	Why         string // the reason if not; empty when settled
}

// Judge returns the first window of rounds that meets the criteria. Rounds are measured values, the oldest first;
// they must be finite.
func (c Criteria) Judge(rounds []float64) Verdict {
	if len(rounds) < c.Window {
		v := c.judge(rounds)
		v.Settled, v.To = false, len(rounds)
		v.Why = fmt.Sprintf("only %d of the %d rounds that a window needs were run", len(rounds), c.Window)
		return v
	}
	var v Verdict
	for from := 0; from+c.Window <= len(rounds); from++ {
		v = c.judge(rounds[from : from+c.Window])
		v.From, v.To = from, from+c.Window
		if v.Settled {
			break
		}
	}
	return v
}

func (c Criteria) judge(window []float64) Verdict {
	if len(window) == 0 {
		return Verdict{Excursion: math.NaN(), Slope: math.NaN()}
	}
	v := Verdict{Average: average(window), Excursion: math.NaN(), Slope: math.NaN()}
	rise := leastSquaresRise(window)
	v.First, v.Last = v.Average-rise/2, v.Average+rise/2
	if !(v.Average > 0) {
		v.Why = "no I/O was completed in the window, so there is no average to compare with"
		return v
	}
	v.Excursion = (slices.Max(window) - slices.Min(window)) / v.Average
	v.Slope = rise / v.Average

	var why []string
	if v.Excursion > c.Excursion {
		why = append(why,
			fmt.Sprintf("the rounds differ by %s of their average, %s is allowed", Percent(v.Excursion), Percent(c.Excursion)))
	}
	if math.Abs(v.Slope) > c.Slope {
		moves := "rises"
		if v.Slope < 0 {
			moves = "falls"
		}
		why = append(why,
			fmt.Sprintf("the rate still %s, by %s over the window, %s is allowed", moves, Percent(math.Abs(v.Slope)),
				Percent(c.Slope)))
	}
	v.Settled, v.Why = len(why) == 0, strings.Join(why, "; ")
	return v
}

// leastSquaresRise returns the change of the least-squares line through values, one step apart, from the first to the
// last.
func leastSquaresRise(values []float64) float64 {
	middle := float64(len(values)-1) / 2
	var products, squares float64
	for i, v := range values {
		d := float64(i) - middle
		products += d * v
		squares += d * d
	}
	if squares == 0 {
		return 0
	}
	return products / squares * 2 * middle
}

// Percent writes a share of 1, rounded up, so that what breaks a limit never reads like the limit.
func Percent(share float64) string {
	return fmt.Sprintf("%.4g%%", max(0, math.Ceil(share*1000-1e-9)/10))
}

func average(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
