package cost

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// Growth is how much longer an I/O takes under a higher load, by part.
type Growth struct {
	Direction string    `json:"direction"` // reads, writes
	Low       LoadLevel `json:"low"`
	High      LoadLevel `json:"high"`
	Parts     []Grown   `json:"parts"` // what grew most first
	Share     float64   `json:"share"` // of the growth that is in the first part, at most 1
}

// Most is the part that grew most.
func (g Growth) Most() Grown { return g.Parts[0] }

// Grown is how much a part of the latency grew.
type Grown struct {
	Part    string          `json:"part"` // a part's name, "down" or "back" for a half of the kernel's, or "residue"
	ExtraNS fact.Difference `json:"extra_ns"`
	Differs bool            `json:"differs"` // significant at 5%
}

// Grows finds, of workloads that differ in jobs and depth only, which part of
// an I/O's latency grows from the lowest load to the highest.
func Grows(v *runview.View) []fact.Finding {
	var out []fact.Finding
	alike := func(l fio.Load) fio.Load { l.Jobs, l.Depth = 0, 0; return l }
	for _, g := range seriesOf(v, alike, fio.Load.InFlight) {
		low, high := g[0], g[len(g)-1]
		for _, d := range Directions {
			for _, s := range v.Stacks {
				if f := growthOf(v, s, d, low, high); f != nil {
					out = append(out, *f)
				}
			}
		}
	}
	return out
}

func growthOf(v *runview.View, s *runview.Stack, d Direction, low, high runview.Driven) *fact.Finding {
	a, b := spanUnder(v, s, high.Name, d), spanUnder(v, s, low.Name, d)
	if a == nil || b == nil || a.negative() < -a.tolerance()*a.median(totalLatency) {
		return nil
	}
	e, ok := v.Effect("mean total latency", s.Name+" under "+high.Name, s.Name+" under "+low.Name,
		a.sample(totalLatency), b.sample(totalLatency))
	total, sums := v.Apart(a.Values(totalLatency), b.Values(totalLatency))
	if !ok || !sums || !e.Differs || e.Low < threshold.LatencyGrowth {
		return nil
	}
	var parts []Grown
	for _, p := range append(a.pieces(a.halved() && b.halved()), residue) {
		parts = append(parts, grownPart(v, p.name, a.Values(p.time), b.Values(p.time)))
	}
	slices.SortStableFunc(parts, func(x, y Grown) int { return cmp.Compare(y.ExtraNS.Median, x.ExtraNS.Median) })
	longest := parts[0]
	if !longest.Differs || longest.ExtraNS.Low <= 0 {
		return nil
	}
	facts := Growth{
		Direction: d.Noun, Low: levelOf(low, b), High: levelOf(high, a),
		Parts: parts, Share: min(1, longest.ExtraNS.Median/total.Median),
	}
	f := fact.Finding{
		ID: fmt.Sprintf("growth/%s/%s/%s", s.Name, high.Name, d.Noun), Case: "growth", Kind: fact.KindTime,
		Workload: high.Name, Stacks: []string{s.Name}, Facts: facts, Title: facts.title(s.Name), Why: facts.why(e),
		Effect: &e, Evidence: runview.Points(a.Cell, b.Cell), Caveats: marksOf(a, b),
	}
	remark(&f, PartCaveats(a, b))
	return &f
}

func grownPart(v *runview.View, part string, high, low []float64) Grown {
	d, _ := v.Apart(high, low)
	return Grown{part, d, stats.MannWhitney(high, low) < stats.Alpha}
}

func (g Growth) title(stack string) string {
	most := g.Most()
	return fmt.Sprintf("From %d to %d I/Os in flight, %s of what %s takes longer on %s is in %s: %s more, under %s than under %s",
		g.Low.InFlight, g.High.InFlight, units.Percent(g.Share), prose.One(g.Direction), stack, pieceName(most.Part),
		units.Latency(most.ExtraNS.Median), g.High.Workload, g.Low.Workload)
}

func (g Growth) why(e fact.Effect) string {
	return fmt.Sprintf("%s takes %s under %s (%s) and %s under %s (%s), %s. What grows: %s. Differences are of medians of the "+
		"trials' means, with their 95%% intervals.", prose.Capital(prose.One(g.Direction)), units.Latency(g.Low.TotalNS),
		g.Low.Workload, g.Low, units.Latency(g.High.TotalNS), g.High.Workload, g.High, e.Written(), joined(g.Parts, "; "))
}

// String says how much a part grew.
func (g Grown) String() string {
	if g.Differs {
		return pieceName(g.Part) + " " + prose.Extra(g.ExtraNS)
	}
	return pieceName(g.Part) + " ~ " + prose.Interval(g.ExtraNS)
}
