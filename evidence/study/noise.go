package study

import (
	"math"
	"math/rand/v2"
)

// noise is how the trials of a point differ from one another.
type noise struct {
	name, formula string
	// trial is the rate of one trial of a point whose level is 1. It gets the
	// trial's own random numbers, and those that all trials of a block share.
	trial func(own *rand.Rand, block block) float64
	mean  float64 // in the long run; NaN when there is none
}

// block is what the trials that run one after the other in a block share.
type block struct {
	number int
	shock  float64 // standard normal
}

func logNormal(sigma float64) func(*rand.Rand, block) float64 {
	return func(own *rand.Rand, _ block) float64 { return math.Exp(sigma * own.NormFloat64()) }
}

// logNormalMean is the mean of logNormal.
func logNormalMean(sigma float64) float64 { return math.Exp(sigma * sigma / 2) }

// either is low with a probability, else high.
func either(own *rand.Rand, probability, low, high float64) float64 {
	if own.Float64() < probability {
		return low
	}
	return high
}

func student3(rng *rand.Rand) float64 {
	var squares float64
	for range 3 {
		x := rng.NormFloat64()
		squares += x * x
	}
	return rng.NormFloat64() / math.Sqrt(squares/3)
}

func noises() []noise {
	return []noise{
		{"1%", "log-normal, sigma 0.01", logNormal(0.01), logNormalMean(0.01)},
		{"3%", "log-normal, sigma 0.03", logNormal(0.03), logNormalMean(0.03)},
		{"10%", "log-normal, sigma 0.1", logNormal(0.1), logNormalMean(0.1)},
		{"heavy tails", "1 + Student's t, 3 degrees of freedom, sd 5%, not below 0.05",
			func(own *rand.Rand, _ block) float64 {
				return max(0.05, 1+0.05*student3(own)/math.Sqrt(3))
			}, 1},
		{"outliers", "2% noise, and one trial of ten is slower by 30%", func(own *rand.Rand, _ block) float64 {
			return either(own, 0.1, 0.7, 1) * math.Exp(0.02*own.NormFloat64())
		}, 0.97 * logNormalMean(0.02)},
		{"rare outliers", "1% noise, and one trial of thirty takes twice as long", func(own *rand.Rand, _ block) float64 {
			return either(own, 1.0/30, 0.5, 1) * math.Exp(0.01*own.NormFloat64())
		}, (1 - 0.5/30) * logNormalMean(0.01)},
		{"skewed", "0.9 + exponential, mean 0.1", func(own *rand.Rand, _ block) float64 {
			return 0.9 + 0.1*own.ExpFloat64()
		}, 1},
		{"two states", "1% noise, and every other trial, at random, is slower by 10%", func(own *rand.Rand, _ block) float64 {
			return either(own, 0.5, 0.9, 1) * math.Exp(0.01*own.NormFloat64())
		}, 0.95 * logNormalMean(0.01)},
		{"shared by a block", "1% noise, and 5% that all trials of a block share", func(own *rand.Rand, b block) float64 {
			return math.Exp(0.01*own.NormFloat64() + 0.05*b.shock)
		}, logNormalMean(math.Hypot(0.01, 0.05))},
		{"regions", "3% noise, and 15% that all stacks of a block share, as on a region of the disk",
			func(own *rand.Rand, b block) float64 {
				return math.Exp(0.03*own.NormFloat64() + 0.15*b.shock)
			}, logNormalMean(math.Hypot(0.03, 0.15))},
		{"drift", "2% noise, and every block is slower than the last by 1%", func(own *rand.Rand, b block) float64 {
			return math.Exp(0.02*own.NormFloat64() - 0.01*float64(b.number))
		}, math.NaN()},
	}
}
