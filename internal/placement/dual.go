package placement

import "math"

// dual is a linear program of few rows: maximize c*x, where lo <= A*x <= hi and 0 <= x <= upper. A has m rows and n
// columns; a is one of its columns. The bounded dual simplex method solves the program, with long steps (Maros,
// Computational Techniques of the Simplex Method, 2003, chapter 10): columns whose bound is nearer than what is missing
// are passed by. Every basis on the way bounds the value, whatever is lost in sums.
type dual struct {
	rows, columns int
	a             []float64 // column after column
	c, upper      []float64
	lo, hi        []float64

	x, worth []float64 // of columns, and of a unit more of each row
	steps    int

	basis    []int // by row: a column, or, from columns on, what a row comes to
	position []int // by variable: its row in the basis; atLeast or atMost outside of the basis
	inverse  []float64
	values   []float64 // of the basis
	reduced  []float64 // costs of columns
	right    []float64
	entered  []float64
	passed   []crossing
}

const (
	atLeast = -1
	atMost  = -2
)

// crossing is a column of the ratio test: the ratio of its reduced cost to its pivot, where the cost becomes 0, and by
// how much the column may then change what leaves the basis.
type crossing struct {
	ratio, room float64
	column      int
}

// dot returns the sum of the products of two vectors of equal length.
func dot(a, b []float64) (sum float64) {
	a = a[:len(b)]
	for i, v := range b {
		sum += a[i] * v
	}
	return sum
}

func resized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n, n+n/2)
	}
	return v[:n]
}

// reset makes room for a program; the caller fills a, c, upper, lo and hi.
func (l *dual) reset(rows, columns int) {
	l.rows, l.columns, l.steps = rows, columns, 0
	l.a, l.c, l.upper = resized(l.a, rows*columns), resized(l.c, columns), resized(l.upper, columns)
	l.lo, l.hi = resized(l.lo, rows), resized(l.hi, rows)
	l.x, l.worth = resized(l.x, columns), resized(l.worth, rows)
	l.basis, l.position = resized(l.basis, rows), resized(l.position, rows+columns)
	l.inverse, l.values = resized(l.inverse, rows*rows), resized(l.values, rows)
	l.reduced, l.right, l.entered = resized(l.reduced, columns), resized(l.right, rows), resized(l.entered, rows)
}

// mostDualSteps ends a search that cycles: its bound holds all the same.
const mostDualSteps = 300

// The tolerances of the simplex method, none of which is in the bound.
const (
	dualTiny  = 1e-7
	pivotTiny = 1e-11
)

// begin sets the first basis: columns in the place of slacks of rows, and the slacks of all other rows. The basis of a
// similar program is a good one. As all variables are bounded, the method can start from any basis.
func (l *dual) begin(columns, rows []int) {
	m, n := l.rows, l.columns
	clear(l.inverse)
	for i := range m {
		l.basis[i], l.position[n+i], l.inverse[i*m+i] = n+i, i, -1
	}
	for j := range n {
		l.position[j] = atLeast
	}
	for _, j := range columns {
		l.enter(j)
		leave, largest := -1, pivotLeast
		for _, i := range rows {
			if v := math.Abs(l.entered[i]); v > largest && l.basis[i] >= n {
				leave, largest = i, v
			}
		}
		if leave >= 0 {
			l.replace(leave, j, false)
		}
	}
}

// pivotLeast is the least entry with which a column replaces the slack of a row in the first basis.
const pivotLeast = 1e-6

// solve returns a bound of the value. The bound is the value unless solve ends early, at a bound that is not above
// enough. The bound is -Inf if no x is within the rows.
func (l *dual) solve(enough float64) (bound float64) {
	n := l.columns
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
		switch row := l.position[j]; row {
		case atLeast:
			l.x[j] = 0
		case atMost:
			l.x[j] = l.upper[j]
		default:
			l.x[j] = l.values[row]
		}
	}
	return bound
}

// priced computes what rows are worth in the basis, puts each column to its better bound, and returns an upper bound of
// the value.
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
		if l.position[j] >= 0 {
			l.reduced[j] = 0
			continue
		}
		a, reduced := l.a[j*m:j*m+m], l.c[j]
		reduced -= dot(l.worth, a)
		l.reduced[j] = reduced
		if reduced > dualTiny {
			l.position[j] = atMost
		} else if reduced < -dualTiny {
			l.position[j] = atLeast
		}
		bound += max(0, reduced*l.upper[j])
		if l.position[j] == atMost {
			for k, v := range a {
				l.right[k] -= v * l.upper[j]
			}
		}
	}
	for i, worth := range l.worth {
		bound += max(worth*l.hi[i], worth*l.lo[i]) // what is lost in sums of a basic one, too
		if l.position[n+i] >= 0 {
			continue
		}
		if worth > dualTiny {
			l.position[n+i] = atMost
		} else if worth < -dualTiny {
			l.position[n+i] = atLeast
		}
		if l.position[n+i] == atMost {
			l.right[i] += l.hi[i]
		} else {
			l.right[i] += l.lo[i]
		}
	}
	return bound
}

// bounds returns the bounds of variable j.
func (l *dual) bounds(j int) (lo, hi float64) {
	if j < l.columns {
		return 0, l.upper[j]
	}
	return l.lo[j-l.columns], l.hi[j-l.columns]
}

// leaving returns the row of the basis that is furthest outside of its bounds, whether its value is above them, and by
// how much; -1 for none.
func (l *dual) leaving() (row int, up bool, missing float64) {
	m := l.rows
	worst := dualTiny
	row = -1
	for i, j := range l.basis {
		value := dot(l.inverse[i*m:i*m+m], l.right)
		l.values[i] = value
		lo, hi := l.bounds(j)
		scale := 1 + math.Abs(value)
		if over := (value - hi) / scale; over > worst {
			row, worst, up, missing = i, over, true, value-hi
		}
		if under := (lo - value) / scale; under > worst {
			row, worst, up, missing = i, under, false, lo-value
		}
	}
	return row, up, missing
}

// entering returns the variable that comes into the basis for a row that leaves it.
func (l *dual) entering(leave int, up bool, missing float64) (enter int, feasible bool) {
	m, n := l.rows, l.columns
	row := l.inverse[leave*m : leave*m+m]
	l.passed = l.passed[:0]
	total := 0.0
	try := func(j int, alpha, reduced, room float64) {
		slope := alpha
		if up != (l.position[j] == atLeast) {
			slope = -slope
		}
		if slope > pivotTiny {
			l.passed = append(l.passed, crossing{math.Abs(reduced / alpha), slope * room, j})
			total += slope * room
		}
	}
	for j := range n {
		if l.position[j] >= 0 || l.upper[j] == 0 {
			continue
		}
		try(j, dot(row, l.a[j*m:j*m+m]), l.reduced[j], l.upper[j])
	}
	for i := range m {
		if l.position[n+i] < 0 && l.lo[i] < l.hi[i] {
			try(n+i, -row[i], l.worth[i], l.hi[i]-l.lo[i])
		}
	}
	if total < missing-1e-6*(1+missing) {
		return -1, false
	}
	enter = -1
	for left := missing; len(l.passed) > 0; { // few are passed by
		best := 0
		for q := range l.passed {
			if l.passed[q].ratio < l.passed[best].ratio {
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
	l.enter(enter)
	l.replace(leave, enter, up)
}

// enter computes by how much a unit of a variable changes the values of the basis.
func (l *dual) enter(enter int) {
	m, n := l.rows, l.columns
	for i := range m {
		if enter >= n {
			l.entered[i] = -l.inverse[i*m+enter-n]
			continue
		}
		l.entered[i] = dot(l.inverse[i*m:i*m+m], l.a[enter*m:enter*m+m])
	}
}

// replace puts the variable of the last enter into the basis, in the place of another.
func (l *dual) replace(leave, enter int, up bool) {
	m := l.rows
	l.position[l.basis[leave]] = atLeast
	if up {
		l.position[l.basis[leave]] = atMost
	}
	l.basis[leave], l.position[enter] = enter, leave
	from := l.inverse[leave*m : leave*m+m]
	scale := 1 / l.entered[leave]
	for k := range from {
		from[k] *= scale
	}
	for i := range m {
		if factor := l.entered[i]; i != leave && factor != 0 {
			to := l.inverse[i*m : i*m+m]
			for k, f := range from {
				to[k] -= factor * f
			}
		}
	}
}
