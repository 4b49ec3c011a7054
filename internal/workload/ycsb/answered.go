package ycsb

import (
	"encoding/json"
	"maps"
)

// Answered is a server's description of itself in its first answer.
type Answered struct {
	Version  string            `json:"version,omitempty"`  // "15.20"
	Settings map[string]string `json:"settings,omitempty"` // that the plan asks for, as it has them
}

// The most bytes of a version, and of a setting, that are believed.
const (
	mostVersion = 100
	mostSetting = 1000
)

// ReadAnswered reads it; what cannot be read says nothing.
func ReadAnswered(text []byte) (a Answered) {
	if json.Unmarshal(text, &a) != nil || len(a.Version) > mostVersion {
		return Answered{}
	}
	maps.DeleteFunc(a.Settings, func(name, value string) bool { return len(name)+len(value) > mostSetting })
	return a
}

// Text returns the text that ReadAnswered parses.
func (a Answered) Text() []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // a text
	}
	return append(text, '\n')
}
