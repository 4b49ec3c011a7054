package fact

import (
	"fmt"
	"math"

	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// Effect is the size of a difference: subject against baseline. Rates of stacks are compared by the fit of all stacks
// of a workload (stats.Fit). All else is compared in pairs of the same round where setups are known
// (stats.PairedRatio), and as two samples where they are not (stats.RatioOfMedians).
type Effect struct {
	Metric   string  `json:"metric"` // "IOPS"
	Subject  string  `json:"subject"`
	Baseline string  `json:"baseline"`
	Ratio    float64 `json:"ratio"`             // subject / baseline
	Low      float64 `json:"low,omitzero"`      // 95% interval of Ratio; Low and High are 0 where there is none
	High     float64 `json:"high,omitzero"`     // which is below four setups
	P        float64 `json:"p"`                 // two-sided, of this comparison alone
	Adjusted float64 `json:"adjusted,omitzero"` // P for all comparisons of rates in the run (Benjamini and Hochberg); 0 for other metrics
	N        [2]int  `json:"n"`                 // setups of subject and baseline; trials where setups are not known
	Pairs    int     `json:"pairs,omitempty"`   // blocks that both were in
	Floor    float64 `json:"floor,omitzero"`    // ratio, above 1, by which two copies of the baseline differed, or setups of the same mix; 0 when not known. It decides nothing
	TooFew   bool    `json:"too_few,omitempty"` // so few cannot differ significantly, however far apart
	Differs  bool    `json:"differs"`           // significant at 5%, and visible; otherwise shown as ~
}

// HasInterval reports whether there is an interval of the ratio.
func (e Effect) HasInterval() bool { return e.Low > 0 }

// MayLose returns by how much, as a share, the ratio is below 1 at most, as far as is known.
func (e Effect) MayLose() float64 { return max(0, 1-e.Low) }

// MayChange returns by how much, as a share, the ratio is below or above 1 at most, as far as is known.
func (e Effect) MayChange() float64 { return max(e.MayLose(), e.High-1) }

// Size is a ratio as a factor above 1.
func (e Effect) Size() float64 { return max(e.Ratio, 1/e.Ratio) }

// Cells are the ratio for a table, ~ where it is not significant, and its interval; of nil, nothing.
func (e *Effect) Cells() (ratio, interval section.Cell) {
	if e == nil || !(e.Ratio > 0) {
		return ratio, interval
	}
	ratio = section.Times.Cell(e.Ratio)
	switch {
	case e.TooFew:
		ratio.Text = "too few"
	case !e.Differs:
		ratio.Text = "~"
	}
	if e.HasInterval() && !math.IsInf(e.High, 0) {
		interval = section.Times.Between(e.Low, e.High)
	}
	return ratio, interval
}

// Tested says what the test said, and of how many: "p = 0.029, n = 4 and 4".
func (e *Effect) Tested() string {
	if e.TooFew {
		return fmt.Sprintf("too few to test, n = %d and %d", e.N[0], e.N[1])
	}
	return fmt.Sprintf("%s, n = %d and %d", units.PValue(e.P), e.N[0], e.N[1])
}

// WithInterval is the ratio with its interval, if it has one: "0.83x (0.78 to 0.89)".
func (e *Effect) WithInterval() string {
	text := section.Times.Format(e.Ratio)
	if e.HasInterval() {
		text += " (" + section.Times.Between(e.Low, e.High).String() + ")"
	}
	return text
}

// Written is WithInterval, and ~ before what is not significant: "~ 1.01x (0.98 to 1.03)". So few that nothing
// can be have neither.
func (e *Effect) Written() string {
	if e.Differs || e.TooFew {
		return e.WithInterval()
	}
	return "~ " + e.WithInterval()
}
