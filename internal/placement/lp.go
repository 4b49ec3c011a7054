package placement

import "math"

// maximize solves the linear program: maximize c*x, where A*x <= b, x >= 0, and no b is negative. It
// returns x, what each row is worth (its dual), and the value. A has m rows and n columns, and a its columns: a[j] is
// what a unit of x[j] takes of each row.
//
// The method is the simplex method on a full tableau (Dantzig, 1947), which is quick for the few dozen rows that
// fleets have; libraries at hand return no duals, and column generation needs them. Ties are broken by the smallest
// number (Bland, 1977) after many steps without gain.
func maximize(c []float64, a [][]float64, b []float64) (x, worth []float64, value float64) {
	m, n := len(b), len(c)
	width := n + m + 1
	rows := make([][]float64, m+1) // the last is the objective: reduced costs
	for i := range rows {
		rows[i] = make([]float64, width)
	}
	basis := make([]int, m)
	for i := range m {
		for j := range n {
			rows[i][j] = a[j][i]
		}
		rows[i][n+i], rows[i][width-1] = 1, b[i]
		basis[i] = n + i
	}
	scale := 0.0
	for j := range n {
		rows[m][j] = -c[j]
		scale = max(scale, math.Abs(c[j]))
	}
	tiny := 1e-10 * max(scale, math.SmallestNonzeroFloat64)
	stuck := 0
	for range 50 * (m + n) {
		enter := -1
		for j := range width - 1 {
			if r := rows[m][j]; r < -tiny && (enter < 0 || stuck <= m+n && r < rows[m][enter]) {
				enter = j
			}
		}
		if enter < 0 {
			break
		}
		leave := -1
		for i := range m {
			if rows[i][enter] <= 1e-10 {
				continue
			}
			if leave < 0 {
				leave = i
				continue
			}
			ratio, smallest := rows[i][width-1]*rows[leave][enter], rows[leave][width-1]*rows[i][enter]
			if ratio < smallest || ratio == smallest && basis[i] < basis[leave] {
				leave = i
			}
		}
		if leave < 0 {
			break // without bound, which no fleet is
		}
		if stuck++; rows[leave][width-1] > 0 {
			stuck = 0
		}
		pivot(rows, leave, enter)
		basis[leave] = enter
	}
	x, worth = make([]float64, n), make([]float64, m)
	for i, j := range basis {
		if j < n {
			x[j] = max(0, rows[i][width-1])
		}
	}
	for i := range m {
		worth[i] = max(0, rows[m][n+i])
	}
	return x, worth, rows[m][width-1]
}

// pivot makes a column the unit vector of a row.
func pivot(rows [][]float64, row, column int) {
	from := rows[row]
	scale := 1 / from[column]
	for j := range from {
		from[j] *= scale
	}
	from[column] = 1
	for i, to := range rows {
		if i == row || to[column] == 0 {
			continue
		}
		factor := to[column]
		for j, v := range from {
			if v != 0 {
				to[j] -= factor * v
			}
		}
		to[column] = 0
	}
}
