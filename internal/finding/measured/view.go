// Package measured is a run as rules look at it: its trials grouped by stack and
// workload, summarised and compared once, its stacks with their lines parsed. All
// rooms of finding read it; it knows none of them.
package measured

import (
	"math"
	"slices"
	"sync"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// View is a run as rules look at it: grouped by stack and workload, and
// summarised once.
type View struct {
	Run       *result.Run
	Stacks    []*Stack // as declared, then those that only trials name
	Workloads []result.Workload
	Cells     map[CellKey]*Cell
	controls  map[string]*Cell    // by workload: of the baseline's twin, which no rule sees
	varied    map[CellKey]*Cell   // of mixes that the run added to vary a limit: see Variations
	rates     map[rateKey]float64 // adjusted p of all comparisons of rates
	effects   map[effectKey]fact.Effect
	once      map[string]any // what rules found and others ask for: see Once

	fitting sync.Once
	fitted  *model.Model // nil where the run makes none
}

// Once returns what make makes, which it does once for a view and a key: what several questions ask
// for, and takes long.
func Once[T any](v *View, key string, make func() T) T {
	made, known := v.once[key].(T)
	if !known {
		made = make()
		v.once[key] = made
	}
	return made
}

// CellKey names a cell.
type CellKey struct{ Stack, Workload string }

type effectKey struct{ subject, baseline, workload string }

type rateKey struct{ a, b, workload string } // a before b

// New groups and summarises a run. A nil run is an empty one.
func New(run *result.Run) *View {
	if run == nil {
		run = &result.Run{}
	}
	v := &View{
		Run: run, Cells: map[CellKey]*Cell{}, controls: map[string]*Cell{}, varied: map[CellKey]*Cell{},
		effects: map[effectKey]fact.Effect{}, once: map[string]any{},
	}
	varied := map[string]bool{}
	for _, m := range run.Mixes {
		varied[m.Name] = m.Varies != nil
	}
	controls := map[string]*Stack{}
	for _, s := range run.Stacks {
		if s.Control != "" {
			controls[s.Name] = &Stack{Stack: s}
			continue
		}
		v.declareStack(s)
	}
	for _, w := range run.Workloads {
		v.declareWorkload(w)
	}
	grouped := samples.Of(run)
	for _, p := range grouped.Points() {
		c := &Cell{Stack: controls[p.Stack], Workload: result.Workload{Name: p.Mix}, Trials: grouped.Done(p)}
		if !varied[p.Mix] {
			c.Workload = v.declareWorkload(c.Workload)
		}
		control := c.Stack != nil
		if !control {
			c.Stack = v.declareStack(result.Stack{Name: p.Stack})
		}
		if len(c.Trials) == 0 {
			continue
		}
		c.Rates = c.Sample(samples.Rate)
		c.IOPS = c.Rates.Means()
		if control {
			v.controls[p.Mix] = c
			continue
		}
		c.Point = c.summarise()
		if varied[p.Mix] {
			v.varied[CellKey{p.Stack, p.Mix}] = c
			continue
		}
		v.Cells[CellKey{p.Stack, p.Mix}] = c
	}
	v.adjust()
	return v
}

// adjust corrects the p values of all comparisons of rates in the run for how
// many there are: each stack with each other under each workload. Which of
// them a rule looks at depends on what they say, so all of them count.
func (v *View) adjust() {
	v.rates = map[rateKey]float64{}
	var keys []rateKey
	var ps []float64
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				p, ok := samples.PValue(a.Rates, b.Rates)
				if ok {
					keys, ps = append(keys, rateKeyOf(a, b)), append(ps, p)
				}
			}
		}
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		v.rates[keys[i]] = p
	}
}

func rateKeyOf(a, b *Cell) rateKey {
	if a.Stack.Name > b.Stack.Name {
		a, b = b, a
	}
	return rateKey{a.Stack.Name, b.Stack.Name, a.Workload.Name}
}

// floor is the ratio, above 1, by which the control differed from its twin
// under a workload; 0 when it is not known.
func (v *View) floor(workload string) float64 {
	e, ok := v.Noise(workload)
	if !ok || e.TooFew {
		return 0
	}
	return e.Size()
}

// Noise compares the control with its twin. ok is false when there is none.
func (v *View) Noise(workload string) (e fact.Effect, ok bool) {
	c := v.controls[workload]
	if c == nil {
		return e, false
	}
	twin := v.Cell(c.Stack.Control, workload)
	if twin == nil {
		return e, false
	}
	return v.Effect(IOPS, c.Stack.Name, twin.Stack.Name, c.Rates, twin.Rates)
}

func (v *View) declareStack(s result.Stack) *Stack {
	if known := v.Stack(s.Name); known != nil {
		return known
	}
	parsed, err := line.Parse(s.Line)
	if err != nil {
		parsed = line.Line{} // rules that need the layers pass over it
	}
	v.Stacks = append(v.Stacks, &Stack{Stack: s, Parsed: parsed})
	return v.Stacks[len(v.Stacks)-1]
}

func (v *View) declareWorkload(w result.Workload) result.Workload {
	for _, known := range v.Workloads {
		if known.Name == w.Name {
			return known
		}
	}
	v.Workloads = append(v.Workloads, w)
	return w
}

// Stack returns the stack of that name, or nil.
func (v *View) Stack(name string) *Stack {
	i := slices.IndexFunc(v.Stacks, func(s *Stack) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return v.Stacks[i]
}

// Cell returns what was measured of a stack under a workload, or nil.
func (v *View) Cell(stack, workload string) *Cell { return v.Cells[CellKey{stack, workload}] }

// Under returns the cells of a workload in the order of the stacks.
func (v *View) Under(workload string) []*Cell {
	var out []*Cell
	for _, s := range v.Stacks {
		if c := v.Cell(s.Name, workload); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// All returns every cell: by workload, then by stack.
func (v *View) All() []*Cell {
	var out []*Cell
	for _, w := range v.Workloads {
		out = append(out, v.Under(w.Name)...)
	}
	return out
}

// Compare measures subject against baseline, both of one workload. ok is
// false when there is no ratio: a trial measured nothing at all.
func (v *View) Compare(subject, baseline *Cell) (e fact.Effect, ok bool) {
	key := effectKey{subject.Stack.Name, baseline.Stack.Name, subject.Workload.Name}
	if e, ok := v.effects[key]; ok {
		return e, e.Ratio > 0
	}
	e, ok = v.Effect(IOPS, key.subject, key.baseline, subject.Rates, baseline.Rates)
	e.Adjusted, e.Floor = v.rates[rateKeyOf(subject, baseline)], v.floor(key.workload)
	e.Differs = !e.TooFew && e.Adjusted < stats.Alpha && (!ok || e.Size() >= Visible && e.Size() > e.Floor)
	v.effects[key] = e
	return e, ok
}

// Visible is the smallest ratio that is not written as 1.00x: what is less is
// no difference to anybody, however significant.
const Visible = 1.005

// Effect measures one sample against another. ok is false when there is no
// ratio.
func (v *View) Effect(metric, subject, baseline string, x, y samples.Sample) (e fact.Effect, ok bool) {
	of, ok := samples.Compare(x, y, v.Run.Seed)
	e = fact.Effect{Metric: metric, Subject: subject, Baseline: baseline, P: of.P, N: of.N, Pairs: of.Pairs, TooFew: !of.Decidable()}
	e.Differs = !e.TooFew && e.P < stats.Alpha
	if !ok || !Finite(of.Ratio) || of.Ratio <= 0 {
		return e, false
	}
	e.Ratio = of.Ratio
	if apart := BringUpsApart(x, y); apart > 0 {
		e.Floor = 1 + apart
		e.Differs = e.Differs && e.Size() > e.Floor
	}
	if of.Low > 0 && Finite(of.High) {
		e.Low, e.High = of.Low, of.High
	}
	return e, true
}

// BringUpsApart is by how much bring-ups of the same point differ from each other beyond what their block
// explains: the standard deviation, as a share; 0 where that is not known.
func BringUpsApart(points ...samples.Sample) float64 {
	parts, ok := samples.Parts(points)
	if !ok || !Finite(parts.Between) {
		return 0
	}
	return math.Expm1(parts.Between)
}

// Level reports whether two stacks cannot be told apart under a workload.
func (v *View) Level(a, b *Cell) bool {
	e, _ := v.Compare(a, b)
	return !e.Differs
}

// IOPS is the metric of effects that compare rates.
const IOPS = "IOPS"

// Comparisons returns how many comparisons of rates p values are adjusted for.
func (v *View) Comparisons() int { return len(v.rates) }

// Model returns a model of the run alone; nil where there is none. It is fitted once.
func (v *View) Model() *model.Model {
	v.fitting.Do(func() {
		v.fitted, _ = model.Fit(model.Options{Seed: v.Run.Seed}, v.Run) // why it cannot be is no finding
	})
	return v.fitted
}
