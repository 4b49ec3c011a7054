package fact

import "math"

// Claim is a published result, and whether this run bears it out.
type Claim struct {
	ID        string `json:"id"`        // "drv-btrfs-nodatacow"
	Paper     string `json:"paper"`     // "MSST'17"
	Where     string `json:"where"`     // "5.2 fig 3h"
	Statement string `json:"statement"` // what it is about: "btrfs with nodatacow against btrfs"
	Published string `json:"published"` // "5x", "1.00x ± 0.10", "below 1x", "24 jobs"

	// PublishedLow and PublishedHigh are the published value with its tolerance: a ratio, a
	// share, or a place in Unit. Each is nil where there is no limit.
	PublishedLow  *float64 `json:"published_low,omitempty"`
	PublishedHigh *float64 `json:"published_high,omitempty"`
	Unit          string   `json:"unit,omitempty"` // of a place: "jobs", "KiB"

	// What figures mark beside what was measured: At, which is a limit where it is a Bound.
	Of    Marked  `json:"-"`
	At    float64 `json:"-"`
	Bound bool    `json:"-"`

	Measured string       `json:"measured,omitempty"` // as shown, with its interval: "3.4x (2.3 to 6.0)"; "" when nothing was
	StandIn  string       `json:"stand_in,omitempty"` // what was measured in the place of what the claim speaks of
	Verdict  ClaimVerdict `json:"verdict"`
	Why      string       `json:"why"` // of the verdict
}

// Marked is what a published number is of that figures mark: "" for none.
type Marked string

// What it is of.
const (
	OfRatio      Marked = "ratio"      // of two stacks, as the finding's effect is
	OfSubmission Marked = "submission" // its share of the latency
)

// Limits are PublishedLow and PublishedHigh, where there is none 0 and infinity.
func (c Claim) Limits() (low, high float64) {
	high = math.Inf(1)
	if c.PublishedLow != nil {
		low = *c.PublishedLow
	}
	if c.PublishedHigh != nil {
		high = *c.PublishedHigh
	}
	return low, high
}

// ClaimVerdict reports whether a published result holds on this host.
type ClaimVerdict string

// The verdicts on published results.
const (
	ClaimConfirmed    ClaimVerdict = "confirmed here"
	ClaimContradicted ClaimVerdict = "contradicted here"
	ClaimNotTestable  ClaimVerdict = "not testable here" // what is missing, or undecided, is in Why

	// Of what ran in the place of the paper's database, or of what it was asked, which
	// StandIn names: it has the published shape, a direction and a rough size, or another.
	// Only the paper's own database confirms or contradicts.
	ClaimSameShape  ClaimVerdict = "same shape here"
	ClaimOtherShape ClaimVerdict = "another shape here"
)
