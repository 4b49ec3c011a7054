package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// charged is what the uppermost devices of a stack served per I/O and per byte
// of the application, and for whom. Values are of each trial.
type charged struct {
	*span
	op            string // as result.Served has it
	own, ownBytes []float64
	all, allBytes []float64 // others' included
	others        []other   // by requests
	names         []string  // of the devices
	uncopied      *charged  // of the stack that only lacks copy-on-write; nil for none
	effect        *Effect   // against it
}

// other is someone else whom the devices served.
type other struct {
	owner string
	perIO float64 // median over the trials
}

// attributed gives who made the device work in one direction; nil where no
// trace tells, or memory answered.
func (v *view) attributed(c *cell, d direction) *charged {
	s := c.span(d)
	if s == nil || c.source() == result.SourceMemory {
		return nil
	}
	a := newCharged(s)
	if twin := v.uncopied(c.stack); twin != nil && d.noun == "writes" {
		if other := v.cell(twin.Name, c.workload.Name); other != nil && other.span(d) != nil {
			a.uncopied = newCharged(other.span(d))
			if e, ok := v.effect("device writes per write", c.stack.Name, twin.Name, a.sampleOf(a.all), a.uncopied.sampleOf(a.uncopied.all)); ok {
				a.effect = &e
			}
		}
	}
	return a
}

func newCharged(s *span) *charged {
	a := &charged{span: s, op: strings.TrimSuffix(s.noun, "s")}
	perOwner := map[string][]float64{}
	for i, t := range s.trials {
		b := t.parts
		own, bytes := b.PerIO, b.BytesPerIO*float64(b.IOs)/float64(max(1, b.Bytes))
		a.own, a.ownBytes = append(a.own, own), append(a.ownBytes, bytes)
		upper, ios := t.uppermost(a.op)
		for _, r := range upper {
			a.names = appendNew(a.names, r.Device)
			if r.Application || r.Op != a.op {
				continue
			}
			perIO := float64(r.Requests) / ios
			own, bytes = own+perIO, bytes+float64(r.Bytes)/ios*float64(b.IOs)/float64(max(1, b.Bytes))
			name := family(r.Owner)
			if perOwner[name] == nil {
				perOwner[name] = make([]float64, len(s.trials))
			}
			perOwner[name][i] += perIO
		}
		a.all, a.allBytes = append(a.all, own), append(a.allBytes, bytes)
	}
	for name, values := range perOwner {
		a.others = append(a.others, other{name, stats.Median(values)})
	}
	slices.SortFunc(a.others, func(x, y other) int { return cmp.Or(cmp.Compare(y.perIO, x.perIO), strings.Compare(x.owner, y.owner)) })
	slices.Sort(a.names)
	return a
}

// uppermost are the requests at the devices that the application's I/Os come to
// first: those below serve the same ones again. ios is how many I/Os of the
// application were recorded with them, which may be more than fio tells of: a
// ramp is in the trace.
func (t tracedTrial) uppermost(op string) (requests []result.Served, ios float64) {
	var devices []result.Device
	if t.Honesty != nil {
		for _, d := range t.Honesty.Served {
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
	requests = slices.DeleteFunc(slices.Clone(t.Trace.Served), func(r result.Served) bool { return depth[r.Device] != least })
	ios = float64(t.parts.IOs)
	own := uint64(0)
	for _, r := range requests {
		if r.Application && r.Op == op {
			own += r.Requests
		}
	}
	if own > 0 && t.parts.PerIO > 0 {
		ios = max(ios, float64(own)/t.parts.PerIO)
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
	return stats.Median(a.all) > amplified || stats.Median(a.allBytes) > amplified
}

func factor(values []float64) string {
	return newEstimate(values, func(x float64) string { return units.Times(x) + "x" }).String()
}

// text says who made the device work.
func (a *charged) text() string {
	text := fmt.Sprintf("Traced at %s: %s as many %s as the application's, and %s as many bytes; %s and %s are charged to the application",
		plural.And(a.names), factor(a.all), a.noun, factor(a.allBytes), factor(a.own), factor(a.ownBytes))
	if len(a.names) == 0 {
		text = fmt.Sprintf("Traced: %s as many %s as the application's, and %s as many bytes, all charged to it", factor(a.own), a.noun, factor(a.ownBytes))
	}
	var each []string
	for i, o := range a.others {
		if o.perIO < 0.005 || i == 3 {
			break
		}
		each = append(each, fmt.Sprintf("%s to %s", units.Times(o.perIO)+"x", o.owner))
	}
	if len(each) > 0 {
		text += ", " + plural.And(each)
	}
	text += "."
	if u := a.uncopied; u != nil {
		text += fmt.Sprintf(" Without copy-on-write, on %s, it is %s and %s.", u.stack.Name, factor(u.all), factor(u.allBytes))
	}
	return text
}

// explain adds to what counters told.
func (a *charged) explain(f *Finding) {
	f.Why += " " + a.text()
	f.Effect = a.effect
	f.Caveats = appendAllNew(f.Caveats, tracedCaveats(a.span))
}

// finding is for what counters do not show: reads, and what is lost in the
// host's other I/O.
func (a *charged) finding() Finding {
	id := "amplification/" + a.stack.Name + "/" + a.workload.Name
	if a.op == "read" {
		id += "/reads"
	}
	on := "its device"
	if len(a.names) > 0 {
		on = plural.And(a.names)
	}
	return Finding{
		ID: id, Kind: KindCaveat, Workload: a.workload.Name, Stacks: []string{a.stack.Name},
		Title: fmt.Sprintf("%s makes %s %s %sx as often and %sx as much as fio does: %s", a.stack.Name, on, a.op,
			units.Times(stats.Median(a.all)), units.Times(stats.Median(a.allBytes)), a.workload.Name),
		Why: a.text(), Effect: a.effect, Evidence: points(a.cell), Caveats: tracedCaveats(a.span),
	}
}

func appendAllNew(words, more []string) []string {
	for _, w := range more {
		words = appendNew(words, w)
	}
	return words
}

// uncopied gives the stack that differs from a copying one in nodatacow only,
// or nil.
func (v *view) uncopied(s *stack) *stack {
	if copyOnWriteOff(s.line) {
		return nil
	}
	for _, o := range v.stacks {
		if !copyOnWriteOff(o.line) {
			continue
		}
		plain := line.Line{Nodes: slices.Clone(o.line.Nodes)}
		for i := range plain.Nodes {
			plain = with(plain, i, func(n line.Node) line.Node { return withoutOption(n, "nodatacow") })
		}
		if canonical(plain) == canonical(s.line) {
			return o
		}
	}
	return nil
}
