package fact

// Unbound is a limit that nothing came near in any trial of the mixes that have it: it is no
// reason for anything that was measured.
type Unbound struct {
	Resource Resource `json:"resource"`
	Workload string   `json:"workload,omitempty"` // whose instances have the limit, each of them; "" for the miniature's
	Policy   string   `json:"policy,omitempty"`   // that gave it; "" for none named
	Most     float64  `json:"most"`               // the greatest share of it that a trial used, 0 to 1
	Mix      string   `json:"mix"`                // of that trial
	Mixes    int      `json:"mixes"`              // that have the limit, and were measured
	Trials   int      `json:"trials"`             // of them
}
