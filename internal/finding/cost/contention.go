package cost

import (
	_ "embed" // the sentences
	"fmt"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

//go:embed contention.tmpl
var contentionText string

// ContentionSentences are the sentences on I/Os that wait for each other.
var ContentionSentences = prose.NewSheet(contentionText, TracedText)

// Contention is how the time between system call and block layer goes with the jobs.
type Contention struct {
	Direction string   `json:"direction"`    // reads, writes
	Alone     bool     `json:"alone"`        // that time is told from the way back
	View      bool     `json:"view"`         // something stands on the file system
	Levels    []Waited `json:"levels"`       // by jobs, ascending
	Device    float64  `json:"device_ratio"` // of what the device takes with the most jobs to that with the fewest
	Steady    bool     `json:"steady"`       // which is about as long
	Bare      *Bare    `json:"bare,omitempty"`
}

// Waited is what of an I/O's latency passes before the block layer, and in the device.
type Waited struct {
	Level    LoadLevel `json:"level"`
	Before   float64   `json:"before_ns"`
	OnDevice float64   `json:"device_ns"`
}

// Bare is the same time without a file system.
type Bare struct {
	Stack string  `json:"stack"`
	Low   float64 `json:"low_ns"` // with the fewest jobs
	Top   float64 `json:"top_ns"` // with the most
}

// Fewest is the level with the fewest jobs.
func (c Contention) Fewest() Waited { return c.Levels[0] }

// Most is the level with the most jobs.
func (c Contention) Most() Waited { return c.Levels[len(c.Levels)-1] }

// Slower is how much longer the device takes with the most jobs, in ns.
func (c Contention) Slower() float64 { return c.Most().OnDevice - c.Fewest().OnDevice }

// Shared is how many jobs share how many processors.
type Shared struct {
	Jobs int `json:"jobs"`
	CPUs int `json:"cpus"`
}

const (
	// contended is how many times longer I/Os must stay in the kernel before the
	// block layer with the most jobs, by the lower end of the interval.
	contended = 1.5
	// matters is the part of the latency with the most jobs that they must have
	// gained there.
	matters = 0.1
	// steadyDevice is how many times longer the device may take meanwhile, and
	// deviceGains which part of what was gained before the block layer it may gain
	// itself: if it takes more, what is queued above may wait for it.
	steadyDevice = 1.25
	deviceGains  = 0.25
)

// Contended finds file systems, and what stands on them, in which I/Os wait
// for each other: the time between system call and block layer grows with the
// jobs, while that of the device does not.
func Contended(v *measured.View) []fact.Finding {
	var out []fact.Finding
	told := map[string]bool{}
	jobs := func(l fio.Load) int { return l.Jobs }
	for _, alike := range []func(fio.Load) fio.Load{
		func(l fio.Load) fio.Load { l.Jobs = 0; return l },
		func(l fio.Load) fio.Load { l.Jobs, l.Depth = 0, 0; return l },
	} {
		for _, g := range seriesOf(v, alike, jobs) {
			for _, d := range Directions {
				for _, s := range v.Stacks {
					f := contentionOf(v, s, d, g)
					if f != nil && !told[f.ID] {
						told[f.ID] = true
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

func waitsOf(v *measured.View, levels [][]float64) waits {
	w := waits{levels: levels}
	first, last := levels[0], levels[len(levels)-1]
	w.low, w.top = stats.Median(first), stats.Median(last)
	w.ratio, w.known = stats.RatioOfMedians(last, first, v.Run.Seed)
	w.p, w.rises = stats.Trend(levels)
	return w
}

func contentionOf(v *measured.View, s *measured.Stack, d Direction, g loads) *fact.Finding {
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
	device := waitsOf(v, each(spans, DeviceTime))
	gained := before.top - before.low
	steady := device.ratio.Ratio <= steadyDevice
	switch {
	case !before.known || !before.rises || before.p >= stats.Alpha || before.ratio.Low < contended:
		return nil
	case gained < matters*top.median(totalLatency):
		return nil
	case !device.known || !steady && device.top-device.low > deviceGains*gained:
		return nil
	}
	facts := Contention{Direction: d.Noun, Alone: alone, Device: device.ratio.Ratio, Steady: steady}
	_, _, view := measured.Split(s.Parsed)
	facts.View = view != nil
	var remarks []fact.Remark
	if !steady {
		remarks = append(remarks, fact.Remark{Case: "caveat: lock"})
	}
	bare, bareSpans := bareBeneath(v, s, d, levels)
	switch {
	case bare == nil:
		remarks = append(remarks, fact.Remark{Case: "caveat: no bare device"})
	case gained < contended*(bare.top-bare.low):
		return nil // jobs wait for processors, or in what every stack has
	default:
		facts.Bare = &Bare{bareSpans[0].Stack.Name, bare.low, bare.top}
	}
	if cpus := v.Run.Environment.CPUs; cpus > 0 && high.Load.Jobs > cpus {
		remarks = append(remarks, fact.Remark{Case: "caveat: few processors", Facts: Shared{high.Load.Jobs, cpus}})
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
	return &fact.Finding{
		ID: fmt.Sprintf("contention/%s/%s/%s", s.Name, high.Name, d.Noun), Case: "contention", Kind: fact.KindTime,
		Workload: high.Name, Stacks: []string{s.Name}, Facts: facts, Effect: &e,
		Evidence: measured.Points(cellsOf(spans)...), Caveats: marksOf(spans...),
		Remarks: append(PartCaveats(spans...), remarks...),
	}
}

// levelsOf returns the levels of a series under which a stack was traced.
func levelsOf(v *measured.View, s *measured.Stack, d Direction, g loads) (levels loads, spans []*span) {
	for _, l := range g {
		if sp := spanUnder(v, s, l.Name, d); sp != nil {
			levels, spans = append(levels, l), append(spans, sp)
		}
	}
	return levels, spans
}

func waitsBefore(v *measured.View, spans []*span) (w waits, alone bool) {
	alone = true
	return waitsOf(v, each(spans, func(b *result.Breakdown) float64 {
		ns, only := beforeBlockLayer(b)
		alone = alone && only
		return ns
	})), alone
}

// bareBeneath returns the same time of the device that a stack stands on, when it
// was traced at the same levels.
func bareBeneath(v *measured.View, s *measured.Stack, d Direction, levels loads) (*waits, []*span) {
	device := v.Find(measured.Below(s.Parsed, 1))
	if device == nil {
		return nil, nil
	}
	same, spans := levelsOf(v, device, d, levels)
	if !slices.Equal(same, levels) {
		return nil, nil
	}
	w, _ := waitsBefore(v, spans)
	return &w, spans
}

func each(spans []*span, of func(*result.Breakdown) float64) (out [][]float64) {
	for _, s := range spans {
		out = append(out, s.Values(of))
	}
	return out
}
