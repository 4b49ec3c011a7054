// Package missing answers what was not measured, and why.
package missing

import "plimsoll/internal/result"

// Facts is how many trials were not measured for one reason.
type Facts struct {
	Trials    int                `json:"trials"`
	Status    result.TrialStatus `json:"status"` // of all of them
	Workloads []string           `json:"workloads"`
	What      string             `json:"what,omitempty"`
	Reason    string             `json:"reason"`
	Remedy    string             `json:"remedy,omitempty"` // what would change it

	stacks []string
}
