// Package timeseries shows what happened over the time of trials: rounds of preconditioning, rates, why trials
// ended, and what was sampled meanwhile. It is pure.
package timeseries

import "plimsoll/internal/section"

// The classes of grounds and lines over time.
const (
	window    section.Class = "window"    // the time that counts
	tolerance section.Class = "tolerance" // how far from the average rounds may be
	average   section.Class = "average"
	warmup    section.Class = "warmup"
	interval  section.Class = "interval" // of a mean
	mean      section.Class = "mean"
	repeat    section.Class = "repeat" // trials behind the first
)
