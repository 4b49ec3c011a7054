// Package toy finds the run called toy. It is the least that a question takes: its facts, the rule
// that finds them, the sentences, and what is shown of them.
package toy

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
)

// Facts are a run's name.
type Facts struct {
	Name string `json:"name"`
}

// Find finds the run called toy.
func Find(v *runview.View) []fact.Finding {
	if v.Run.ID != "toy" {
		return nil
	}
	f := Facts{v.Run.ID}
	return []fact.Finding{{
		ID: "toy/run", Case: "called", Kind: fact.KindCaveat, Facts: f, Title: "This is the run called " + f.Name, Why: "It says so itself.",
		Section: &section.Section{Title: "Its name", Tables: []section.Table{{
			Columns: []section.Column{{Head: "name", Text: true, Means: "what the run is called"}},
			Rows:    []section.Row{{Cells: []section.Cell{section.Text(f.Name)}}},
		}}},
	}}
}
