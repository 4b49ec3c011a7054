package model

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Law is how rates follow one axis. Each goes through the levels that were measured: what the network and Gunther's law
// miss there is carried on to what lies between.
type Law string

// The laws.
const (
	NetworkLaw Law = "the network of queues"
	GuntherLaw Law = "Gunther's law"
	PowerLaw   Law = "a straight line through logarithms"
	LinearLaw  Law = "a straight line"
)

var laws = [...]Law{NetworkLaw, GuntherLaw, PowerLaw, LinearLaw}

// fewestGunther is how many levels Gunther's law is fitted to.
const fewestGunther = 3

// says returns the logarithm of the rate at x, of a sweep; network is what the network says there. NaN where the law
// has no answer.
func (l Law) says(s *sweep, x, network float64) float64 {
	if s.axis == nil || len(s.x) == 1 {
		return s.rates[0] + network - s.network[0]
	}
	var value float64
	switch l {
	case NetworkLaw:
		value = s.corrected(x, network)
	case GuntherLaw:
		if s.axis.limit || len(s.x) < fewestGunther {
			return math.NaN()
		}
		law, ok := gunther(s.x, s.rates)
		if !ok {
			return math.NaN()
		}
		missed := make([]float64, len(s.x))
		for i := range missed {
			missed[i] = s.rates[i] - law.at(s.x[i])
		}
		value = law.at(x) + s.interpolated(missed, x)
	case LinearLaw:
		i, j := s.around(x)
		a, b := math.Exp(s.x[i]), math.Exp(s.x[j])
		p, q := math.Exp(s.rates[i]), math.Exp(s.rates[j])
		const least = 0.1 // of the lower end: a line that falls ends somewhere
		value = math.Log(max(p+(q-p)*(math.Exp(x)-a)/(b-a), least*min(p, q)))
	default:
		i, j := s.around(x)
		value = s.rates[i] + (s.rates[j]-s.rates[i])*(x-s.x[i])/(s.x[j]-s.x[i])
	}
	return s.bounded(x, value)
}

// corrected is the network with what it misses at the levels. Between two levels of a limit it goes from the one rate
// to the other as the network does, so that no more makes less.
func (s *sweep) corrected(x, network float64) float64 {
	const flat = 1e-3
	i, j := s.around(x)
	if s.axis.limit && s.side(x) == between {
		part := (x - s.x[i]) / (s.x[j] - s.x[i])
		if rise := s.network[j] - s.network[i]; rise > flat {
			part = min(max((network-s.network[i])/rise, 0), 1)
		}
		return s.rates[i] + part*(s.rates[j]-s.rates[i])
	}
	missed := make([]float64, len(s.x))
	for k := range missed {
		missed[k] = s.rates[k] - s.network[k]
	}
	return network + s.interpolated(missed, x)
}

// interpolated returns values at levels as straight lines between them, and as the last beyond them.
func (s *sweep) interpolated(values []float64, x float64) float64 {
	i, j := s.around(x)
	part := min(max((x-s.x[i])/(s.x[j]-s.x[i]), 0), 1)
	return values[i] + part*(values[j]-values[i])
}

// usl is Gunther's Universal Scalability Law: n / (a + b (n - 1) + c n (n - 1)).
type usl [3]float64

// at returns the logarithm of the rate, at a logarithm.
func (u usl) at(x float64) float64 {
	n := math.Exp(x)
	return x - math.Log(u[0]+u[1]*(n-1)+u[2]*n*(n-1))
}

// gunther fits Gunther's law to logarithms of levels and rates, by least squares of what is off as a share (Gunther,
// Guerrilla Capacity Planning, 2007). ok is false where no such law is near.
func gunther(x, rates []float64) (best usl, ok bool) {
	// n / rate = a + b (n - 1) + c n (n - 1) is linear in a, b and c; each row counts by the share that it is off. None
	// of the three is below 0: what would be is left out.
	lowest := math.Inf(1)
	ones := mat.NewVecDense(len(x), nil)
	for leave := range 4 {
		var columns []int
		for c := range 3 {
			if c == 0 || leave>>(c-1)&1 == 0 {
				columns = append(columns, c)
			}
		}
		a := mat.NewDense(len(x), len(columns), nil)
		for i := range x {
			n, each := math.Exp(x[i]), math.Exp(rates[i]-x[i])
			terms := [3]float64{each, (n - 1) * each, n * (n - 1) * each}
			ones.SetVec(i, 1)
			for j, c := range columns {
				a.Set(i, j, terms[c])
			}
		}
		var weights, fitted mat.VecDense
		if weights.SolveVec(a, ones) != nil {
			continue
		}
		fitted.MulVec(a, &weights)
		off, possible, law := 0.0, weights.AtVec(0) > 0, usl{}
		for i := range x {
			off += (fitted.AtVec(i) - 1) * (fitted.AtVec(i) - 1)
		}
		for j, c := range columns {
			law[c] = weights.AtVec(j)
			possible = possible && law[c] >= 0
		}
		if possible && off < lowest {
			best, lowest, ok = law, off, true
		}
	}
	return best, ok
}

// Gunther predicts by Gunther's law over the points of the same host: over the number of instances, or else of clients.
// NaN with fewer than three points.
func Gunther(points []Point, at Point) float64 { return GuntherLaw.of(points, at) }

// Linear predicts by straight lines between the points of the same host, over the axis along which they differ from the
// point. NaN without two.
func Linear(points []Point, at Point) float64 { return LinearLaw.of(points, at) }

// Power is Linear through logarithms.
func Power(points []Point, at Point) float64 { return PowerLaw.of(points, at) }

// of returns what a law says of a point along the first axis that has an answer.
func (l Law) of(points []Point, at Point) float64 {
	p := at.position()
	for _, s := range sweepsOf(points, make([]float64, len(points))) {
		if s.axis == nil || apart(&p, &s.at, s.axis) > 0 || !(s.axis.of(&p) > 0) {
			continue
		}
		if value := l.says(&s, math.Log(s.axis.of(&p)), 0); !math.IsNaN(value) {
			return math.Exp(value)
		}
	}
	return math.NaN()
}
