package verdict

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/plural"
	"plimsoll/internal/points"
	"plimsoll/internal/result"
)

// Elsewhere is what a table has of a class that something else measured.
type Elsewhere struct {
	Class  string   `json:"class"`
	Points int      `json:"points"`
	Over   []string `json:"over,omitempty"` // what differs between them: "instances", "memory"
	Hosts  int      `json:"hosts"`          // that they were measured on
}

// elsewhere draws the verdict of a table of points: what it has, as nothing of it can be measured again here.
func elsewhere(v *measured.View) (f fact.Finding, ok bool) {
	if v.Run.Imported == nil || len(v.Run.Mixes) == 0 ||
		slices.ContainsFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Kind != points.Kind }) {
		return f, false
	}
	var all []Elsewhere
	for _, w := range v.Run.Workloads {
		one := Elsewhere{Class: w.Name}
		var counts []int
		var hosts []result.Limits
		var memories, own []int64
		for _, m := range v.Run.Mixes {
			of := m.Tenants[0]
			if of.Workload != w.Name {
				continue
			}
			one.Points++
			host := *m.Host
			counts = with(counts, of.Count)
			if host != (result.Limits{}) { // else nobody knows which
				hosts = with(hosts, host)
			}
			if host.MemoryBytes > 0 {
				memories = with(memories, host.MemoryBytes)
			}
			if of.Limits.MemoryBytes > 0 {
				own = with(own, of.Limits.MemoryBytes)
			}
		}
		one.Hosts = len(hosts)
		for _, differs := range []struct {
			what string
			n    int
		}{{"instances", len(counts)}, {"memory", max(len(memories), len(own))}} {
			if differs.n > 1 {
				one.Over = append(one.Over, differs.what)
			}
		}
		all = append(all, one)
	}
	f = fact.Finding{ID: "recommendation", Case: "elsewhere", Kind: fact.KindRecommendation,
		Recommendation: &fact.Recommendation{Confidence: fact.Likely}, Facts: Facts{Elsewhere: all, Imported: true}}
	if v.Run.ID != "" {
		f.Recommendation.Command = "plimsoll fit " + v.Run.ID
	}
	return f, true
}

func with[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// tells says what was measured elsewhere.
func (v Facts) tells() (title, why string) {
	var all []string
	most := 0
	for _, e := range v.Elsewhere {
		text := fmt.Sprintf("%s of %s", plural.Count(e.Points, "point"), e.Class)
		if len(e.Over) > 0 {
			text += " over " + strings.Join(e.Over, " and ")
		}
		all = append(all, text)
		most = max(most, e.Hosts)
	}
	title = "Measured elsewhere: " + strings.Join(all, ", ")
	of := ""
	if most > 0 {
		of = ", of " + plural.Count(most, "host")
	}
	return title, "A table says so" + of + "; nothing of it was checked, and nothing can be measured again here."
}
