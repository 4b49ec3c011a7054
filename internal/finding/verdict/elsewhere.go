package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
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

// elsewhere draws the verdict of a table of points: what it has, as nothing of it can be measured again here.
func elsewhere(v *runview.View) (f fact.Finding, ok bool) {
	if !points.Made(v.Run) {
		return f, false
	}
	var all []ImportedClass
	for _, w := range v.Run.Workloads {
		one := ImportedClass{Class: w.Name}
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
				one.Beside++
				continue
			}
			one.Points++
			if counts = runview.AddNew(counts, m.Tenants[0].Count); len(counts) == 2 {
				one.Over = append([]string{"instances"}, one.Over...)
			}
			for _, level := range slices.Sorted(maps.Keys(m.Levels)) {
				one.Over = runview.AddNew(one.Over, level)
			}
		}
		one.Hosts = len(hosts)
		all = append(all, one)
	}
	f = fact.Finding{ID: "recommendation", Case: "elsewhere", Kind: fact.KindRecommendation,
		Recommendation: &fact.Recommendation{Confidence: fact.Likely}, Facts: Facts{Answers: Answers{ImportedClasses: all}, Conditions: Conditions{Imported: true}}}
	if v.Run.ID != "" {
		f.Recommendation.Command = printable.Plimsoll("fit", v.Run.ID)
	}
	return f, true
}

// importedText describes what was measured elsewhere.
func (v Facts) importedText() (title, why string) {
	var all []string
	most := 0
	for _, e := range v.ImportedClasses {
		text := fmt.Sprintf("%s of %s", plural.Count(e.Points, "point"), e.Class)
		if len(e.Over) > 0 {
			text += " over " + plural.And(e.Over)
		}
		if e.Beside > 0 {
			text += fmt.Sprintf(" and %s with others", plural.Count(e.Beside, "mix"))
		}
		all = append(all, text)
		most = max(most, e.Hosts)
	}
	title = "Imported: " + strings.Join(all, ", ")
	of := ""
	if most > 0 {
		of = ", of " + plural.Count(most, "host")
	}
	return title, "A table says so" + of + "; nothing of it was checked, and nothing can be measured again here."
}
