package published

import (
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stack/line"
)

// twin tests how the latency of a remote device compares with that of its twin in
// this host.
func twin(v *measured.View, c claims.Claim) []claimCase {
	w := wantedLoad(c.Test, c.Test.Roles[0])
	d, like, ok := nearest(v, w)
	if !ok && len(like) == 0 {
		return nil
	}
	var out []claimCase
	for _, s := range subjects(v, c.Test) {
		k := claimCase{stacks: []string{s.Name}, caveats: []fact.Remark{overTransport(s.Stack)}}
		if !ok {
			k.workload, k.judgement = like[0].Name, w.lacking(like)
			out = append(out, k)
			continue
		}
		k.workload = d.Name
		k.caveats = append(w.otherLoad(d.Load), k.caveats...)
		besideTwin(v, &k, c, s.Stack)
		out = append(out, k)
	}
	return out
}

func besideTwin(v *measured.View, k *claimCase, c claims.Claim, s *measured.Stack) {
	twin := v.Twin(s)
	if twin == nil {
		k.judgement = notTestable("no baseline", Lacks{s.Name, attached(v, s)[0].String()})
		return
	}
	k.stacks = append(k.stacks, twin.Name)
	there, here := v.Cell(s.Name, k.workload), v.Cell(twin.Name, k.workload)
	for _, m := range []struct {
		cell  *measured.Cell
		stack *measured.Stack
	}{{there, s}, {here, twin}} {
		if m.cell == nil {
			k.judgement = unmeasured(v, m.stack, k.workload)
			return
		}
	}
	k.evidence = []*measured.Cell{there, here}
	k.grounds = append(append(whereTimeGoes(there, here), cost.PartsOf(there, "")...), cost.PartsOf(here, "")...)
	metric, latencies := "mean total latency", (*measured.Cell).Totals
	if c.Test.Latency == "completion" {
		metric, latencies = "mean completion latency", (*measured.Cell).Completions
	}
	e, ok := v.Effect(metric, s.Name, twin.Name, latencies(there), latencies(here))
	if !ok {
		k.judgement = notTestable("no latencies", nil)
		return
	}
	k.effect, k.measured = &e, fact.Remark{Case: "beside twin", Facts: e}
	judged := judgeRatio
	if c.Test.Extra {
		judged = judgeExtra
		extra := Extra{s.Name, twin.Name, extraOf(e.Ratio), extraOf(e.Low), extraOf(e.High)}
		k.measured = fact.Remark{Case: "extra", Facts: extra}
	}
	if why := measured.Unfit(there, here); why != nil {
		k.judgement = notTestable("unfit", why)
		return
	}
	k.judgement = judged(c, e)
}

// Extra is the share of a remote latency that is more than the twin's.
type Extra struct {
	Stack string  `json:"stack"`
	Twin  string  `json:"twin"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// extraOf is the share of a latency that is more than another, by their ratio.
func extraOf(ratio float64) float64 { return max(0, 1-1/ratio) }

// judgeExtra holds the share of a remote latency that is extra against a published
// limit, which the interval decides.
func judgeExtra(c claims.Claim, e fact.Effect) judgement {
	if e.TooFew {
		return notTestable("few", e)
	}
	low, high := 1-1/e.Low, 1-1/e.High
	b := Band{Quantity: "share", Low: extraOf(e.Low), High: extraOf(e.High), Limit: c.Value.High}
	switch {
	case high < b.Limit:
		return judge(fact.ClaimConfirmed, "below", b)
	case low > b.Limit:
		return judge(fact.ClaimContradicted, "above", b)
	}
	return notTestable("both sides", b)
}

func overTransport(s *measured.Stack) fact.Remark {
	return fact.Remark{Case: "caveat: other transport", Facts: measured.TransportOf(s.Parsed)}
}

// attached returns the lines that have the layers of a remote stack on a device
// of this host: those of the run, and else how such a device is written.
func attached(v *measured.View, s *measured.Stack) []line.Line {
	var lines []line.Line
	for _, other := range v.Stacks {
		if measured.Twins(s.Parsed, other.Parsed) {
			lines = append(lines, other.Parsed)
		}
	}
	example := line.Line{Nodes: slices.Clone(s.Parsed.Nodes)}
	example.Nodes[0] = line.Node{Name: "serial", Arg: "SERIAL"}
	return append(lines, example)
}
