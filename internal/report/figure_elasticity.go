package report

import (
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// worthOfLimits shows what more and less of each limit of the miniature does to throughput
// and to p99: ratios with their intervals.
func worthOfLimits(e *fact.Elasticity) (section, bool) {
	s := section{
		Title: worthTitle(e),
		Note: "Limits of the miniature (" + e.Host + ") were relaxed and tightened one at a time. Ratios to what " + e.Mix +
			" does as it is, in the same blocks, with their 95% intervals, on a logarithmic scale; ~ for no significant " +
			"difference.",
	}
	var rows []forestRow
	for _, w := range e.Limits {
		for _, c := range []*fact.LimitChange{w.More, w.Less} {
			if c == nil {
				continue
			}
			name := changeText(w, c)
			rows = append(rows, forestRow{
				name: name, baseline: e.Mix, throughput: &c.Rate, p99: c.P99, text: name + " than " + e.Mix + " has",
			})
		}
	}
	var unsure bool
	s.Figures, unsure = forests(rows)
	s.Keys = forestKeys(unsure)
	return s, len(s.Figures) > 0
}

// changeText is a change of a limit in words: "20% more memory".
func changeText(w fact.Worth, c *fact.LimitChange) string {
	limit, less := strings.ReplaceAll(w.Limit, "-", " "), " less "
	if at := slices.Index([]string{"cpus", "read-iops", "write-iops"}, w.Limit); at >= 0 {
		limit, less = []string{"CPUs", "reads a second", "writes a second"}[at], " fewer "
	}
	if c.Factor < 1 {
		return units.Percent(1-c.Factor) + less + limit
	}
	return units.Percent(c.Factor-1) + " more " + limit
}
