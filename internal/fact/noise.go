package fact

// Noise is the difference between equal things under one workload: two copies of a
// stack, the setups of all stacks, and the trials of a setup.
type Noise struct {
	Workload string  `json:"workload"`
	Twin     string  `json:"twin,omitempty"`    // the stack that the control is a copy of; "" where there is no control
	Control  *Effect `json:"control,omitempty"` // the control against its twin; nil where there is none
	// The parts of the variance of rates, as shares of a rate; nil when they are
	// not known.
	Within  *float64 `json:"within,omitempty"`  // between trials of one setup
	Between *float64 `json:"between,omitempty"` // between setups in a round, beyond that
	Blocks  *float64 `json:"blocks,omitempty"`  // between rounds: regions of the disk, and hours
	Text    string   `json:"text"`              // all of it in one line, for the place under a table
}

// Line is the text with what it is of; "" where the run does not tell.
func (n Noise) Line() string {
	switch {
	case n.Text == "":
		return ""
	case n.Control != nil:
		return "noise floor: " + n.Text
	}
	return "noise: " + n.Text
}

// Apart returns by how much two copies differed, as a share; 0 where that is not
// known.
func (n Noise) Apart() float64 {
	if n.Control == nil {
		return 0
	}
	return n.Control.Size() - 1
}
