package stats

import "math"

// Eliminate solves n linear equations in place. Each is a row of n coefficients and the value that they sum to, which
// the solution replaces. Where there is no solution, it is NaN or infinite.
func Eliminate(m []float64, n int) {
	w := n + 1
	for c := range n {
		best := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r*w+c]) > math.Abs(m[best*w+c]) {
				best = r
			}
		}
		if best != c {
			for k := range w {
				m[c*w+k], m[best*w+k] = m[best*w+k], m[c*w+k]
			}
		}
		for r := range n {
			if r == c || m[r*w+c] == 0 {
				continue
			}
			by := m[r*w+c] / m[c*w+c]
			from, to := m[c*w+c:c*w+w], m[r*w+c:r*w+w]
			for k, v := range from {
				to[k] -= by * v
			}
		}
	}
	for r := range n {
		m[r*w+n] /= m[r*w+r]
	}
}
