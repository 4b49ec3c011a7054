package stats

import (
	"math"
	"sync"
)

type studentKey struct {
	p       float64
	degrees int
}

var studentKnown sync.Map // of studentKey: float64; a model asks for the same few thousands of times

// StudentQuantile returns the value below which a Student's t with whole
// degrees of freedom falls with probability p, from 0.5 to below 1.
func StudentQuantile(p float64, degrees int) float64 {
	key := studentKey{p, degrees}
	known, ok := studentKnown.Load(key)
	if ok {
		return known.(float64)
	}
	value := studentQuantile(p, degrees)
	studentKnown.Store(key, value)
	return value
}

func studentQuantile(p float64, degrees int) float64 {
	// In the angle atan(t/sqrt(degrees)) the distribution is a finite sum and
	// its range is bounded, so that bisection finds it to the last bits.
	low, high := 0.0, math.Pi/2
	for range 60 {
		middle := (low + high) / 2
		if studentWithin(middle, degrees) < 2*p-1 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Tan(low) * math.Sqrt(float64(degrees))
}

// StudentP returns the two-sided p value of a Student's t with whole degrees
// of freedom: the probability of a value at least as far from 0. It is 0 for
// infinite t, and 1 when t is no number.
func StudentP(t float64, degrees int) float64 {
	if math.IsNaN(t) {
		return 1
	}
	p := 1 - studentWithin(math.Atan(math.Abs(t)/math.Sqrt(float64(degrees))), degrees)
	return min(1, max(0, p))
}

// studentWithin is the probability that a Student's t lies within
// sqrt(degrees)*tan(angle) of 0: Abramowitz and Stegun 26.7.3 and 26.7.4.
func studentWithin(angle float64, degrees int) float64 {
	sin, cos := math.Sincos(angle)
	if degrees%2 == 0 {
		term, sum := 1.0, 1.0
		for i := 2; i < degrees; i += 2 {
			term *= cos * cos * float64(i-1) / float64(i)
			sum += term
		}
		return sin * sum
	}
	term, sum := cos, 0.0
	for i := 1; i < degrees; i += 2 {
		sum += term
		term *= cos * cos * float64(i+1) / float64(i+2)
	}
	return (angle + sin*sum) * 2 / math.Pi
}
