package stats

import (
	"math"
	"slices"
)

// model is a line with changes, fitted to medians.
type model struct {
	intercept, line float64
	columns         []column  // in the order of levels
	weights         []float64 // of columns
	fitted          []float64 // at each level, in logarithms
}

// slope is the slope of the curve at u.
func (m model) slope(u float64) float64 {
	slope := m.line
	for i, c := range m.columns {
		if !c.step && c.place < u {
			slope += m.weights[i]
		}
	}
	return slope
}

// fit fits a line with the given changes by least squares, each level
// weighted by its number of trials.
func (f *fitter) fit(columns []column, medians []float64) model {
	m := f.solve(columns, medians)
	preferred := f.preferSteps(m)
	if slices.Equal(preferred, m.columns) {
		return m
	}
	return f.solve(preferred, medians)
}

// preferSteps replaces a bend at the second or the last but one level by the equivalent step: the level beyond it
// shares its line with no other, so the curve is the same. It becomes a step where the curve falls off to a lower
// level, or from a higher one; where it rises, it stays a bend.
func (f *fitter) preferSteps(m model) []column {
	columns := slices.Clone(m.columns)
	last := len(f.u) - 1
	for i, c := range columns {
		if c.step {
			continue
		}
		for _, gap := range []struct {
			place, after int
			steeper      bool
		}{
			{1, 1, m.weights[i] > 0},
			{last - 1, last, m.weights[i] < 0},
		} {
			falls := m.fitted[gap.after]-m.fitted[gap.after-1] < -math.Log(smallStep)
			if c.place == f.u[gap.place] && falls && gap.steeper {
				columns[i] = column{step: true, after: gap.after}
			}
		}
	}
	return columns
}

func (f *fitter) solve(columns []column, medians []float64) model {
	m := model{columns: slices.Clone(columns)}
	slices.SortStableFunc(m.columns, func(a, b column) int {
		if f.middle(a) < f.middle(b) {
			return -1
		} else if f.middle(a) > f.middle(b) {
			return 1
		}
		return 0
	})
	// Columns of the least squares problem, made orthogonal one by one
	// (Gram and Schmidt); what that subtracts is put back from the last on.
	vectors := [][]float64{slices.Clone(f.root), f.weighted(f.u)}
	for _, c := range m.columns {
		vectors = append(vectors, f.vector(c))
	}
	data := f.weighted(medians)
	var b basis
	factors := make([][]float64, len(vectors)) // vector k = sum of factors[k][j] * b[j]
	for k, v := range vectors {
		rest, ok := b.rest(v)
		if !ok {
			rest = make([]float64, len(v)) // it adds nothing: its weight is 0
		}
		b = append(b, rest)
		for _, q := range b {
			factors[k] = append(factors[k], dot(q, v))
		}
	}
	weights := make([]float64, len(vectors))
	for k := len(vectors) - 1; k >= 0; k-- {
		if factors[k][k] == 0 {
			continue
		}
		weights[k] = dot(b[k], data)
		for j := k + 1; j < len(vectors); j++ {
			weights[k] -= weights[j] * factors[j][k]
		}
		weights[k] /= factors[k][k]
	}
	m.intercept, m.line, m.weights = weights[0], weights[1], weights[2:]
	for i := range f.u {
		v := m.intercept + m.line*f.u[i]
		for j, c := range m.columns {
			v += m.weights[j] * f.value(c, i)
		}
		m.fitted = append(m.fitted, v)
	}
	return m
}

// bootstrap fits the curve to samples with resampled noise of all levels. Changes move to where they fit the sample
// best, and knees also between levels: that one at a level is simpler says nothing about its place. For the same
// reason samples are drawn around the curve that fits best.
func (f *fitter) bootstrap(m model) []model {
	m = f.loosest(m.columns, f.medians)
	var noise []float64
	for i, level := range f.values {
		for _, v := range level {
			noise = append(noise, v-m.fitted[i])
		}
	}
	// What was fitted took part of the noise away.
	n := float64(len(noise))
	for i := range noise {
		noise[i] *= math.Sqrt(n / (n - float64(2+len(m.columns))))
	}
	samples := make([]model, curveSamples)
	medians := make([]float64, len(f.u))
	for s := range samples {
		for i, level := range f.values {
			drawn := make([]float64, len(level))
			for j := range drawn {
				drawn[j] = noise[f.rng.IntN(len(noise))]
			}
			slices.Sort(drawn)
			medians[i] = m.fitted[i] + quantileSorted(drawn, 0.5)
		}
		samples[s] = f.loosest(m.columns, medians)
	}
	return samples
}

// loosest fits as many changes as there are columns, near these.
func (f *fitter) loosest(columns []column, medians []float64) model {
	data := f.weighted(medians)
	columns = f.settle(columns, data, 2)
	f.loosen(columns, data, 0)
	return f.fit(columns, medians)
}
