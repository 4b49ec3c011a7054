package report

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// policiesOf are the policies that a mix is one of; nil for none.
func (t *terminal) policiesOf(mix string) *fact.Policies {
	for _, p := range fact.AllPolicies(t.findings) {
		if p.Of(mix) != nil {
			return p
		}
	}
	return nil
}

// underPolicies prints what instances did under each policy of limits: one table, where each mix
// would have one.
func (t *terminal) underPolicies(points []fact.Point) {
	t.explained([]string{
		"against none: ratio to instances without limits of their own, in the same blocks; ~ is no significant difference",
		"least: what the slowest instance gets of an equal share; fair: Jain's index over their rates, 1 where all get " +
			"the same",
		"held by: what keeps instances from doing more, by what was used; -: nothing that was measured",
		wordsHint,
	}, func() (shown bool) {
		for _, p := range fact.AllPolicies(t.findings) {
			if t.scalingOf(p.None.Mix) != nil {
				continue // the table over the number of instances has all of it
			}
			shown = true
			t.sectionOn(policiesTitle(p), p.Stack)
			at := slices.IndexFunc(t.whole.Workloads, func(w result.Workload) bool { return w.Name == p.None.Mix })
			if at >= 0 {
				if _, summary, ok := strings.Cut(t.whole.Workloads[at].Summary, ", "); ok {
					t.text("  ", "  ", summary, t.style.dim)
				}
			}
			own := slices.DeleteFunc(slices.Clone(points), func(point fact.Point) bool { return p.Of(point.Workload) == nil })
			columns, rows := t.policyTable(p, rateHead(own))
			t.table(columns, rows)
		}
		return shown
	})
}

// policyTable has a row for each policy; rate heads what all do together.
func (t *terminal) policyTable(p *fact.Policies, rate string) (columns []column, rows []tableRow) {
	columns = []column{
		{head: "policy", left: true}, {head: rate}, {head: "against none"}, {head: "interval", drop: 3}, {head: "p99"},
		{head: "against none"}, {head: "interval of p99", drop: 2}, {head: "fair", drop: 5}, {head: "least", drop: 6},
		{head: "reads/op", drop: 7}, {head: "cache", drop: 4}, {head: "held by", left: true},
		{head: "not reached", left: true, drop: 1},
	}
	for _, one := range append([]fact.Policy{p.None}, p.Policies...) {
		row := tableRow{paint: t.style.plain, stack: p.Stack, cells: []string{one.Name, units.Grouped(one.Rate)}}
		row.cells = append(row.cells, ratioCells(one.Throughput)...)
		tail := ""
		if one.P99NS > 0 {
			tail = latencyText(one.P99NS)
		}
		row.cells = append(append(row.cells, tail), ratioCells(one.P99)...)
		cache := ""
		if one.CacheBytes > 0 {
			cache = units.Bytes(uint64(one.CacheBytes))
		}
		row.cells = append(row.cells, units.Digits(one.Fair), percentText(one.Weakest), units.Significant(one.DeviceReads),
			cache,
			cmp.Or(resourceWords(one.Held), "-"), resourceWords(one.Idle()))
		rows = append(rows, row)
	}
	return columns, rows
}

// resourceWords name resources; "" for none.
func resourceWords(all []fact.Resource) string {
	var words []string
	for _, r := range all {
		words = append(words, r.Word())
	}
	return plural.And(words)
}
