// Package toyquestion has the verdict of the run called toy. It is the least that a question of a verdict takes: its
// facts, what they leave open, and its sentence.
package toyquestion

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Facts are a run's name.
type Facts struct {
	Name string `json:"name"`
}

// Next returns what is open of the name: nothing that another run would settle.
func (Facts) Next(*result.Run, fact.Confidence) fact.Next {
	return fact.Next{Open: "call the run by another name"}
}

// Verdict draws the verdict of the run called toy.
func Verdict(v *runview.View, _ bool) (f fact.Finding, answer Facts, ok bool) {
	if v.Run.ID != "toy" {
		return f, answer, false
	}
	answer.Name = v.Run.ID
	return fact.Finding{
		ID: "recommendation", Case: "toy", Kind: fact.KindRecommendation, Title: "Sure: this is the run called " + answer.Name,
		Why: "It says so itself.", Recommendation: &fact.Recommendation{Confidence: fact.Sure},
	}, answer, true
}
