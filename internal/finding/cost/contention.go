package cost

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// Contention is how the time between system call and block layer goes with the jobs.
type Contention struct {
	Direction   string   `json:"direction"`    // reads, writes
	Alone       bool     `json:"alone"`        // that time is known apart from the way back
	View        bool     `json:"view"`         // a container view is on the file system
	Levels      []Waited `json:"levels"`       // by jobs, ascending
	DeviceRatio float64  `json:"device_ratio"` // of what the device takes with the most jobs to that with the fewest
	Steady      bool     `json:"steady"`       // which is about as long
	Bare        *Bare    `json:"bare,omitempty"`
}

// Waited is the part of an I/O's latency before the block layer, and that in the device.
type Waited struct {
	Level    LoadLevel `json:"level"`
	BeforeNS float64   `json:"before_ns"`
	DeviceNS float64   `json:"device_ns"`
}

// Bare is the same time without a file system.
type Bare struct {
	Stack string  `json:"stack"`
	LowNS float64 `json:"low_ns"` // with the fewest jobs
	TopNS float64 `json:"top_ns"` // with the most
}

// Fewest is the level with the fewest jobs.
func (c Contention) Fewest() Waited { return c.Levels[0] }

// Most is the level with the most jobs.
func (c Contention) Most() Waited { return c.Levels[len(c.Levels)-1] }

// Slower is how much longer the device takes with the most jobs, in ns.
func (c Contention) Slower() float64 { return c.Most().DeviceNS - c.Fewest().DeviceNS }

// Shared is how many jobs share how many processors.
type Shared struct {
	Jobs int `json:"jobs"`
	CPUs int `json:"cpus"`
}

// Contended finds file systems, and what stands on them, in which I/Os wait
// for each other: the time between system call and block layer grows with the
// jobs, while that of the device does not.
func Contended(v *runview.View) []fact.Finding {
	var out []fact.Finding
	contended := map[string]bool{}
	jobs := func(l fio.Load) int { return l.Jobs }
	for _, alike := range []func(fio.Load) fio.Load{
		func(l fio.Load) fio.Load { l.Jobs = 0; return l },
		func(l fio.Load) fio.Load { l.Jobs, l.Depth = 0, 0; return l },
	} {
		for _, g := range seriesOf(v, alike, jobs) {
			for _, d := range Directions {
				for _, s := range v.Stacks {
					f := contentionOf(v, s, d, g)
					if f != nil && !contended[f.ID] {
						contended[f.ID] = true
						out = append(out, *f)
					}
				}
			}
		}
	}
	return out
}

// waits is how the time in a part goes with the number of jobs.
type waits struct {
	levels   [][]float64 // one value a trial
	ratio    stats.Ratio // most jobs against fewest
	known    bool        // there is a ratio
	p        float64     // of a trend
	rises    bool
	low, top float64 // medians with the fewest and the most jobs
}

func waitsOf(v *runview.View, levels [][]float64) waits {
	w := waits{levels: levels}
	first, last := levels[0], levels[len(levels)-1]
	w.low, w.top = stats.Median(first), stats.Median(last)
	w.ratio, w.known = stats.RatioOfMedians(last, first, v.Run.Seed)
	w.p, w.rises = stats.Trend(levels)
	return w
}

func contentionOf(v *runview.View, s *runview.Stack, d Direction, g loads) *fact.Finding {
	if len(s.Parsed.Nodes) < 2 { // nothing is between system call and block layer
		return nil
	}
	levels, spans := levelsOf(v, s, d, g)
	if len(levels) < 2 {
		return nil
	}
	low, high := levels[0], levels[len(levels)-1]
	before, alone := waitsBefore(v, spans)
	if low.Load.Depth != high.Load.Depth && !alone {
		return nil // the way back is in it too, and grows with the depth
	}
	top := spans[len(spans)-1]
	device := waitsOf(v, timesOf(spans, DeviceTime))
	gained := before.top - before.low
	steady := device.ratio.Ratio <= threshold.SteadyDevice
	switch {
	case !before.known || !before.rises || before.p >= stats.Alpha || before.ratio.Low < threshold.Contention:
		return nil
	case gained < threshold.ContentionShare*top.median(totalLatency):
		return nil
	case !device.known || !steady && device.top-device.low > threshold.DeviceGain*gained:
		return nil
	}
	facts := Contention{Direction: d.Noun, Alone: alone, DeviceRatio: device.ratio.Ratio, Steady: steady}
	_, _, view := runview.Split(s.Parsed)
	facts.View = view != nil
	if bare, bareSpans := bareBeneath(v, s, d, levels); bare != nil {
		if gained < threshold.Contention*(bare.top-bare.low) {
			return nil // jobs wait for processors, or in what every stack has
		}
		facts.Bare = &Bare{bareSpans[0].Stack.Name, bare.low, bare.top}
	}
	e := fact.Effect{
		Metric:  "time before the block layer",
		Subject: s.Name + " under " + high.Name, Baseline: s.Name + " under " + low.Name,
		Ratio: before.ratio.Ratio, Low: before.ratio.Low, High: before.ratio.High, P: before.p,
		N: [2]int{len(before.levels[len(levels)-1]), len(before.levels[0])}, Differs: true,
	}
	for i, l := range levels {
		at := Waited{levelOf(l, spans[i]), stats.Median(before.levels[i]), stats.Median(device.levels[i])}
		facts.Levels = append(facts.Levels, at)
	}
	f := fact.Finding{
		ID: fmt.Sprintf("contention/%s/%s/%s", s.Name, high.Name, d.Noun), Case: "contention", Kind: fact.KindTime,
		Workload: high.Name, Stacks: []string{s.Name}, Facts: facts, Title: facts.title(s.Name, high.Name), Why: facts.why(e),
		Effect: &e, Evidence: runview.Points(cellsOf(spans)...), Caveats: marksOf(spans...),
	}
	remark(&f, PartCaveats(spans...))
	facts.remark(&f, v.Run.Environment.CPUs)
	return &f
}

// levelsOf returns the levels of a series under which a stack was traced.
func levelsOf(v *runview.View, s *runview.Stack, d Direction, g loads) (levels loads, spans []*span) {
	for _, l := range g {
		if sp := spanUnder(v, s, l.Name, d); sp != nil {
			levels, spans = append(levels, l), append(spans, sp)
		}
	}
	return levels, spans
}

func waitsBefore(v *runview.View, spans []*span) (w waits, alone bool) {
	alone = true
	return waitsOf(v, timesOf(spans, func(b *result.Breakdown) float64 {
		ns, only := beforeBlockLayer(b)
		alone = alone && only
		return ns
	})), alone
}

// bareBeneath returns the same time of the device that a stack stands on, when it
// was traced at the same levels.
func bareBeneath(v *runview.View, s *runview.Stack, d Direction, levels loads) (*waits, []*span) {
	device := v.Find(runview.Below(s.Parsed, 1))
	if device == nil {
		return nil, nil
	}
	bareLevels, spans := levelsOf(v, device, d, levels)
	if !slices.Equal(bareLevels, levels) {
		return nil, nil
	}
	w, _ := waitsBefore(v, spans)
	return &w, spans
}

func timesOf(spans []*span, time func(*result.Breakdown) float64) (out [][]float64) {
	for _, s := range spans {
		out = append(out, s.Values(time))
	}
	return out
}

func (c Contention) title(stack, workload string) string {
	place, meanwhile := "the file system", "no longer"
	if c.View {
		place += ", or what stands on it"
	}
	if !c.Steady {
		meanwhile = units.Latency(c.Slower()) + " longer"
	}
	few, most := c.Fewest(), c.Most()
	return fmt.Sprintf("%s of %s on %s wait in %s: %s before the block layer with %s, %s with %s, while the device takes %s",
		prose.Capital(c.Direction), workload, stack, place, units.Latency(few.BeforeNS), plural.Count(few.Level.Jobs, "job"),
		units.Latency(most.BeforeNS), plural.Count(most.Level.Jobs, "job"), meanwhile)
}

func (c Contention) why(e fact.Effect) string {
	until := "above the block layer, the way back included,"
	if c.Alone {
		until = "up to the block layer"
	}
	text := fmt.Sprintf("The kernel's part %s takes of %s: %s. It is %sx as long with the most jobs (%s to %s; the "+
		"trend over %s has "+
		"%s), and the device takes %sx as long. Time that grows with the jobs, and not with the device, is time in which they wait "+
		"for each other: for a lock, or in a queue.", until, prose.One(c.Direction), joined(c.Levels, ", "),
		units.Times(e.Ratio), units.Times(e.Low), units.Times(e.High), plural.Count(len(c.Levels), "level"), units.PValue(e.P),
		units.Times(c.DeviceRatio))
	if b := c.Bare; b != nil {
		text += fmt.Sprintf(" Without a file system, on %s, that time goes from %s to %s.", b.Stack, units.Latency(b.LowNS),
			units.Latency(b.TopNS))
	}
	return text
}

// String says what passes before the block layer, and in the device.
func (w Waited) String() string {
	return fmt.Sprintf("%s and the device %s under %s (%s)", units.Latency(w.BeforeNS), units.Latency(w.DeviceNS), w.Level.Workload,
		w.Level)
}

// remark says what else jobs may wait for, on so many processors.
func (c Contention) remark(f *fact.Finding, cpus int) {
	if !c.Steady {
		prose.Remark(f, "caveat: lock", nil, "a lock that is held until the device has answered passes on what the device takes "+
			"longer: part of the growth may be that")
	}
	if c.Bare == nil {
		prose.Remark(f, "caveat: no bare device", nil, "the device without a file system was not traced under the same workloads: "+
			"what the jobs wait for may be in the kernel itself")
	}
	if jobs := c.Most().Level.Jobs; cpus > 0 && jobs > cpus {
		prose.Remark(f, "caveat: few processors", Shared{jobs, cpus}, fmt.Sprintf(
			"%d jobs share %s: waiting for one of these is in it too", jobs, plural.Count(cpus, "processor")))
	}
}
