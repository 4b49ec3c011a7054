package published

import (
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// part tests the share of a stage in the total latency, on bare devices.
func part(v *measured.View, c claims.Claim) []claimCase {
	w := wantedLoad(c.Test, c.Test.Roles[0])
	d, _, ok := nearest(v, w)
	if !ok {
		return nil // a share at another load is another thing
	}
	var out []claimCase
	for _, s := range subjects(v, c.Test) {
		k := claimCase{stacks: []string{s.Name}, workload: d.Name}
		if cell := v.Cell(s.Name, d.Name); cell == nil {
			k.judgement = unmeasured(v, s.Stack, d.Name)
		} else {
			k.share(c, cell)
		}
		out = append(out, k)
	}
	return out
}

func (k *claimCase) share(c claims.Claim, of *measured.Cell) {
	k.evidence = []*measured.Cell{of}
	var shares []float64
	for _, t := range of.Trials {
		if s := trialLatency(t, result.Submission); s > 0 {
			if share := s / trialLatency(t, result.Total); measured.Finite(share) && share <= 1 {
				shares = append(shares, share)
			}
		}
	}
	if len(shares) == 0 {
		k.judgement = notTestable("no submission", of.Stack.Name)
		return
	}
	estimate := measured.Estimate(shares)
	k.measured = fact.Remark{Case: "has", Facts: Has{of.Stack.Name, "share", estimate}}
	if l, ok := of.Latencies(); ok {
		takes := fact.Remark{Case: "takes", Facts: Takes{of.Stack.Name, "", latencyOf(l)}}
		k.grounds = append([]fact.Remark{takes}, cost.PartsOf(of, "")...)
	}
	switch why := measured.Unfit(of); {
	case why != nil:
		k.judgement = notTestable("unfit", why)
	case slices.Contains(of.Stack.Marks, result.MarkLoop):
		// A share is no ratio of two stacks, in which a loop device cancels out.
		k.judgement = notTestable("loop adds", of.Stack.Name)
	default:
		k.judgement = judgeShare(c, estimate)
	}
}

// rise tests how much longer an I/O takes on a busy device than on an idle one.
func rise(v *measured.View, c claims.Claim) []claimCase {
	role := c.Test.Roles[0]
	low, _, okLow := nearest(v, wantedLoad(&claims.Test{Load: claims.Low}, role))
	wanted := wantedLoad(c.Test, role)
	high, like, okHigh := nearest(v, wanted)
	like = slices.DeleteFunc(like, func(d measured.Driven) bool { return d.Load.InFlight() == 1 })
	if !okLow || !okHigh && len(like) == 0 {
		return nil
	}
	var out []claimCase
	for _, s := range subjects(v, c.Test) {
		k := claimCase{stacks: []string{s.Name}, workload: low.Name}
		if okHigh {
			k.workload = high.Name
			underLoad(v, &k, c, s.Stack, low, high)
			k.caveats = append(k.caveats, fact.Remark{Case: "caveat: how deep", Facts: loadOf(high.Load)})
		} else {
			k.judgement = wanted.lacking(like)
		}
		out = append(out, k)
	}
	return out
}

func underLoad(v *measured.View, k *claimCase, c claims.Claim, s *measured.Stack, low, high measured.Driven) {
	a, b := v.Cell(s.Name, high.Name), v.Cell(s.Name, low.Name)
	for _, m := range []struct {
		cell     *measured.Cell
		workload string
	}{{a, high.Name}, {b, low.Name}} {
		if m.cell == nil {
			k.judgement = unmeasured(v, s, m.workload)
			return
		}
	}
	k.evidence = []*measured.Cell{a, b}
	x, okX := a.Latencies()
	y, okY := b.Latencies()
	if okX && okY {
		k.grounds = []fact.Remark{{Case: "loads", Facts: Loads{
			Takes{s.Name, high.Name, latencyOf(x)}, Takes{s.Name, low.Name, latencyOf(y)},
			high.Load.InFlight(), low.Load.InFlight(),
		}}}
		k.grounds = append(append(k.grounds, cost.PartsOf(a, high.Name)...), cost.PartsOf(b, low.Name)...)
	}
	e, ok := v.Effect("mean total latency", s.Name+" under "+high.Name, s.Name+" under "+low.Name, a.Totals(), b.Totals())
	if !ok {
		k.judgement = notTestable("no latencies", nil)
		return
	}
	k.effect = &e
	k.measured = fact.Remark{Case: "longer", Facts: Longer{s.Name, high.Name, low.Name, e}}
	if why := measured.Unfit(a, b); why != nil {
		k.judgement = notTestable("unfit", why)
		return
	}
	k.judgement = judgeRatio(c, e)
}

// Longer is how much longer an I/O takes under one workload than under another.
type Longer struct {
	Stack  string      `json:"stack"`
	High   string      `json:"high"` // the workloads
	Low    string      `json:"low"`
	Effect fact.Effect `json:"effect"`
}

// trialLatency is the sum of a stage's latencies over all operations, in ns; 0
// when it is not known.
func trialLatency(t *result.Trial, stage result.Stage) float64 {
	sum := 0.0
	for _, o := range t.Measured().Operations {
		if l := o.Latency[stage]; l.Count > 0 {
			sum += l.MeanNS * float64(l.Count)
		}
	}
	return sum
}
