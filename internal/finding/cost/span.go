// Package cost has the rules on what an I/O costs: where its time goes, what it
// makes devices do beside it, and what a fabric and its target take.
package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// spanUnder returns the traced I/Os of a stack under a workload, or nil.
func spanUnder(v *runview.View, s *runview.Stack, workload string, d Direction) *span {
	c := v.Cell(s.Name, workload)
	if c == nil || c.Source() == result.SourceMemory {
		return nil
	}
	return SpanOf(c, d).Parted()
}

// Direction is the reads or the writes of trials, and of their traces.
type Direction struct {
	Noun      string // "reads"
	Operation string
	traced    func(*result.Trace) *result.Breakdown
}

// Directions are reads and writes.
var Directions = []Direction{
	{"reads", result.Read, func(t *result.Trace) *result.Breakdown { return t.Read }},
	{"writes", result.Write, func(t *result.Trace) *result.Breakdown { return t.Write }},
}

// span is where the I/Os of a cell spent their time, in one direction.
type span struct {
	*runview.Cell
	Direction
	Trials []tracedTrial // those with a sound trace; never empty
}

type tracedTrial struct {
	*result.Trial
	Parts *result.Breakdown
}

// SpanOf returns the traced I/Os of a cell; nil when none of its trials has a
// trace of that direction.
func SpanOf(c *runview.Cell, d Direction) *span {
	s := &span{Cell: c, Direction: d}
	for _, t := range c.Trials {
		if t.Trace == nil {
			continue
		}
		if b := d.traced(t.Trace); b != nil && sound(b) {
			s.Trials = append(s.Trials, tracedTrial{t, b})
		}
	}
	if len(s.Trials) == 0 {
		return nil
	}
	return s
}

// Parted returns the span without trials whose account has no parts, as where
// other threads did the application's I/O; nil when none has.
func (s *span) Parted() *span {
	if s == nil {
		return nil
	}
	out := *s
	out.Trials = slices.DeleteFunc(slices.Clone(s.Trials), func(t tracedTrial) bool { return len(t.Parts.Parts) == 0 })
	if len(out.Trials) == 0 {
		return nil
	}
	return &out
}

// spansUnder returns the traced I/Os of the stacks under a workload, but for those
// that memory answered: their time is no device's.
func spansUnder(v *runview.View, workload string, d Direction) []*span {
	var out []*span
	for _, c := range v.Under(workload) {
		if s := SpanOf(c, d).Parted(); s != nil && c.Source() != result.SourceMemory {
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
	return !slices.ContainsFunc(numbers, func(x float64) bool { return !runview.Finite(x) || math.Abs(x) > 1e18 })
}

// sample is one number of each trial, by setup.
func (s *span) sample(quantity func(*result.Breakdown) float64) runview.Sample {
	parts := map[*result.Trial]*result.Breakdown{}
	var trials []*result.Trial
	for _, t := range s.Trials {
		parts[t.Trial] = t.Parts
		trials = append(trials, t.Trial)
	}
	return runview.Take(trials, func(t *result.Trial) (float64, bool) { return quantity(parts[t]), true })
}

// sampleOf is the sample that one value for each trial makes.
func (s *span) sampleOf(values []float64) runview.Sample {
	valueOf := map[*result.Trial]float64{}
	var trials []*result.Trial
	for i, t := range s.Trials {
		valueOf[t.Trial] = values[i]
		trials = append(trials, t.Trial)
	}
	return runview.Take(trials, func(t *result.Trial) (float64, bool) { return valueOf[t], true })
}

// Values returns one number of each setup.
func (s *span) Values(of func(*result.Breakdown) float64) []float64 { return s.sample(of).Values() }

func (s *span) median(of func(*result.Breakdown) float64) float64 { return stats.Median(s.Values(of)) }

func totalLatency(b *result.Breakdown) float64 { return b.TotalNS }

// PartOf sums up the parts of some names.
func PartOf(names ...result.PartName) func(*result.Breakdown) float64 {
	return func(b *result.Breakdown) (sum float64) {
		for _, p := range b.Parts {
			if slices.Contains(names, p.Name) {
				sum += p.MeanNS
			}
		}
		return sum
	}
}

// DeviceTime returns the part of a latency in the device, its target and the fabric.
var DeviceTime = PartOf(result.PartDevice, result.PartTarget, result.PartFabric)

// SoftwareTime is all the rest, what no part explains included.
func SoftwareTime(b *result.Breakdown) float64 { return b.TotalNS - DeviceTime(b) }

// beforeBlockLayer is the kernel's part up to the block layer. alone is false
// where the trace does not tell it from the way back.
func beforeBlockLayer(b *result.Breakdown) (ns float64, alone bool) {
	if b.EntryNS > 0 || b.ReturnNS > 0 {
		return b.EntryNS, true
	}
	return PartOf(result.PartKernel)(b), false
}

// piece is a part of the latency, or a half of one, by the name that sentences know.
type piece struct {
	name string
	time func(*result.Breakdown) float64
}

// pieceName names a piece in a sentence.
func pieceName(piece string) string {
	switch piece {
	case kernelDown.name:
		return "the kernel on the way down to the block layer"
	case kernelBack.name:
		return "the kernel on the way back to the application"
	case string(result.PartUser):
		return "the application itself"
	case string(result.PartKernel):
		return "the kernel above the block layer"
	case string(result.PartBlock):
		return "the block layer"
	case residue.name:
		return "what no part explains"
	}
	return "the " + piece
}

var (
	kernelDown = piece{"down", func(b *result.Breakdown) float64 { return b.EntryNS }}
	kernelBack = piece{"back", func(b *result.Breakdown) float64 { return b.ReturnNS }}
	residue    = piece{"residue", func(b *result.Breakdown) float64 { return b.ResidueNS }} // what no part explains
)

// partsOrder is how parts follow each other.
var partsOrder = []result.PartName{
	result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver,
	result.PartFabric, result.PartTarget, result.PartDevice,
}

// partNames are the names that a trace's parts have, in their order.
func (s *span) partNames() (out []result.PartName) {
	for _, t := range s.Trials {
		for _, p := range t.Parts.Parts {
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

// halved reports whether every trial has both halves of the kernel's part.
func (s *span) halved() bool {
	return !slices.ContainsFunc(s.Trials, func(t tracedTrial) bool {
		_, alone := beforeBlockLayer(t.Parts)
		return !alone
	})
}

// pieces are the parts in their order, that of the kernel in halves if asked.
func (s *span) pieces(halved bool) (out []piece) {
	for _, n := range s.partNames() {
		if n == result.PartKernel && halved {
			out = append(out, kernelDown, kernelBack)
			continue
		}
		out = append(out, piece{string(n), PartOf(n)})
	}
	return out
}

func (s *span) residue() float64 {
	return s.median(func(b *result.Breakdown) float64 { return b.ResidueNS })
}

func (s *span) tolerance() float64 {
	if l, ok := fio.LoadOf(s.Workload.Declared); ok && l.Depth == 1 {
		return threshold.ClosesAlone
	}
	return threshold.ClosesBusy
}

// Closes reports whether the parts make up the latency, but for the tolerance. One
// that is less than nothing makes up for another that has what is not the
// latency's: where an application calls fsync, fio's latency of a write is not
// the one in which the device writes.
func (s *span) Closes() bool {
	tolerated := s.tolerance() * s.median(totalLatency)
	return math.Abs(s.residue()) <= tolerated && s.negative() >= -tolerated
}

// negative is the least part when it is below nothing, else 0.
func (s *span) negative() float64 {
	least := 0.0
	for _, p := range s.pieces(false) {
		least = min(least, s.median(p.time))
	}
	return least
}

func marksOf(spans ...*span) []string { return runview.MarksOf(cellsOf(spans)...) }

func cellsOf(spans []*span) (out []*runview.Cell) {
	for _, s := range spans {
		out = append(out, s.Cell)
	}
	return out
}

// loads are workloads that differ in nothing but how many I/Os are in flight,
// ascending by that.
type loads []runview.Driven

// seriesOf returns every such group of two or more; key tells what workloads have
// to have in common, beside pattern and block size.
func seriesOf(v *runview.View, key func(fio.Load) fio.Load, x func(fio.Load) int) []loads {
	groups := map[fio.Load]loads{}
	var order []fio.Load
	for _, d := range v.Driven() {
		k := key(d.Load)
		if groups[k] == nil {
			order = append(order, k)
		}
		if !slices.ContainsFunc(groups[k], func(o runview.Driven) bool { return x(o.Load) == x(d.Load) }) {
			groups[k] = append(groups[k], d)
		}
	}
	var out []loads
	for _, k := range order {
		if g := groups[k]; len(g) > 1 {
			slices.SortStableFunc(g, func(a, b runview.Driven) int { return cmp.Compare(x(a.Load), x(b.Load)) })
			out = append(out, g)
		}
	}
	return out
}

// LoadLevel is a workload by its load, with what an I/O takes under it.
type LoadLevel struct {
	Workload string  `json:"workload"`
	Jobs     int     `json:"jobs"`
	Depth    int     `json:"depth"`
	InFlight int     `json:"in_flight"`
	TotalNS  float64 `json:"total_ns"`
}

func levelOf(d runview.Driven, s *span) LoadLevel {
	return LoadLevel{d.Name, d.Load.Jobs, d.Load.Depth, d.Load.InFlight(), s.median(totalLatency)}
}

// joined writes things one after the other.
func joined[T fmt.Stringer](all []T, with string) string {
	return strings.Join(plural.Words(all, T.String), with)
}

// String writes the load: "4 jobs x depth 8".
func (l LoadLevel) String() string {
	return fmt.Sprintf("%s x depth %d", plural.Count(l.Jobs, "job"), l.Depth)
}
