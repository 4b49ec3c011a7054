package rules

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

// ToySentences are the sentences on the toy. Where there are more, they stand in a file beside the rule.
var ToySentences = prose.NewSheet(`
{{define "called"}}This is the run called {{.Facts.Name}}{{end}}
{{define "called: why"}}It says so itself.{{end}}
`)

// Named is a run's name.
type Named struct {
	Name string `json:"name"`
}

// Toy finds the run called toy.
func Toy(v *measured.View) []fact.Finding {
	if v.Run.ID != "toy" {
		return nil
	}
	return []fact.Finding{{ID: "toy/run", Case: "called", Kind: fact.KindCaveat, Facts: Named{v.Run.ID}}}
}
