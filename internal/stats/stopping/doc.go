// Package stopping says when a measurement has run long enough: whether its
// rate is steady, how much of its beginning is warm-up, how precisely its mean
// is known, and, of all that, when to stop.
//
//   - SNIA judges rounds for steady state as the Solid State Storage
//     Performance Test Specification does.
//   - MSER5 finds the warm-up to cut off.
//   - MeanInterval gives the mean of an autocorrelated series with its interval.
//   - New gives a Stopper, which takes one rate per interval while a trial runs
//     and says when to stop, and why.
//
// When there are enough rounds of trials is said by internal/trial/plan/rounds.
//
// The package is pure and deterministic. docs/evidence/stopping.md gives formulas,
// sources, and how often the intervals hold the truth.
//
// Hazards: rates of successive intervals are not independent, so the usual
// standard error is too small, often by a factor of three. And a series can
// only tell of what has happened in it: who stops after 45 seconds knows
// nothing of a cache that is full after a minute. Preconditioning is for that.
package stopping
