package fact

// Remark is what is said beside a finding: the name of its sentence, and the facts
// which that is made of.
type Remark struct {
	Case  string `json:"case"`
	Facts any    `json:"facts,omitempty"`
}
