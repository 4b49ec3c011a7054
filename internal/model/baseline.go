package model

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Linear predicts by a straight line between the nearest points of the same host, over the number of instances; beyond
// them, by the line of the nearest two. It returns NaN without two.
func Linear(points []Point, at Point) float64 {
	below, above := -1, -1
	for i, p := range points {
		if !sameHost(p, at) {
			continue
		}
		switch {
		case p.Instances < at.Instances && (below < 0 || p.Instances > points[below].Instances):
			below = i
		case p.Instances > at.Instances && (above < 0 || p.Instances < points[above].Instances):
			above = i
		}
	}
	if below < 0 || above < 0 {
		a, b := nearestTwo(points, at)
		if a < 0 || b < 0 {
			return math.NaN()
		}
		below, above = a, b
	}
	p, q := points[below], points[above]
	share := float64(at.Instances-p.Instances) / float64(q.Instances-p.Instances)
	return max(1e-9, p.Rate()+share*(q.Rate()-p.Rate()))
}

// nearestTwo are the two points of the same host whose numbers of instances are nearest.
func nearestTwo(points []Point, at Point) (a, b int) {
	a, b = -1, -1
	far := func(i int) int {
		if d := points[i].Instances - at.Instances; d < 0 {
			return -d
		}
		return points[i].Instances - at.Instances
	}
	for i, p := range points {
		switch {
		case !sameHost(p, at) || p.Instances == at.Instances:
		case a < 0 || far(i) < far(a):
			a, b = i, a
		case b < 0 || far(i) < far(b):
			b = i
		}
	}
	return a, b
}

func sameHost(p, q Point) bool {
	return p.Host == q.Host && p.Own == q.Own && p.Clients == q.Clients && p.Think == q.Think
}

// Gunther predicts by Gunther's Universal Scalability Law, fitted to the points of the same host by least squares
// (Gunther, Guerrilla Capacity Planning, 2007):
//
//	rate(n) = l n / (1 + s (n - 1) + k n (n - 1))
//
// NaN with fewer than three points.
func Gunther(points []Point, at Point) float64 {
	var rows, n []float64
	for _, p := range points {
		if !sameHost(p, at) {
			continue
		}
		// n / rate = (1 + s (n - 1) + k n (n - 1)) / l is linear in 1/l, s/l and k/l; each
		// row counts by the share that it is off.
		x := float64(p.Instances)
		y := x / p.Rate()
		rows, n = append(rows, 1/y, (x-1)/y, x*(x-1)/y), append(n, 1)
	}
	if len(n) < 3 {
		return math.NaN()
	}
	// None of the three is below 0: what would be is left out.
	best, lowest := math.NaN(), math.Inf(1)
	for leave := range 4 {
		var columns []int
		for c := range 3 {
			if c == 0 || leave>>(c-1)&1 == 0 {
				columns = append(columns, c)
			}
		}
		a := mat.NewDense(len(n), len(columns), nil)
		for i := range n {
			for j, c := range columns {
				a.Set(i, j, rows[3*i+c])
			}
		}
		var weights mat.VecDense
		if weights.SolveVec(a, mat.NewVecDense(len(n), n)) != nil {
			continue
		}
		var fitted mat.VecDense
		fitted.MulVec(a, &weights)
		off, possible := 0.0, true
		for i := range n {
			off += (fitted.AtVec(i) - 1) * (fitted.AtVec(i) - 1)
		}
		x := float64(at.Instances)
		terms := [3]float64{1, x - 1, x * (x - 1)}
		inverse := 0.0
		for j, c := range columns {
			possible = possible && weights.AtVec(j) >= 0
			inverse += weights.AtVec(j) * terms[c]
		}
		if possible && off < lowest && inverse > 0 {
			best, lowest = x/inverse, off
		}
	}
	return best
}
