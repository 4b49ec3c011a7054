package placement

import "math"

// assignment returns the column of each row of a square matrix, such that the sum of their costs is the least: the
// Hungarian method by shortest augmenting paths (Jonker and Volgenant, A shortest augmenting path algorithm for dense
// and sparse linear assignment problems, 1987).
func assignment(cost [][]float64) (column []int) {
	n := len(cost)
	// Rows and columns count from 1; row 0 and column 0 begin paths.
	rowPrice, columnPrice := make([]float64, n+1), make([]float64, n+1)
	row, before := make([]int, n+1), make([]int, n+1)
	for i := 1; i <= n; i++ {
		row[0] = i
		current := 0
		least, done := make([]float64, n+1), make([]bool, n+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		for row[current] != 0 {
			done[current] = true
			next, step := 0, math.Inf(1)
			for j := 1; j <= n; j++ {
				if done[j] {
					continue
				}
				if reduced := cost[row[current]-1][j-1] - rowPrice[row[current]] - columnPrice[j]; reduced < least[j] {
					least[j], before[j] = reduced, current
				}
				if least[j] < step {
					next, step = j, least[j]
				}
			}
			for j := range done {
				if done[j] {
					rowPrice[row[j]] += step
					columnPrice[j] -= step
				} else {
					least[j] -= step
				}
			}
			current = next
		}
		for current != 0 {
			row[current] = row[before[current]]
			current = before[current]
		}
	}
	column = make([]int, n)
	for j := 1; j <= n; j++ {
		column[row[j]-1] = j - 1
	}
	return column
}
