package placement

import "math"

// dual is a linear program of few rows: maximize c*x, where lo <= A*x <= hi and 0 <= x <= most. It is solved by the
// bounded dual simplex method from the slacks, with long steps (Maros, Computational Techniques of the Simplex Method,
// 2003, chapter 10): columns whose bound is nearer than what is missing are passed by. Every basis on the way bounds
// the value, whatever is lost in sums.
type dual struct {
	rows, columns int
	a             []float64 // column after column
	c, most       []float64
	lo, hi        []float64

	x, worth []float64 // of columns, and of a unit more of each row
	steps    int

	basis   []int // by row: a column, or, from columns on, what a row comes to
	where   []int // row of what is in the basis; atLeast and atMost otherwise
	inverse []float64
	values  []float64 // of the basis
	reduced []float64 // costs of columns
	right   []float64
	entered []float64
	passed  []crossing
}

const (
	atLeast = -1
	atMost  = -2
)

// crossing is where the reduced cost of a column becomes 0, and by how much it may then change what leaves the basis.
type crossing struct {
	at, room float64
	column   int
}

func resized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n, n+n/2)
	}
	return v[:n]
}

// reset makes room for a program; a, c, most, lo and hi are to be filled.
func (l *dual) reset(rows, columns int) {
	l.rows, l.columns, l.steps = rows, columns, 0
	l.a, l.c, l.most = resized(l.a, rows*columns), resized(l.c, columns), resized(l.most, columns)
	l.lo, l.hi = resized(l.lo, rows), resized(l.hi, rows)
	l.x, l.worth = resized(l.x, columns), resized(l.worth, rows)
	l.basis, l.where = resized(l.basis, rows), resized(l.where, rows+columns)
	l.inverse, l.values = resized(l.inverse, rows*rows), resized(l.values, rows)
	l.reduced, l.right, l.entered = resized(l.reduced, columns), resized(l.right, rows), resized(l.entered, rows)
}

// mostDualSteps ends a search that goes round in circles: its bound holds all the same.
const mostDualSteps = 300

// The tolerances of the simplex method, none of which is in the bound.
const (
	dualTiny  = 1e-7
	pivotTiny = 1e-11
)

// solve returns a bound of the value, which is the value unless it ends early: at a bound that is not above enough.
// It returns -Inf where no x is within the rows.
func (l *dual) solve(enough float64) (bound float64) {
	m, n := l.rows, l.columns
	clear(l.inverse)
	for i := range m {
		l.basis[i], l.where[n+i], l.inverse[i*m+i] = n+i, i, -1
	}
	for j := range n {
		l.where[j] = atLeast
	}
	for {
		bound = l.priced()
		if bound <= enough {
			break
		}
		leave, up, missing := l.leaving()
		if leave < 0 || l.steps >= mostDualSteps {
			break
		}
		l.steps++
		enter, feasible := l.entering(leave, up, missing)
		if !feasible {
			return math.Inf(-1)
		}
		if enter < 0 {
			break
		}
		l.change(leave, enter, up)
	}
	for j := range n {
		switch w := l.where[j]; w {
		case atLeast:
			l.x[j] = 0
		case atMost:
			l.x[j] = l.most[j]
		default:
			l.x[j] = l.values[w]
		}
	}
	return bound
}

// priced finds what rows are worth in the basis, puts each column to the bound where that is best, and returns what
// no x is beyond.
func (l *dual) priced() (bound float64) {
	m, n := l.rows, l.columns
	clear(l.worth)
	for i, j := range l.basis {
		if j < n {
			for k := range m {
				l.worth[k] += l.c[j] * l.inverse[i*m+k]
			}
		}
	}
	clear(l.right)
	for j := range n {
		if l.where[j] >= 0 {
			l.reduced[j] = 0
			continue
		}
		a, d := l.a[j*m:j*m+m], l.c[j]
		for k, v := range a {
			d -= l.worth[k] * v
		}
		l.reduced[j] = d
		if d > dualTiny {
			l.where[j] = atMost
		} else if d < -dualTiny {
			l.where[j] = atLeast
		}
		bound += max(0, d*l.most[j])
		if l.where[j] == atMost {
			for k, v := range a {
				l.right[k] -= v * l.most[j]
			}
		}
	}
	for i, w := range l.worth {
		bound += max(w*l.hi[i], w*l.lo[i]) // what is lost in sums of a basic one, too
		if l.where[n+i] >= 0 {
			continue
		}
		if w > dualTiny {
			l.where[n+i] = atMost
		} else if w < -dualTiny {
			l.where[n+i] = atLeast
		}
		if l.where[n+i] == atMost {
			l.right[i] += l.hi[i]
		} else {
			l.right[i] += l.lo[i]
		}
	}
	return bound
}

// bounds are those of a variable.
func (l *dual) bounds(j int) (lo, hi float64) {
	if j < l.columns {
		return 0, l.most[j]
	}
	return l.lo[j-l.columns], l.hi[j-l.columns]
}

// leaving returns the row of the basis that is furthest outside of its bounds, whether above, and by how much; -1 for
// none.
func (l *dual) leaving() (row int, up bool, missing float64) {
	m := l.rows
	worst := dualTiny
	row = -1
	for i, j := range l.basis {
		v := 0.0
		for k, r := range l.right {
			v += l.inverse[i*m+k] * r
		}
		l.values[i] = v
		lo, hi := l.bounds(j)
		scale := 1 + math.Abs(v)
		if over := (v - hi) / scale; over > worst {
			row, worst, up, missing = i, over, true, v-hi
		}
		if under := (lo - v) / scale; under > worst {
			row, worst, up, missing = i, under, false, lo-v
		}
	}
	return row, up, missing
}

// entering returns what comes into the basis for a row that leaves it.
func (l *dual) entering(leave int, up bool, missing float64) (enter int, feasible bool) {
	m, n := l.rows, l.columns
	row := l.inverse[leave*m : leave*m+m]
	l.passed = l.passed[:0]
	all := 0.0
	try := func(j int, alpha, reduced, room float64) {
		t := alpha
		if up != (l.where[j] == atLeast) {
			t = -t
		}
		if t > pivotTiny {
			l.passed = append(l.passed, crossing{math.Abs(reduced / alpha), t * room, j})
			all += t * room
		}
	}
	for j := range n {
		if l.where[j] >= 0 || l.most[j] == 0 {
			continue
		}
		alpha := 0.0
		for k, v := range l.a[j*m : j*m+m] {
			alpha += row[k] * v
		}
		try(j, alpha, l.reduced[j], l.most[j])
	}
	for i := range m {
		if l.where[n+i] < 0 && l.lo[i] < l.hi[i] {
			try(n+i, -row[i], l.worth[i], l.hi[i]-l.lo[i])
		}
	}
	if all < missing-1e-6*(1+missing) {
		return -1, false
	}
	enter = -1
	for left := missing; len(l.passed) > 0; { // few are passed by
		best := 0
		for q := range l.passed {
			if l.passed[q].at < l.passed[best].at {
				best = q
			}
		}
		enter = l.passed[best].column
		left -= l.passed[best].room
		if left <= 0 {
			break
		}
		last := len(l.passed) - 1
		l.passed[best] = l.passed[last]
		l.passed = l.passed[:last]
	}
	return enter, true
}

// change puts a variable into the basis in the place of another.
func (l *dual) change(leave, enter int, up bool) {
	m, n := l.rows, l.columns
	for i := range m {
		if enter >= n {
			l.entered[i] = -l.inverse[i*m+enter-n]
			continue
		}
		v := 0.0
		for k, a := range l.a[enter*m : enter*m+m] {
			v += l.inverse[i*m+k] * a
		}
		l.entered[i] = v
	}
	l.where[l.basis[leave]] = atLeast
	if up {
		l.where[l.basis[leave]] = atMost
	}
	l.basis[leave], l.where[enter] = enter, leave
	from := l.inverse[leave*m : leave*m+m]
	by := 1 / l.entered[leave]
	for k := range from {
		from[k] *= by
	}
	for i := range m {
		if v := l.entered[i]; i != leave && v != 0 {
			to := l.inverse[i*m : i*m+m]
			for k, f := range from {
				to[k] -= v * f
			}
		}
	}
}
