package stats

import "math"

// Jain is the index of fairness of what several got (Jain, Chiu and Hawe: A quantitative measure of
// fairness and discrimination for resource allocation in shared computer systems, 1984): 1 where
// all got the same, 1/n where one of n got all. NaN for nothing, and where nobody got anything.
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
