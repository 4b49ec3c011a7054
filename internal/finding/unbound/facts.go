// Package unbound names the limits that nothing came near in any mix: they are no reason for any number.
package unbound

import "plimsoll/internal/fact"

// Facts lists the limits of a run that nothing came near.
type Facts struct {
	Limits []Limit `json:"limits"`
}

// Limit is a limit that nothing came near in any trial of the mixes that have it: it is no
// reason for anything that was measured.
type Limit struct {
	Resource fact.Resource `json:"resource"`
	Workload string        `json:"workload,omitempty"` // whose instances have the limit, each of them; "" for the scaled-down host's
	Policy   string        `json:"policy,omitempty"`   // that gave it; "" for none named
	Most     float64       `json:"most"`               // the greatest share of it that a trial used, 0 to 1
	Mix      string        `json:"mix"`                // of that trial
	Mixes    int           `json:"mixes"`              // that have the limit, and were measured
	Trials   int           `json:"trials"`             // of them
}
