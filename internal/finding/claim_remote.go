package finding

import (
	"fmt"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/claims"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// remoteClaims are those of MSST'17, sections 5.4 and 5.5, that compare NVMe
// over Fabrics with directly attached storage.
var remoteClaims = []claimRule{
	{"nvmf-high-load", "local-vs-remote",
		"under high load what the network adds is hidden behind the queues of the device",
		pairTest{
			loads:   []wanted{highLoad("RR", 1), highLoad("RW", 1)},
			subject: func(_ *view, s *stack) bool { return remote(s.line) && onDevice(s.line) },
			against: attached,
			caveats: func(_ *view, s *stack) []string { return []string{overTransport(s)} },
		}.test},
	{"lat-slat-low-nvmf", "local-vs-remote",
		"submission does not wait for the network, so its share stays small", submissionAtLowLoad(remote)},
	{"lat-clat-nvmf-low", "local-vs-remote",
		"under low load nothing hides the way over the network", besideTwin{
			load: lowLoad("RR"), metric: "mean completion latency", latencies: (*cell).completions, judge: judgeRatio,
		}.test},
	{"lat-high-nvmf", "local-vs-remote",
		"under high load an I/O waits in the queues of the storage, next to which the network is short", latencyUnderLoad(remote)},
	{"lat-high-extra", "local-vs-remote",
		"what the network adds is short beside the time in the queues", besideTwin{
			load:   wanted{role: "RR", jobs: manyJobs, inFlight: manyJobs, paper: fio.Load{Jobs: manyJobs, Depth: 32}},
			metric: "mean total latency", latencies: (*cell).totals, share: true, judge: judgeExtra,
		}.test},
}

// besideTwin tests how the latency of a remote device compares with that of its
// twin in this host.
type besideTwin struct {
	load      wanted
	metric    string
	latencies func(*cell) samples.Sample // in ns
	share     bool                       // the claim is about the part of the remote latency that the local one has not
	judge     func(claims.Claim, Effect) judgement
}

func (b besideTwin) test(v *view, c claims.Claim) []claimCase {
	d, like, ok := v.workload(b.load)
	if !ok && len(like) == 0 {
		return nil
	}
	var out []claimCase
	for _, s := range v.stacks {
		if !remote(s.line) || !bare(s.line) {
			continue
		}
		k := claimCase{stacks: []string{s.Name}, caveats: []string{overTransport(s)}}
		if !ok {
			k.workload, k.judgement = like[0].name, b.load.lacking(like)
			out = append(out, k)
			continue
		}
		k.workload = d.name
		k.caveats = append(b.load.otherLoad(d.load), k.caveats...)
		b.one(v, &k, c, s)
		out = append(out, k)
	}
	return out
}

func (b besideTwin) one(v *view, k *claimCase, c claims.Claim, s *stack) {
	twin := v.twin(s)
	if twin == nil {
		k.judgement = notTestable("the run lacks what %s is compared with: add the stack `%s`", s.Name, attached(v, s)[0])
		return
	}
	k.stacks = append(k.stacks, twin.Name)
	there, here := v.cell(s.Name, k.workload), v.cell(twin.Name, k.workload)
	for _, m := range []struct {
		cell  *cell
		stack *stack
	}{{there, s}, {here, twin}} {
		if m.cell == nil {
			k.judgement = notTestable("%s", v.unmeasured(m.stack, k.workload))
			return
		}
	}
	k.evidence = []*cell{there, here}
	k.grounds = sentences(whereTimeGoes(there, here), there.parts(), here.parts())
	e, ok := v.effect(b.metric, s.Name, twin.Name, b.latencies(there), b.latencies(here))
	if !ok {
		k.judgement = notTestable("no ratio of latencies: a trial does not tell them")
		return
	}
	k.effect, k.measured = &e, shortRatio(e)
	k.says = fmt.Sprintf("that of %s is %s of %s's", s.Name, k.measured, twin.Name)
	if b.share {
		extra := func(ratio float64) string { return units.Percent(max(0, 1-1/ratio)) }
		k.measured = fmt.Sprintf("%s (%s to %s)", extra(e.Ratio), extra(e.Low), extra(e.High))
		k.says = fmt.Sprintf("%s of what an I/O of %s takes is extra, beside %s", k.measured, s.Name, twin.Name)
	}
	if why := unfit(there, here); why != "" {
		k.judgement = notTestable("%s", why)
		return
	}
	k.judgement = b.judge(c, e)
}

// judgeExtra holds the share of a remote latency that is extra, 1 - 1/ratio,
// against a published limit, which the interval decides.
func judgeExtra(c claims.Claim, e Effect) judgement {
	if few := tooFew(e); few != nil {
		return notTestable("%s", few[0])
	}
	limit := c.Value.High
	low, high := 1-1/e.Low, 1-1/e.High
	interval := fmt.Sprintf("%s to %s", units.Percent(max(0, low)), units.Percent(max(0, high)))
	switch {
	case high < limit:
		return judgement{ClaimConfirmed, fmt.Sprintf("the interval, %s, lies below %s", interval, units.Percent(limit))}
	case low > limit:
		return judgement{ClaimContradicted, fmt.Sprintf("the interval, %s, lies above %s", interval, units.Percent(limit))}
	}
	return notTestable("the data does not decide: the interval, %s, is on both sides of %s; repeat more often, or measure longer", interval, units.Percent(limit))
}

func overTransport(s *stack) string {
	return "over " + transportOf(s.line) + " here, over RDMA at 40 Gbit/s in the paper; the two devices have to be one model"
}

// remote tells whether a stack stands on another host's device.
func remote(l line.Line) bool { return len(l.Nodes) > 0 && l.Nodes[0].Name == nodeNVMeOF }

// direct tells whether a stack stands on what this host has itself.
func direct(l line.Line) bool { return !remote(l) }

// attached gives the lines that have the layers of a remote stack on a device
// of this host: those of the run, and else how such a device is written.
func attached(v *view, s *stack) []line.Line {
	var lines []line.Line
	for _, other := range v.stacks {
		if twins(s.line, other.line) {
			lines = append(lines, other.line)
		}
	}
	example := line.Line{Nodes: slices.Clone(s.line.Nodes)}
	example.Nodes[0] = line.Node{Name: "serial", Arg: "SERIAL"}
	return append(lines, example)
}

func sameNode(a, b line.Node) bool { return a.String() == b.String() }
