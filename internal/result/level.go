package result

// Level is one value of a factor, which an experiment varies on purpose.
type Level struct {
	Factor string `json:"factor"`
	Text   string `json:"text"` // the level's name, as names of stacks and mixes have it: "64KiB"

	// Number is the level's value where that is a number, in Unit: 65536 and
	// "B" of 64KiB, 0.002 and "s" of 2ms, 4 and "" of a bare 4. It is nil for a
	// level that is no number.
	Number *float64 `json:"number,omitempty"`
	Unit   string   `json:"unit,omitempty"` // "B", "s", or "" for a bare number
}
