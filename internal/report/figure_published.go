package report

import (
	"math"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
)

// publishedRatio is a published ratio of two stacks that this run measured
// too. Numbers of other hardware can only be compared as ratios.
type publishedRatio struct {
	effect           fact.Effect
	workload         string
	value, low, high float64 // as published, and with its tolerance
	bound            bool    // only a limit was published: value
	text             string  // "5x"
	paper, where     string
	verdict          fact.ClaimVerdict
}

func (r publishedRatio) class() string {
	if r.bound {
		return classBound
	}
	return classPublished
}

func publishedRatios(findings []fact.Finding) []publishedRatio {
	var all []publishedRatio
	for _, f := range findings {
		if f.Claim == nil || f.Effect == nil {
			continue
		}
		c, known := claims.Find(f.Claim.ID)
		if !known || c.Kind != claims.Ratio || c.Value == nil || len(c.Value.Parts) > 0 {
			continue
		}
		r := publishedRatio{effect: *f.Effect, workload: f.Workload, low: 0, high: math.Inf(1),
			text: f.Claim.Published, paper: f.Claim.Paper, where: f.Claim.Where, verdict: f.Claim.Verdict}
		if f.Claim.Low != nil {
			r.low = *f.Claim.Low
		}
		if f.Claim.High != nil {
			r.high = *f.Claim.High
		}
		switch low, high := c.Value.Low, c.Value.High; {
		case math.IsInf(low, 0):
			r.value, r.bound = high, true
		case math.IsInf(high, 0):
			r.value, r.bound = low, true
		default:
			r.value = (low + high) / 2
		}
		if r.value > 0 {
			all = append(all, r)
		}
	}
	return all
}

// publishedShare gives the published share of submission in the latency of a
// stack under a workload; ok is false when there is none.
func publishedShare(findings []fact.Finding, p fact.Point) (f fact.Finding, share float64, ok bool) {
	for _, f := range findings {
		if f.Claim == nil || f.Workload != p.Workload || len(f.Stacks) == 0 || f.Stacks[0] != p.Stack {
			continue
		}
		c, known := claims.Find(f.Claim.ID)
		if known && c.Unit == "share" && c.Value != nil && c.Value.Low == c.Value.High {
			return f, c.Value.Low, true
		}
	}
	return f, 0, false
}
