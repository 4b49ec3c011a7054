package fact

// Remark is a sentence beside a finding: its name, and the facts that it is made of.
type Remark struct {
	Case  string `json:"case"`
	Facts any    `json:"facts,omitempty"`
}
