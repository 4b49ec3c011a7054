package fact

// HostOrigin says which host numbers are of.
type HostOrigin string

// The origins of hosts.
const (
	WholeHost     HostOrigin = "whole"       // the one that measured
	ScaledDown    HostOrigin = "scaled-down" // a smaller one made of it, by limits
	ImportedHost  HostOrigin = "imported"    // one whose numbers were imported
	PredictedHost HostOrigin = "predicted"   // one that a model was asked about
)

// Host is the host that numbers are of.
type Host struct {
	Origin HostOrigin `json:"origin"`
	Has    string     `json:"has,omitempty"` // its processors, memory and drives, for people; "" where they have no limits
}
