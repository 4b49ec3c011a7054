package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// growing is how many times longer an I/O must take under the higher load for
// its growth to be told.
const growing = 1.2

// growth tells, of workloads that differ in jobs and depth only, which part of
// an I/O's latency grows from the lowest load to the highest.
func growth(v *view) []Finding {
	var out []Finding
	alike := func(l fio.Load) fio.Load { l.Jobs, l.Depth = 0, 0; return l }
	for _, g := range v.series(alike, fio.Load.InFlight) {
		low, high := g[0], g[len(g)-1]
		for _, d := range directions {
			for _, s := range v.stacks {
				if f := v.growth(s, d, low, high); f != nil {
					out = append(out, *f)
				}
			}
		}
	}
	return out
}

// grown is how much a part grew.
type grown struct {
	what string
	stats.Difference
	differs bool
}

func (v *view) growth(s *stack, d direction, low, high driven) *Finding {
	a, b := v.spanOf(s, high.name, d), v.spanOf(s, low.name, d)
	if a == nil || b == nil || a.negative() < -a.tolerance()*a.median(totalLatency) {
		return nil
	}
	e, ok := v.effect("mean total latency", s.Name+" under "+high.name, s.Name+" under "+low.name, a.sample(totalLatency), b.sample(totalLatency))
	total, sums := stats.DifferenceOfMedians(a.values(totalLatency), b.values(totalLatency), v.run.Seed)
	if !ok || !sums || !e.Differs || e.Low < growing {
		return nil
	}
	var parts []grown
	for _, p := range a.pieces(a.halved() && b.halved()) {
		parts = append(parts, v.grown(p.noun, a.values(p.of), b.values(p.of)))
	}
	residue := func(b *result.Breakdown) float64 { return b.ResidueNS }
	parts = append(parts, v.grown("what no part explains", a.values(residue), b.values(residue)))
	slices.SortStableFunc(parts, func(x, y grown) int { return cmp.Compare(y.Difference.Difference, x.Difference.Difference) })
	most := parts[0]
	if !most.differs || most.Low <= 0 {
		return nil
	}
	var each []string
	for _, p := range parts {
		text := extraText(p.Difference, stats.FewestPairs) // e has as many
		if !p.differs && !strings.HasPrefix(text, "~") {
			text = "~ " + text
		}
		each = append(each, fmt.Sprintf("%s %s", p.what, text))
	}
	share := func(p grown) string { return units.Percent(min(1, p.Difference.Difference/total.Difference)) }
	return &Finding{
		ID: fmt.Sprintf("growth/%s/%s/%s", s.Name, high.name, d.noun), Kind: KindTime, Workload: high.name, Stacks: []string{s.Name},
		Title: fmt.Sprintf("From %s to %s I/Os in flight, %s of what %s takes longer on %s is in %s: %s more, under %s than under %s",
			fmt.Sprint(low.load.InFlight()), fmt.Sprint(high.load.InFlight()), share(most), d.one, s.Name, most.what, units.Latency(most.Difference.Difference), high.name, low.name),
		Why: fmt.Sprintf("%s takes %s under %s (%s) and %s under %s (%s), %s. What grows: %s. Differences are of medians of the trials' means, with their 95%% intervals.",
			capital(d.one), units.Latency(b.median(totalLatency)), low.name, loadText(low.load), units.Latency(a.median(totalLatency)), high.name, loadText(high.load),
			shortRatio(e), strings.Join(each, "; ")),
		Effect: &e, Evidence: points(a.cell, b.cell), Caveats: partCaveats(a, b),
	}
}

func (v *view) grown(what string, high, low []float64) grown {
	d, _ := stats.DifferenceOfMedians(high, low, v.run.Seed)
	return grown{what, d, stats.MannWhitney(high, low) < stats.Alpha}
}

// spanOf gives the traced I/Os of a stack under a workload, or nil.
func (v *view) spanOf(s *stack, workload string, d direction) *span {
	c := v.cell(s.Name, workload)
	if c == nil || c.source() == result.SourceMemory {
		return nil
	}
	return c.span(d).parted()
}
