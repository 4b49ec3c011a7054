package stats

import "math"

// Jain returns the fairness index of shares (Jain, Chiu and Hawe: A quantitative measure of fairness and
// discrimination for resource allocation in shared computer systems, 1984): 1 for equal shares, 1/n where one of n
// gets all. NaN for no shares, or where all are 0.
func Jain(got []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range got {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(got)) * squares)
}
