// Package stats holds the statistics behind findings: medians and their
// intervals, the ratio of two medians, a rank test, and histograms that merge.
//
// The package is pure and deterministic: what resamples takes a seed. Every
// function leaves its arguments as they are. docs/explanation/statistics.md gives formulas,
// sources and limits.
//
// Hazards: with few trials little can be said. A 95% interval of a median
// needs 6 values (see MedianInterval), and a difference at the 5% level needs
// 4 against 4 (see SmallestP).
package stats
