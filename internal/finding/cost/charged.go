package cost

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// charged is what the uppermost devices of a stack served per I/O and per byte
// of the application, and for whom. Values are of each trial.
type charged struct {
	*span
	op                    string // as result.Served has it
	ownRequests, ownBytes []float64
	requests, allBytes    []float64    // others' included
	owners                []Other      // by requests
	names                 []string     // of the devices
	uncopied              *charged     // of the stack that only lacks copy-on-write; nil for none
	effect                *fact.Effect // against it
}

// attributed returns who made the device work in one direction; nil where no
// trace tells, or memory answered.
func attributed(v *runview.View, c *runview.Cell, d Direction) *charged {
	s := SpanOf(c, d)
	if s == nil || c.Source() == result.SourceMemory {
		return nil
	}
	a := newCharged(s)
	if twin := uncopied(v, c.Stack); twin != nil && d.Noun == "writes" {
		if other := v.Cell(twin.Name, c.Workload.Name); other != nil && SpanOf(other, d) != nil {
			a.uncopied = newCharged(SpanOf(other, d))
			e, ok := v.Effect("device writes per write", c.Stack.Name, twin.Name,
				a.sampleOf(a.requests), a.uncopied.sampleOf(a.uncopied.requests))
			if ok {
				a.effect = &e
			}
		}
	}
	return a
}

func newCharged(s *span) *charged {
	a := &charged{span: s, op: strings.TrimSuffix(s.Noun, "s")}
	perOwner := map[string][]float64{}
	for i, t := range s.Trials {
		b := t.Parts
		perRequest, bytes := b.PerIO, b.BytesPerIO*float64(b.IOs)/float64(max(1, b.Bytes))
		a.ownRequests, a.ownBytes = append(a.ownRequests, perRequest), append(a.ownBytes, bytes)
		upper, ios := t.uppermost(a.op)
		for _, r := range upper {
			a.names = runview.AddNew(a.names, r.Device)
			if r.Application || r.Op != a.op {
				continue
			}
			perIO := float64(r.Requests) / ios
			perRequest, bytes = perRequest+perIO, bytes+float64(r.Bytes)/ios*float64(b.IOs)/float64(max(1, b.Bytes))
			name := family(r.Owner)
			if perOwner[name] == nil {
				perOwner[name] = make([]float64, len(s.Trials))
			}
			perOwner[name][i] += perIO
		}
		a.requests, a.allBytes = append(a.requests, perRequest), append(a.allBytes, bytes)
	}
	for name, values := range perOwner {
		a.owners = append(a.owners, Other{name, stats.Median(values)})
	}
	slices.SortFunc(a.owners, func(x, y Other) int {
		return cmp.Or(cmp.Compare(y.PerIO, x.PerIO), strings.Compare(x.Owner, y.Owner))
	})
	slices.Sort(a.names)
	return a
}

// uppermost are the requests at the devices that the application's I/Os come to
// first: those below serve the same ones again. ios is how many I/Os of the
// application were recorded with them, which may be more than fio tells of: a
// ramp is in the trace.
func (t tracedTrial) uppermost(op string) (requests []result.Served, ios float64) {
	var devices []result.Device
	if t.Honesty() != nil {
		for _, d := range t.Honesty().Served {
			devices = append(devices, d.Device)
		}
	}
	depth := map[string]int{}
	for _, d := range devices {
		depth[d.Name] = d.Depth
	}
	// A device that nothing is known of is taken for an upper one.
	least := 0
	for i, r := range t.Trace.Served {
		if d := depth[r.Device]; i == 0 || d < least {
			least = d
		}
	}
	requests = slices.DeleteFunc(slices.Clone(t.Trace.Served), func(r result.Served) bool {
		return depth[r.Device] != least
	})
	ios = float64(t.Parts.IOs)
	ownRequests := uint64(0)
	for _, r := range requests {
		if r.Application && r.Op == op {
			ownRequests += r.Requests
		}
	}
	if ownRequests > 0 && t.Parts.PerIO > 0 {
		ios = max(ios, float64(ownRequests)/t.Parts.PerIO)
	}
	return requests, ios
}

// kworker is the name that the kernel's workers share.
const kworker = "kworker"

// notAttributed is the owner of what kernel threads do that work for everybody.
const notAttributed = "not attributed"

// family takes the numbers from the name of a kernel thread, which tell trials
// apart and nothing else: kworker/u8:3-btrfs-endio, jbd2/loop0-8.
func family(owner string) string {
	for _, prefix := range []string{kworker, "jbd2", "xfsaild", "xfs-cil", "xfs-log"} {
		if owner == prefix || strings.HasPrefix(owner, prefix+"/") {
			return prefix
		}
	}
	return owner
}

func (a *charged) amplified() bool {
	return stats.Median(a.requests) > threshold.Amplification || stats.Median(a.allBytes) > threshold.Amplification
}

// mostOthers is how many of those that had the device served, beside fio, are named.
const mostOthers = 3

// facts are who made the device work.
func (a *charged) facts() *Charged {
	c := &Charged{
		Devices: a.names, All: runview.Estimate(a.requests), AllBytes: runview.Estimate(a.allBytes),
		Own: runview.Estimate(a.ownRequests), OwnBytes: runview.Estimate(a.ownBytes),
	}
	for i, o := range a.owners {
		if o.PerIO < threshold.NamedRequests || i == mostOthers {
			break
		}
		c.Others = append(c.Others, o)
	}
	if u := a.uncopied; u != nil {
		c.Uncopied = &Uncopied{u.Stack.Name, runview.Estimate(u.requests), runview.Estimate(u.allBytes)}
	}
	return c
}

// finding is for what counters do not show: reads, and what is lost in the
// host's other I/O.
func (a *charged) finding() fact.Finding {
	id := "amplification/" + a.Stack.Name + "/" + a.Workload.Name
	if a.op == "read" {
		id += "/reads"
	}
	facts := &Amplified{Direction: a.Noun, Charged: a.facts()}
	requests, bytes := facts.Charged.All.Median, facts.Charged.AllBytes.Median
	f := fact.Finding{
		ID: id, Case: "charged", Kind: fact.KindCaveat, Workload: a.Workload.Name, Stacks: []string{a.Stack.Name},
		Facts: facts, Title: facts.title(a.Cell, a.names, requests, bytes), Why: facts.why(),
		Effect: a.effect, Evidence: runview.Points(a.Cell), Caveats: marksOf(a.span),
	}
	remark(&f, tracedCaveats(a.span))
	return f
}

// uncopied returns the stack that differs from a copying one in nodatacow only,
// or nil.
func uncopied(v *runview.View, s *runview.Stack) *runview.Stack {
	if runview.CopyOnWriteOff(s.Parsed) {
		return nil
	}
	for _, o := range v.Stacks {
		if !runview.CopyOnWriteOff(o.Parsed) {
			continue
		}
		plain := line.Line{Nodes: slices.Clone(o.Parsed.Nodes)}
		for i := range plain.Nodes {
			plain = runview.With(plain, i, func(n line.Node) line.Node { return runview.WithoutOption(n, "nodatacow") })
		}
		if runview.Canonical(plain) == runview.Canonical(s.Parsed) {
			return o
		}
	}
	return nil
}
