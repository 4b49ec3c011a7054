package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
)

// ImportedClass counts the points of a class in a table that another tool measured.
type ImportedClass struct {
	Class  string   `json:"class"`
	Points int      `json:"points"`           // of it alone
	Beside int      `json:"beside,omitempty"` // mixes with other classes
	Over   []string `json:"over,omitempty"`   // what differs between its points: "instances", "memory"
	Hosts  int      `json:"hosts"`            // that they were measured on
}

// ImportedPoints are the points of a table that another tool measured, by class.
type ImportedPoints struct {
	Classes []ImportedClass `json:"classes"`
}

// importedPoints draws the verdict of a table of points: what it has, as nothing of it can be measured again here.
func importedPoints(v *runview.View, _ bool) (f fact.Finding, answer ImportedPoints, ok bool) {
	if !points.Made(v.Run) {
		return f, answer, false
	}
	for _, w := range v.Run.Workloads {
		class := ImportedClass{Class: w.Name}
		var counts []int
		var hosts []result.Limits
		for _, m := range v.Run.Mixes {
			if !slices.ContainsFunc(m.Tenants, func(t result.Tenant) bool { return t.Workload == w.Name }) {
				continue
			}
			if host := *m.Host; host != (result.Limits{}) { // else nobody knows which
				hosts = runview.AddNew(hosts, host)
			}
			if len(m.Tenants) > 1 {
				class.Beside++
				continue
			}
			class.Points++
			if counts = runview.AddNew(counts, m.Tenants[0].Count); len(counts) == 2 {
				class.Over = append([]string{"instances"}, class.Over...)
			}
			for _, level := range slices.Sorted(maps.Keys(m.Levels)) {
				class.Over = runview.AddNew(class.Over, level)
			}
		}
		class.Hosts = len(hosts)
		answer.Classes = append(answer.Classes, class)
	}
	f = fact.Finding{ID: "recommendation", Case: "imported points", Kind: fact.KindRecommendation,
		Recommendation: &fact.Recommendation{Confidence: fact.Likely}}
	f.Title, f.Why = answer.text()
	return f, answer, true
}

// Next returns the model of the points, which predicts what other hosts would do.
func (p ImportedPoints) Next(run *result.Run, _ fact.Confidence) fact.Next {
	if run.ID == "" {
		return fact.Next{}
	}
	return fact.Next{Command: printable.Plimsoll("fit", run.ID), Purpose: "what other hosts and numbers would do, by a model of it"}
}

// text describes the points.
func (p ImportedPoints) text() (title, why string) {
	var texts []string
	hosts := 0
	for _, e := range p.Classes {
		text := fmt.Sprintf("%s of %s", plural.Count(e.Points, "point"), e.Class)
		if len(e.Over) > 0 {
			text += " over " + plural.And(e.Over)
		}
		if e.Beside > 0 {
			text += fmt.Sprintf(" and %s with others", plural.Count(e.Beside, "mix"))
		}
		texts = append(texts, text)
		hosts = max(hosts, e.Hosts)
	}
	title = "Imported: " + strings.Join(texts, ", ")
	of := ""
	if hosts > 0 {
		of = ", of " + plural.Count(hosts, "host")
	}
	return title, "A table says so" + of + "; nothing of it was checked, and nothing can be measured again here."
}
