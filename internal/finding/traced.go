package finding

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// direction is the reads or the writes of trials, and of their traces.
type direction struct {
	noun, one string // "reads", "a read"
	of        func(*result.Measurement) result.Direction
	traced    func(*result.Trace) *result.Breakdown
}

var directions = []direction{
	{"reads", "a read", func(m *result.Measurement) result.Direction { return m.Read }, func(t *result.Trace) *result.Breakdown { return t.Read }},
	{"writes", "a write", func(m *result.Measurement) result.Direction { return m.Write }, func(t *result.Trace) *result.Breakdown { return t.Write }},
}

// span is where the I/Os of a cell spent their time, in one direction.
type span struct {
	*cell
	direction
	trials []tracedTrial // those with a sound trace; never empty
}

type tracedTrial struct {
	*result.Trial
	parts *result.Breakdown
}

// span gives the traced I/Os of a cell; nil when none of its trials has a
// trace of that direction.
func (c *cell) span(d direction) *span {
	s := &span{cell: c, direction: d}
	for _, t := range c.trials {
		if t.Trace == nil {
			continue
		}
		if b := d.traced(t.Trace); b != nil && sound(b) {
			s.trials = append(s.trials, tracedTrial{t, b})
		}
	}
	if len(s.trials) == 0 {
		return nil
	}
	return s
}

// parted gives the span without trials whose account has no parts, as where
// other threads did the application's I/O; nil when none has.
func (s *span) parted() *span {
	if s == nil {
		return nil
	}
	out := *s
	out.trials = slices.DeleteFunc(slices.Clone(s.trials), func(t tracedTrial) bool { return len(t.parts.Parts) == 0 })
	if len(out.trials) == 0 {
		return nil
	}
	return &out
}

// spans gives the traced I/Os of the stacks under a workload, but for those
// that memory answered: their time is no device's.
func (v *view) spans(workload string, d direction) []*span {
	var out []*span
	for _, c := range v.under(workload) {
		if s := c.span(d).parted(); s != nil && c.source() != result.SourceMemory {
			out = append(out, s)
		}
	}
	return out
}

func sound(b *result.Breakdown) bool {
	if b.IOs == 0 || !(b.TotalNS > 0) {
		return false
	}
	numbers := []float64{b.TotalNS, b.ResidueNS, b.PerIO, b.BytesPerIO, b.EntryNS, b.ReturnNS}
	for _, p := range b.Parts {
		numbers = append(numbers, p.MeanNS)
	}
	return !slices.ContainsFunc(numbers, func(x float64) bool { return !finite(x) || math.Abs(x) > 1e18 })
}

// sample is one number of each trial, by bring-up.
func (s *span) sample(of func(*result.Breakdown) float64) samples.Sample {
	parts := map[*result.Trial]*result.Breakdown{}
	var trials []*result.Trial
	for _, t := range s.trials {
		parts[t.Trial] = t.parts
		trials = append(trials, t.Trial)
	}
	return samples.Take(trials, func(t *result.Trial) (float64, bool) { return of(parts[t]), true })
}

// sampleOf is the sample that one value for each trial makes.
func (s *span) sampleOf(values []float64) samples.Sample {
	at := map[*result.Trial]float64{}
	var trials []*result.Trial
	for i, t := range s.trials {
		at[t.Trial] = values[i]
		trials = append(trials, t.Trial)
	}
	return samples.Take(trials, func(t *result.Trial) (float64, bool) { return at[t], true })
}

// values gives one number of each bring-up.
func (s *span) values(of func(*result.Breakdown) float64) []float64 { return s.sample(of).Means() }

func (s *span) median(of func(*result.Breakdown) float64) float64 { return stats.Median(s.values(of)) }

func totalLatency(b *result.Breakdown) float64 { return b.TotalNS }

// partOf sums up the parts of some names.
func partOf(names ...result.PartName) func(*result.Breakdown) float64 {
	return func(b *result.Breakdown) (sum float64) {
		for _, p := range b.Parts {
			if slices.Contains(names, p.Name) {
				sum += p.MeanNS
			}
		}
		return sum
	}
}

// deviceTime is what is neither software nor unexplained.
var deviceTime = partOf(result.PartDevice, result.PartTarget, result.PartFabric)

// softwareTime is all the rest, what no part explains included.
func softwareTime(b *result.Breakdown) float64 { return b.TotalNS - deviceTime(b) }

// beforeBlockLayer is the kernel's part up to the block layer. alone is false
// where the trace does not tell it from the way back.
func beforeBlockLayer(b *result.Breakdown) (ns float64, alone bool) {
	if b.EntryNS > 0 || b.ReturnNS > 0 {
		return b.EntryNS, true
	}
	return partOf(result.PartKernel)(b), false
}

// piece is a part of the latency, or a half of one, as sentences call it.
type piece struct {
	name, noun string
	of         func(*result.Breakdown) float64
}

var (
	kernelDown = piece{"down", "the kernel on the way down to the block layer", func(b *result.Breakdown) float64 { return b.EntryNS }}
	kernelBack = piece{"back", "the kernel on the way back to the application", func(b *result.Breakdown) float64 { return b.ReturnNS }}
)

var nounsOfParts = map[result.PartName]string{
	result.PartUser:   "the application itself",
	result.PartKernel: "the kernel above the block layer",
	result.PartBlock:  "the block layer",
	result.PartDriver: "the driver",
}

// partsOrder is how parts follow each other.
var partsOrder = []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver, result.PartFabric, result.PartTarget, result.PartDevice}

// partNames are the names that a trace's parts have, in their order.
func (s *span) partNames() (out []result.PartName) {
	for _, t := range s.trials {
		for _, p := range t.parts.Parts {
			if !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	slices.SortFunc(out, func(a, b result.PartName) int {
		return cmp.Or(cmp.Compare(slices.Index(partsOrder, a), slices.Index(partsOrder, b)), cmp.Compare(a, b))
	})
	return out
}

// halved tells whether every trial tells both halves of the kernel's part.
func (s *span) halved() bool {
	return !slices.ContainsFunc(s.trials, func(t tracedTrial) bool { _, alone := beforeBlockLayer(t.parts); return !alone })
}

// pieces are the parts in their order, that of the kernel in halves if asked.
func (s *span) pieces(halved bool) (out []piece) {
	for _, n := range s.partNames() {
		noun := nounsOfParts[n]
		switch {
		case n == result.PartKernel && halved:
			out = append(out, kernelDown, kernelBack)
			continue
		case noun == "":
			noun = "the " + string(n)
		}
		out = append(out, piece{string(n), noun, partOf(n)})
	}
	return out
}

// account writes the parts: "user 1.00 us, kernel 3.00 us (2.00 us down, 1.00 us
// back), device 80.0 us, residue -0.5 us". Medians over the trials.
func (s *span) account() string {
	var out []string
	for _, p := range s.pieces(false) {
		text := p.name + " " + signed(s.median(p.of))
		if p.name == string(result.PartKernel) && s.halved() {
			text += fmt.Sprintf(" (%s down, %s back)", signed(s.median(kernelDown.of)), signed(s.median(kernelBack.of)))
		}
		out = append(out, text)
	}
	if residue := s.residue(); math.Abs(residue) >= 0.5 {
		out = append(out, "residue "+signed(residue))
	}
	return strings.Join(out, ", ")
}

func (s *span) residue() float64 {
	return s.median(func(b *result.Breakdown) float64 { return b.ResidueNS })
}

// The residue, as a share of the latency, up to which the parts are taken to
// close: for one I/O at a time, and for more.
const (
	closesAlone = 0.05
	closesBusy  = 0.10
)

func (s *span) tolerance() float64 {
	if l, ok := fio.LoadOf(s.workload.Declared); ok && l.Depth == 1 {
		return closesAlone
	}
	return closesBusy
}

// closes tells whether the parts make up the latency, but for the tolerance. One
// that is less than nothing makes up for another that has what is not the
// latency's: where an application calls fsync, fio's latency of a write is not
// the one in which the device writes.
func (s *span) closes() bool {
	tolerated := s.tolerance() * s.median(totalLatency)
	return math.Abs(s.residue()) <= tolerated && s.negative() >= -tolerated
}

// negative is the least part when it is below nothing, else 0.
func (s *span) negative() float64 {
	least := 0.0
	for _, p := range s.pieces(false) {
		least = min(least, s.median(p.of))
	}
	return least
}

// unclosed says how the parts do not close.
func (s *span) unclosed() string {
	total := s.median(totalLatency)
	if math.Abs(s.residue()) > s.tolerance()*total {
		return fmt.Sprintf("%s of %s, %s of the latency, are in none, and %s is the tolerance", signed(s.residue()), s.one, units.Percent(math.Abs(s.residue()/total)), units.Percent(s.tolerance()))
	}
	return fmt.Sprintf("one is %s of %s that takes %s, so that others are not about the same time, as where the application calls fsync", signed(s.negative()), s.one, units.Latency(total))
}

var digitsOf = regexp.MustCompile(`[0-9]+`)

const tracedCaveat = "traced: recording costs throughput, which is in these numbers"

// traced says that trials were; nothing when none was.
func (c *cell) traced() []string {
	if slices.ContainsFunc(c.trials, func(t *result.Trial) bool { return t.Trace != nil }) {
		return []string{tracedCaveat}
	}
	return nil
}

// tracedCaveats says what must be known beside a number of traces.
func tracedCaveats(spans ...*span) []string {
	out := append(marksOf(cellsOf(spans)...), tracedCaveat)
	missing := map[string]string{}
	for _, s := range spans {
		lost, trials := uint64(0), 0
		for _, t := range s.trials {
			if t.Trace.Lost > 0 {
				lost, trials = lost+t.Trace.Lost, trials+1
			}
			for _, m := range t.Trace.Missing {
				// What else is missing says nothing of the parts. Numbers differ from
				// trial to trial.
				if key := digitsOf.ReplaceAllString(m, "N"); strings.HasPrefix(m, strings.TrimSuffix(s.noun, "s")+": ") && (missing[key] == "" || m < missing[key]) {
					missing[key] = m
				}
			}
		}
		if lost > 0 {
			out = append(out, fmt.Sprintf("%s under %s: the recorder lost %s in %s: what they were about is missing", s.stack.Name, s.workload.Name, plural.Count(int(min(lost, math.MaxInt32)), "event"), plural.Count(trials, "trial")))
		}
	}
	for _, m := range slices.Sorted(maps.Values(missing)) {
		out = append(out, "not known: "+m)
	}
	return appendAllNew(nil, out)
}

// partCaveats are those of the parts of a latency.
func partCaveats(spans ...*span) []string {
	out := tracedCaveats(spans...)
	for _, s := range spans {
		if !s.closes() {
			out = append(out, fmt.Sprintf("%s under %s: the parts do not close: %s", s.stack.Name, s.workload.Name, s.unclosed()))
		}
	}
	if slices.ContainsFunc(spans, func(s *span) bool { return slices.Contains(s.stack.Marks, result.MarkLoop) }) {
		out = append(out, "what a loop device takes is the time of a thread and a file system of this host too: there is more software than is stated")
	}
	return out
}

func cellsOf(spans []*span) (out []*cell) {
	for _, s := range spans {
		out = append(out, s.cell)
	}
	return out
}

// loads are workloads that differ in nothing but how many I/Os are in flight,
// ascending by that.
type loads []driven

// series gives every such group of two or more; key tells what workloads have
// to have in common, beside pattern and block size.
func (v *view) series(key func(fio.Load) fio.Load, x func(fio.Load) int) []loads {
	groups := map[fio.Load]loads{}
	var order []fio.Load
	for _, d := range v.driven() {
		k := key(d.load)
		if groups[k] == nil {
			order = append(order, k)
		}
		if !slices.ContainsFunc(groups[k], func(o driven) bool { return x(o.load) == x(d.load) }) {
			groups[k] = append(groups[k], d)
		}
	}
	var out []loads
	for _, k := range order {
		if g := groups[k]; len(g) > 1 {
			slices.SortStableFunc(g, func(a, b driven) int { return cmp.Compare(x(a.load), x(b.load)) })
			out = append(out, g)
		}
	}
	return out
}
