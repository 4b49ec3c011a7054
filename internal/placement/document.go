package placement

import (
	"encoding/json"
	"io"
)

// SchemaVersion is the version of a plan's file, which grows where what was written before reads otherwise.
const SchemaVersion = 1

// Source is a file that a plan was made from.
type Source struct {
	File string `json:"file"`
	Sum  string `json:"sha256"`
}

// Document is a plan's file: the plan, and what it was made from.
type Document struct {
	Kind    string `json:"kind"` // "plimsoll plan"
	Schema  int    `json:"schema"`
	Version string `json:"version"` // of plimsoll
	Seed    uint64 `json:"seed"`
	Fleet   Source `json:"fleet"`
	Model   Source `json:"model"`
	Text    string `json:"fleet_text"`
	Plan    *Plan  `json:"plan"`
}

// Write writes the document, indented.
func (d Document) Write(w io.Writer) error {
	d.Kind, d.Schema = "plimsoll plan", SchemaVersion
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
