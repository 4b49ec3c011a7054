package model

import (
	"math"
	"slices"

	"plimsoll/internal/result"
)

// fitForm returns parameters of the form that points ask for: plain, or with something inside a server or a drive that
// binds.
func fitForm(points []Point) (Params, error) {
	p, err := fit(points, nil)
	if err != nil {
		return p, err
	}
	return drivenWhereAsked(points, lockedWhereAsked(points, p)), nil
}

// fewestClients is how many numbers of clients it takes to ask what binds inside a server: each is left out in turn.
const fewestClients = 4

// muchLess is the share of the error that a form with more parameters leaves at most.
const muchLess = 0.75

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
	groups := make([][]int, len(numbers))
	for i := range points {
		k := slices.Index(numbers, points[i].Clients)
		groups[k] = append(groups[k], i)
	}
	return nearer(points, plain, start, groups)
}

// nearer returns parameters of the form of start where groups of points that are left out in turn are much nearer to it
// than to plain; else plain.
func nearer(points []Point, plain, start Params, groups [][]int) Params {
	formed, err := fit(points, &start)
	if err != nil {
		return plain
	}
	without, with := make([]float64, len(groups)), make([]float64, len(groups))
	parallel(len(groups), func(i int) {
		without[i], with[i] = leftOutOff(points, groups[i], &plain), leftOutOff(points, groups[i], &formed)
	})
	off, least := 0.0, 0.0
	for i := range groups {
		off, least = off+without[i]/float64(len(points)), least+with[i]/float64(len(points))
	}
	if least < muchLess*off && off-least > leastOff {
		return formed
	}
	return plain
}

// drivenWhereAsked returns parameters of the form in which a drive binds that nothing is known of, where points that
// were left out are much nearer to it; else plain. Where the drive or a limit on it is known, nothing is asked.
func drivenWhereAsked(points []Point, plain Params) Params {
	known := func(p Point) bool {
		none := result.Rate{}
		return p.on != nil || p.Host.Read != none || p.Host.Write != none || p.Host.IO != none ||
			p.Own.Read != none || p.Own.Write != none || p.Own.IO != none
	}
	start := plain
	start.Drive = plain.fullDrive(points)
	if len(points) <= FewestPoints || slices.ContainsFunc(points, known) || !(start.Drive > 0) {
		return plain
	}
	groups := make([][]int, len(points))
	for i := range points {
		groups[i] = []int{i}
	}
	return nearer(points, plain, start, groups)
}

// shareDrive has classes on one stack use the drive that one of them fills: next to that one, they wait for it as well.
func (m *Model) shareDrive() {
	for i := range m.Classes {
		f := &m.Classes[i]
		for _, other := range m.Classes {
			if f.Params.Drive > 0 || f.Stack != other.Stack || !(min(other.Params.Drive, f.Params.fullDrive(f.Points)) > 0) {
				continue
			}
			start := f.Params
			start.Drive = other.Params.Drive
			if p, err := fit(f.Points, &start); err == nil {
				f.Params = p
			}
		}
	}
}

// fullDrive returns for how many seconds an I/O keeps a drive busy that is full where most I/Os were counted; 0 where
// nobody counted them.
func (p *Params) fullDrive(points []Point) Number {
	most := 0.0
	for i := range points {
		of := &points[i]
		rate := of.Rate()
		ios := p.Writes.At(rate / float64(of.Instances))
		if !p.Inferred {
			ios += p.Reads.At(of.Memory())
		}
		most = max(most, rate*ios)
	}
	if !(most > 0) {
		return 0
	}
	return Number(1 / most)
}

// leftOutOff returns how far off a fit to others, which begins at start, is for points that are left out, as a sum of
// absolute logarithms; infinity where there is no fit.
func leftOutOff(points []Point, left []int, start *Params) (sum float64) {
	var others []Point
	for i := range points {
		if !slices.Contains(left, i) {
			others = append(others, points[i])
		}
	}
	fitted, err := fit(others, start)
	if err != nil {
		return math.Inf(1)
	}
	for _, i := range left {
		sum += math.Abs(math.Log(fitted.rate(&points[i]) / points[i].Rate()))
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
