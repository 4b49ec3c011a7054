package stopping

import (
	"math"
	"math/rand/v2"
)

// perSecond is how many samples of a rate each series has in a second.
const perSecond = 4

// level is the long-run mean of the made series, in IOPS.
const level = 10000

// source makes one replay of a series: n samples, 250 ms each.
type source struct {
	kind, name string
	// formula says how the series is made, for the documentation.
	formula string
	make    func(rng *rand.Rand, n int) []float64
	// mean is the long-run mean, the truth that an interval must hold; NaN when
	// there is none, because the series never settles.
	mean float64
}

// made are the synthetic series. Times are in seconds, shares are of the level;
// "noise 5%" is independent and normal with that standard deviation.
func made() []source {
	var sources []source
	add := func(kind, name, formula string, shape func(rng *rand.Rand, n int) []float64) {
		sources = append(sources, source{kind, name, formula, scaled(shape), level})
	}
	never := func(name, formula string, shape func(rng *rand.Rand, n int) []float64) {
		sources = append(sources, source{"never settles", name, formula, scaled(shape), math.NaN()})
	}

	add("white noise", "constant", "1", constant)
	add("white noise", "white-1", "1 + noise 1%", plus(constant, white(0.01)))
	add("white noise", "white-5", "1 + noise 5%", plus(constant, white(0.05)))
	add("white noise", "white-15", "1 + noise 15%", plus(constant, white(0.15)))
	add("white noise", "white-30", "1 + noise 30%", plus(constant, white(0.30)))

	add("AR(1)", "ar-50", "1 + AR(1), phi 0.5, sd 8%", plus(constant, autoregression(0.5, 0.08)))
	add("AR(1)", "ar-80", "1 + AR(1), phi 0.8, sd 8%", plus(constant, autoregression(0.8, 0.08)))
	add("AR(1)", "ar-90", "1 + AR(1), phi 0.9, sd 5%", plus(constant, autoregression(0.9, 0.05)))
	add("AR(1)", "ar-95", "1 + AR(1), phi 0.95, sd 4%", plus(constant, autoregression(0.95, 0.04)))
	add("AR(1)", "ar-98", "1 + AR(1), phi 0.98, sd 3%", plus(constant, autoregression(0.98, 0.03)))
	add("AR(1)", "ar-99", "1 + AR(1), phi 0.99, sd 2%", plus(constant, autoregression(0.99, 0.02)))
	add("AR(1)", "ar-mixed", "1 + noise 5% + AR(1), phi 0.98, sd 2%",
		plus(constant, white(0.05), autoregression(0.98, 0.02)))

	add("ramp to plateau", "ramp-2", "1 - 0.8 exp(-t/2) + noise 5%", plus(constant, decay(-0.8, 2), white(0.05)))
	add("ramp to plateau", "ramp-5", "1 - 0.8 exp(-t/5) + noise 5%", plus(constant, decay(-0.8, 5), white(0.05)))
	add("ramp to plateau", "ramp-10", "1 - 0.8 exp(-t/10) + noise 5%", plus(constant, decay(-0.8, 10), white(0.05)))
	add("ramp to plateau", "ramp-20", "1 - 0.8 exp(-t/20) + noise 5%", plus(constant, decay(-0.8, 20), white(0.05)))
	add("ramp to plateau", "fresh-5", "1 + 1.5 exp(-t/5) + AR(1), phi 0.7, sd 5%",
		plus(constant, decay(1.5, 5), autoregression(0.7, 0.05)))
	add("ramp to plateau", "fresh-15", "1 + 1.5 exp(-t/15) + AR(1), phi 0.7, sd 5%",
		plus(constant, decay(1.5, 15), autoregression(0.7, 0.05)))

	add("periodic", "sine-1", "1 + 0.2 sin, period 1 + noise 5%", plus(constant, sine(0.2, 1), white(0.05)))
	add("periodic", "sine-5", "1 + 0.2 sin, period 5 + noise 5%", plus(constant, sine(0.2, 5), white(0.05)))
	add("periodic", "sine-10", "1 + 0.2 sin, period 10 + noise 5%", plus(constant, sine(0.2, 10), white(0.05)))
	add("periodic", "sine-30", "1 + 0.1 sin, period 30 + noise 5%", plus(constant, sine(0.1, 30), white(0.05)))
	add("periodic", "sine-60", "1 + 0.1 sin, period 60 + noise 5%", plus(constant, sine(0.1, 60), white(0.05)))
	add("periodic", "flush-5", "0.6 for 1 s of every 5, else 1.1 + noise 5%", plus(square(1.1, 0.6, 5, 1), white(0.05)))
	add("periodic", "flush-30", "0.75 for 5 s of every 30, else 1.05 + noise 5%",
		plus(square(1.05, 0.75, 30, 5), white(0.05)))

	add("garbage collection", "gc-short", "falls by 50% for 0.5 s, every 5 s on average (exponential) + noise 5%",
		plus(drops(0.5, 0.5, 5, false), white(0.05)))
	add("garbage collection", "gc-long", "falls by 30% for 2 s, every 15 s on average (exponential) + noise 5%",
		plus(drops(0.3, 2, 15, false), white(0.05)))
	add("garbage collection", "gc-regular", "falls by 80% for 1 s, every 12 s, plus or minus 2 (uniform) + noise 5%",
		plus(drops(0.8, 1, 12, true), white(0.05)))

	add("step", "cache-5", "1.6 for 5 s, then 1 + noise 5%", plus(step(1.6, 5), white(0.05)))
	add("step", "cache-12", "1.6 for 12 s, then 1 + noise 5%", plus(step(1.6, 12), white(0.05)))
	add("step", "cache-25", "1.6 for 25 s, then 1 + noise 5%", plus(step(1.6, 25), white(0.05)))
	add("step", "slow-start", "0.3 for 8 s, then 1 + AR(1), phi 0.8, sd 8%", plus(step(0.3, 8), autoregression(0.8, 0.08)))
	add("late step", "cache-90", "1.3 for 90 s, then 1 + noise 5%: later than most looks",
		plus(step(1.3, 90), white(0.05)))

	add("heavy tails", "lognormal", "log-normal, sigma 0.2", lognormal(0.2))
	add("heavy tails", "student-3", "1 + Student's t, 3 degrees of freedom, sd 10%", plus(constant, student3(0.10)))
	add("heavy tails", "pareto", "0.8 + 0.2 Pareto, index 2.5: rare high peaks", pareto(0.2, 2.5))

	add("bursts", "bursts-1", "1.15 or 0.85, each for 1 s on average (exponential) + noise 5%",
		plus(bursts(1.15, 0.85, 1, 1), white(0.05)))
	add("bursts", "bursts-3", "1.08 or 0.92, each for 3 s on average (exponential) + noise 5%",
		plus(bursts(1.08, 0.92, 3, 3), white(0.05)))
	add("bursts", "bursts-rare", "0.95 for 4 s, 1.2 for 1 s on average (exponential) + noise 5%",
		plus(bursts(1.2, 0.95, 1, 4), white(0.05)))

	add("strong noise", "white-60", "1 + noise 60%", plus(constant, white(0.6)))
	add("strong noise", "bursts-wild", "1.5 or 0.5, each for 3 s on average (exponential)", bursts(1.5, 0.5, 3, 3))

	never("falling", "1.3 to 0.7 in 10 minutes, a line + noise 5%", plus(line(1.3, 0.7), white(0.05)))
	never("rising", "0.6 to 1.4 in 10 minutes, a line + AR(1), phi 0.8, sd 5%",
		plus(line(0.6, 1.4), autoregression(0.8, 0.05)))
	never("wearing", "0.4 + 1.2 exp(-t/400) + noise 5%", plus(line(0.4, 0.4), decay(1.2, 400), white(0.05)))
	return sources
}

// shape gives n samples as shares of the level.
type shape = func(rng *rand.Rand, n int) []float64

// scaled turns shares into whole IOPS; a rate is never below 0.
func scaled(s shape) shape {
	return func(rng *rand.Rand, n int) []float64 {
		values := s(rng, n)
		for i, v := range values {
			values[i] = max(0, level*v)
		}
		return values
	}
}

func plus(shapes ...shape) shape {
	return func(rng *rand.Rand, n int) []float64 {
		sum := make([]float64, n)
		for _, s := range shapes {
			for i, v := range s(rng, n) {
				sum[i] += v
			}
		}
		return sum
	}
}

// overTime makes a shape of a function of time, in seconds.
func overTime(value func(rng *rand.Rand, t float64) float64) shape {
	return func(rng *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = value(rng, float64(i)/perSecond)
		}
		return values
	}
}

func constant(_ *rand.Rand, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	return values
}

func white(sd float64) shape {
	return overTime(func(rng *rand.Rand, _ float64) float64 { return sd * rng.NormFloat64() })
}

// autoregression starts in its stationary distribution.
func autoregression(phi, sd float64) shape {
	return func(rng *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		v := sd * rng.NormFloat64()
		for i := range values {
			values[i] = v
			v = phi*v + sd*math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		return values
	}
}

func decay(from, seconds float64) shape {
	return overTime(func(_ *rand.Rand, t float64) float64 { return from * math.Exp(-t/seconds) })
}

func line(from, to float64) shape {
	return func(_ *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = from + (to-from)*float64(i)/float64(n-1)
		}
		return values
	}
}

func step(before, end float64) shape {
	return overTime(func(_ *rand.Rand, t float64) float64 {
		if t < end {
			return before
		}
		return 1
	})
}

// sine and square start anywhere in their period.
func sine(amplitude, period float64) shape {
	return func(rng *rand.Rand, n int) []float64 {
		phase := rng.Float64()
		return overTime(func(_ *rand.Rand, t float64) float64 {
			return amplitude * math.Sin(2*math.Pi*(t/period+phase))
		})(rng, n)
	}
}

func square(high, low, period, lowFor float64) shape {
	return func(rng *rand.Rand, n int) []float64 {
		phase := rng.Float64() * period
		return overTime(func(_ *rand.Rand, t float64) float64 {
			if math.Mod(t+phase, period) < lowFor {
				return low
			}
			return high
		})(rng, n)
	}
}

// drops are the pauses of a device that cleans up: depth below the level for
// some seconds, again and again; the level between them makes the mean 1.
func drops(depth, seconds, interval float64, regular bool) shape {
	return func(rng *rand.Rand, n int) []float64 {
		values := constant(rng, n)
		pause := func() float64 {
			if regular {
				return interval - 2 + 4*rng.Float64()
			}
			return interval * rng.ExpFloat64()
		}
		// The pauses are between the end of a drop and the next.
		between := 1 / (1 - depth*seconds/(interval+seconds))
		for i := range values {
			values[i] = between
		}
		for t := pause() * rng.Float64(); int(t*perSecond) < n; t += seconds + pause() {
			for i := int(t * perSecond); i < min(n, int((t+seconds)*perSecond)); i++ {
				values[i] = between * (1 - depth)
			}
		}
		return values
	}
}

func bursts(high, low, highFor, lowFor float64) shape {
	return func(rng *rand.Rand, n int) []float64 {
		values := make([]float64, n)
		isHigh := rng.Float64() < highFor/(highFor+lowFor)
		t := 0.0
		for i := 0; i < n; {
			v, seconds := low, lowFor
			if isHigh {
				v, seconds = high, highFor
			}
			for t += seconds * rng.ExpFloat64(); i < n && float64(i)/perSecond < t; i++ {
				values[i] = v
			}
			isHigh = !isHigh
		}
		return values
	}
}

func lognormal(sigma float64) shape {
	return overTime(func(rng *rand.Rand, _ float64) float64 {
		return math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2)
	})
}

func student3(sd float64) shape {
	return overTime(func(rng *rand.Rand, _ float64) float64 {
		var chi2 float64
		for range 3 {
			z := rng.NormFloat64()
			chi2 += z * z
		}
		return sd / math.Sqrt(3) * rng.NormFloat64() / math.Sqrt(chi2/3)
	})
}

// pareto has the mean 1; share of it is a Pareto variable.
func pareto(share, index float64) shape {
	return overTime(func(rng *rand.Rand, _ float64) float64 {
		return 1 - share + share*(index-1)/index*math.Pow(1-rng.Float64(), -1/index)
	})
}
