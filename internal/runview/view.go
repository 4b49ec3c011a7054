package runview

import (
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
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
	controls  map[string][]*Cell  // by workload: of the baseline's twins, which no rule sees
	varied    map[CellKey]*Cell   // mixes that the run added to vary a limit: see Variations
	rates     map[rateKey]float64 // adjusted p of all comparisons of rates
	fits      map[fitKey]*rateFit
	effects   map[effectKey]fact.Effect
	once      map[string]any // results of Once, by key
}

// Once returns the result of make, which it calls once for a view and a key. It is for slow computations that several
// questions share.
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
		Run: run, Cells: map[CellKey]*Cell{}, controls: map[string][]*Cell{}, varied: map[CellKey]*Cell{},
		fits: map[fitKey]*rateFit{}, effects: map[effectKey]fact.Effect{}, once: map[string]any{},
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
	grouped := Of(run)
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
		m, _ := run.Mix(p.Mix)
		for _, t := range m.Tenants {
			c.Instances += t.Count
		}
		c.Instances = max(1, c.Instances) // of what only trials name
		c.Rates = c.Sample(Rate)
		if control {
			v.controls[p.Mix] = append(v.controls[p.Mix], c)
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

// adjust corrects the p values of all comparisons of rates in the run for their number, and for looks: each stack with
// each other under each workload. Rules select comparisons by their values, so all of them count.
func (v *View) adjust() {
	v.rates = map[rateKey]float64{}
	var keys []rateKey
	var ps []float64
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				if e, _ := v.rateEffect(a, b); !e.TooFew {
					keys, ps = append(keys, rateKeyOf(a, b)), append(ps, e.P)
				}
			}
		}
	}
	for i, p := range v.adjusted(ps) {
		v.rates[keys[i]] = p
	}
}

func rateKeyOf(a, b *Cell) rateKey {
	if a.Stack.Name > b.Stack.Name {
		a, b = b, a
	}
	return rateKey{a.Stack.Name, b.Stack.Name, a.Workload.Name}
}

// floor is the ratio, above 1, by which the controls differed from their twin
// under a workload; 0 when it is not known.
func (v *View) floor(workload string) float64 {
	e, ok := v.Noise(workload)
	if !ok || e.TooFew {
		return 0
	}
	return e.Size()
}

// Noise compares the controls with their twin: the effect of the one that differs most, with P corrected for how many
// there are. ok is false when there is none.
func (v *View) Noise(workload string) (largest fact.Effect, ok bool) {
	n := Once(v, "noise/"+workload, func() noise {
		largest, ok := v.noise(workload)
		return noise{largest, ok}
	})
	return n.largest, n.ok
}

// noise is what View.Noise returns.
type noise struct {
	largest fact.Effect
	ok      bool
}

func (v *View) noise(workload string) (largest fact.Effect, ok bool) {
	controls := v.controls[workload]
	for _, c := range controls {
		twin := v.Cell(c.Stack.Control, workload)
		if twin == nil {
			continue
		}
		e, known := v.Effect(IOPS, c.Stack.Name, twin.Stack.Name, c.Rates, twin.Rates)
		if known && (!ok || largest.TooFew && !e.TooFew || e.TooFew == largest.TooFew && e.Size() > largest.Size()) {
			largest, ok = e, true
		}
	}
	largest.P = min(1, largest.P*float64(len(controls)))
	largest.Differs = !largest.TooFew && largest.P < stats.Alpha
	return largest, ok
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

// Cell returns the cell of a stack under a workload, or nil.
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
		return e, e.Ratio > 0 && Finite(e.Ratio)
	}
	e, ok = v.rateEffect(subject, baseline)
	e.Adjusted, e.Floor = v.rates[rateKeyOf(subject, baseline)], v.floor(key.workload)
	e.Differs = !e.TooFew && e.Adjusted < stats.Alpha && (!ok || e.Size() >= threshold.Visible)
	v.effects[key] = e
	return e, ok
}

// rateEffect compares the rates of two cells of one workload by the fit of all of its stacks.
func (v *View) rateEffect(subject, baseline *Cell) (e fact.Effect, ok bool) {
	c, ok := v.Contrast(subject, baseline)
	if ratio := math.Exp(c.Log); !ok || ratio == 0 || !Finite(ratio) {
		return v.Effect(IOPS, subject.Stack.Name, baseline.Stack.Name, subject.Rates, baseline.Rates)
	}
	e = fact.Effect{Metric: IOPS, Subject: subject.Stack.Name, Baseline: baseline.Stack.Name, Ratio: math.Exp(c.Log), P: 1,
		N: [2]int{len(subject.Rates), len(baseline.Rates)}}
	if subject.Rates.Nested() && baseline.Rates.Nested() {
		x, _ := Pairs(subject.Rates, baseline.Rates)
		e.Pairs = len(x)
	}
	e.TooFew = min(e.N[0], e.N[1]) < stats.FewestPairs || c.Degrees < 1
	if !e.TooFew {
		e.P = c.P()
		if low, high := c.Interval(stats.Alpha / 2); low > 0 && Finite(high) {
			e.Low, e.High = low, high
		}
	}
	return e, true
}

// Effect measures one sample against another. ok is false when there is no
// ratio.
func (v *View) Effect(metric, subject, baseline string, x, y Sample) (e fact.Effect, ok bool) {
	ratio, ok := Compare(x, y, v.Run.Seed, v.RunSpread())
	e = fact.Effect{Metric: metric, Subject: subject, Baseline: baseline, P: ratio.P, N: ratio.N, Pairs: ratio.Pairs,
		TooFew: !ratio.Decidable()}
	e.Differs = !e.TooFew && e.P < stats.Alpha
	if !ok || !Finite(ratio.Ratio) || ratio.Ratio <= 0 {
		return e, false
	}
	e.Ratio = ratio.Ratio
	if apart := SetupsApart(x, y); apart > 0 {
		e.Floor = 1 + apart
	}
	if ratio.Low > 0 && Finite(ratio.High) {
		e.Low, e.High = ratio.Low, ratio.High
	}
	return e, true
}

// SetupsApart is by how much setups of the same point differ from each other beyond what their round
// explains: the standard deviation, as a share; 0 where that is not known.
func SetupsApart(points ...Sample) float64 {
	parts, ok := Parts(points)
	if !ok || !Finite(parts.Between) {
		return 0
	}
	return math.Expm1(parts.Between)
}

// Summary returns the results of a mix, compared with a baseline; nil for the baseline itself.
func (v *View) Summary(c, baseline *Cell) fact.Summary {
	s := fact.Summary{Mix: c.Workload.Name, BringUps: c.Point.N, Rate: c.Point.Median, P99NS: c.Point.P99NS,
		DeviceBytes: c.Sample(DeviceBandwidth).Median()}
	if baseline != nil {
		name := baseline.Workload.Name
		rate, _ := v.Effect(IOPS, s.Mix, name, c.Rates, baseline.Rates)
		s.Throughput = &rate
		p99, ok := v.Effect(P99.ID, s.Mix, name, c.Sample(P99), baseline.Sample(P99))
		if ok {
			s.P99 = &p99
		}
	}
	return s
}

// IOPS is the metric of effects that compare rates.
const IOPS = "IOPS"

// Comparisons returns how many comparisons of rates p values are adjusted for.
func (v *View) Comparisons() int { return len(v.rates) }
