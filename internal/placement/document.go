package placement

import (
	"encoding/json"
	"io"

	"plimsoll/internal/result"
)

// SchemaVersion is the version of a plan's file, which grows where what was written before reads otherwise.
const SchemaVersion = 1

// Document is a plan's file: the plan, and what it was made from.
type Document struct {
	Kind    string `json:"kind"` // "plimsoll plan"
	Schema  int    `json:"schema"`
	Version string `json:"version"` // of plimsoll
	Seed    uint64 `json:"seed"`
	Plan    *Plan  `json:"plan"`

	Fleet result.InputFile `json:"fleet"` // with its text
	Model result.InputFile `json:"model"`

	// What internal/apply makes containers from; nil for a plan of a fleet's file.
	Deployment any `json:"deployment,omitempty"`
}

// Write writes the document, indented.
func (d Document) Write(w io.Writer) error {
	d.Kind, d.Schema = "plimsoll plan", SchemaVersion
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
