package ycsb

import "encoding/json"

// Answered is what a server said of itself when it answered first.
type Answered struct {
	Version string `json:"version,omitempty"` // "15.20"
}

// mostVersion is the most bytes of a version that is believed.
const mostVersion = 100

// ReadAnswered reads it; what cannot be read says nothing.
func ReadAnswered(text []byte) (a Answered) {
	if json.Unmarshal(text, &a) != nil || len(a.Version) > mostVersion {
		return Answered{}
	}
	return a
}

// Text is what ReadAnswered reads.
func (a Answered) Text() []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // a text
	}
	return append(text, '\n')
}
