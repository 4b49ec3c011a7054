package model

import (
	"math"
	"slices"
)

// fewestClients is how many numbers of clients it takes to ask what binds inside a server: each is left out in turn.
const fewestClients = 4

// lockedWhereAsked returns parameters of the form in which something inside a server binds, where numbers of clients
// that were left out are much nearer to it than to plain, which has nothing there; else plain.
func lockedWhereAsked(points []Point, plain Params) Params {
	var numbers []int
	for i := range points {
		if !slices.Contains(numbers, points[i].Clients) {
			numbers = append(numbers, points[i].Clients)
		}
	}
	if len(numbers) < fewestClients {
		return plain
	}
	start := plain
	start.Locked = &Locked{}
	locked, err := fit(points, &start)
	if err != nil {
		return plain
	}
	without, with := make([]float64, len(numbers)), make([]float64, len(numbers))
	parallel(len(numbers), func(i int) {
		left := func(p Point) bool { return p.Clients == numbers[i] }
		others := slices.DeleteFunc(slices.Clone(points), left)
		without[i] = leftOutOff(others, &plain, points, left)
		with[i] = leftOutOff(others, &locked, points, left)
	})
	off, least := 0.0, 0.0
	for i := range numbers {
		off, least = off+without[i]/float64(len(points)), least+with[i]/float64(len(points))
	}
	if least < muchNearer*off && off-least > leastOff {
		return locked
	}
	return plain
}

// leftOutOff returns how far off a fit to others is for the points that were left out of them, as a sum of absolute
// logarithms; infinity where there is no fit.
func leftOutOff(others []Point, start *Params, points []Point, left func(Point) bool) (sum float64) {
	fitted, err := fit(others, start)
	if err != nil {
		return math.Inf(1)
	}
	for i := range points {
		if left(points[i]) {
			sum += math.Abs(math.Log(fitted.rate(&points[i]) / points[i].Rate()))
		}
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
