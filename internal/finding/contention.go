package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

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

// contention finds file systems, and what stands on them, in which I/Os wait
// for each other: the time between system call and block layer grows with the
// jobs, while that of the device does not.
func contention(v *view) []Finding {
	var out []Finding
	told := map[string]bool{}
	jobs := func(l fio.Load) int { return l.Jobs }
	for _, alike := range []func(fio.Load) fio.Load{
		func(l fio.Load) fio.Load { l.Jobs = 0; return l },
		func(l fio.Load) fio.Load { l.Jobs, l.Depth = 0, 0; return l },
	} {
		for _, g := range v.series(alike, jobs) {
			for _, d := range directions {
				for _, s := range v.stacks {
					f := v.contention(s, d, g)
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

func (v *view) waits(levels [][]float64) waits {
	w := waits{levels: levels}
	first, last := levels[0], levels[len(levels)-1]
	w.low, w.top = stats.Median(first), stats.Median(last)
	w.ratio, w.known = stats.RatioOfMedians(last, first, v.run.Seed)
	w.p, w.rises = stats.Trend(levels)
	return w
}

func (v *view) contention(s *stack, d direction, g loads) *Finding {
	if len(s.line.Nodes) < 2 { // nothing is between system call and block layer
		return nil
	}
	levels, spans := v.levelsOf(s, d, g)
	if len(levels) < 2 {
		return nil
	}
	low, high := levels[0], levels[len(levels)-1]
	before, alone := v.beforeBlockLayer(spans)
	if low.load.Depth != high.load.Depth && !alone {
		return nil // the way back is in it too, and grows with the depth
	}
	top := spans[len(spans)-1]
	device := v.waits(each(spans, deviceTime))
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
	meanwhile := "while the device takes no longer"
	var caveats []string
	if !steady {
		meanwhile = fmt.Sprintf("while the device takes %s longer", units.Latency(device.top-device.low))
		caveats = append(caveats, "a lock that is held until the device has answered passes on what the device takes longer: part of the growth may be that")
	}
	bare, bareSpans := v.bareBeneath(s, d, levels)
	switch {
	case bare == nil:
		caveats = append(caveats, "the device without a file system was not traced under the same workloads: what the jobs wait for may be in the kernel itself")
	case gained < contended*(bare.top-bare.low):
		return nil // jobs wait for processors, or in what every stack has
	}
	if cpus := v.run.Environment.CPUs; cpus > 0 && high.load.Jobs > cpus {
		caveats = append(caveats, fmt.Sprintf("%d jobs share %s: waiting for one of these is in it too", high.load.Jobs, plural.Count(cpus, "processor")))
	}
	e := Effect{
		Metric: "time before the block layer", Subject: s.Name + " under " + high.name, Baseline: s.Name + " under " + low.name,
		Ratio: before.ratio.Ratio, Low: before.ratio.Low, High: before.ratio.High, P: before.p,
		N: [2]int{len(before.levels[len(levels)-1]), len(before.levels[0])}, Differs: true,
	}
	var each []string
	for i, l := range levels {
		each = append(each, fmt.Sprintf("%s and the device %s under %s (%s)", units.Latency(stats.Median(before.levels[i])), units.Latency(stats.Median(device.levels[i])), l.name, loadText(l.load)))
	}
	where := "The kernel's part up to the block layer"
	if !alone {
		where = "The kernel's part above the block layer, the way back included,"
	}
	why := fmt.Sprintf("%s takes of %s: %s. It is %sx as long with the most jobs (%s to %s; the trend over %s has %s), and the device takes %sx as long. "+
		"Time that grows with the jobs, and not with the device, is time in which they wait for each other: for a lock, or in a queue.",
		where, d.one, strings.Join(each, ", "), units.Times(e.Ratio), units.Times(e.Low), units.Times(e.High), plural.Count(len(levels), "level"), pText(e.P), units.Times(device.ratio.Ratio))
	if bare != nil {
		why += fmt.Sprintf(" Without a file system, on %s, that time goes from %s to %s.", bareSpans[0].stack.Name, units.Latency(bare.low), units.Latency(bare.top))
	}
	_, _, above := split(s.line)
	in := "the file system"
	if above != nil {
		in = "the file system, or what stands on it"
	}
	return &Finding{
		ID: fmt.Sprintf("contention/%s/%s/%s", s.Name, high.name, d.noun), Kind: KindTime, Workload: high.name, Stacks: []string{s.Name},
		Title: fmt.Sprintf("%s of %s on %s wait in %s: %s before the block layer with %s, %s with %s, %s",
			capital(d.noun), high.name, s.Name, in, units.Latency(before.low), plural.Count(low.load.Jobs, "job"), units.Latency(before.top), plural.Count(high.load.Jobs, "job"), meanwhile),
		Why: why, Effect: &e, Evidence: points(cellsOf(spans)...), Caveats: append(partCaveats(spans...), caveats...),
	}
}

// levelsOf gives the levels of a series under which a stack was traced.
func (v *view) levelsOf(s *stack, d direction, g loads) (levels loads, spans []*span) {
	for _, l := range g {
		if sp := v.spanOf(s, l.name, d); sp != nil {
			levels, spans = append(levels, l), append(spans, sp)
		}
	}
	return levels, spans
}

func (v *view) beforeBlockLayer(spans []*span) (w waits, alone bool) {
	alone = true
	return v.waits(each(spans, func(b *result.Breakdown) float64 {
		ns, only := beforeBlockLayer(b)
		alone = alone && only
		return ns
	})), alone
}

// bareBeneath gives the same time of the device that a stack stands on, when it
// was traced at the same levels.
func (v *view) bareBeneath(s *stack, d direction, levels loads) (*waits, []*span) {
	device := v.find(below(s.line, 1))
	if device == nil {
		return nil, nil
	}
	same, spans := v.levelsOf(device, d, levels)
	if !slices.Equal(same, levels) {
		return nil, nil
	}
	w, _ := v.beforeBlockLayer(spans)
	return &w, spans
}

func each(spans []*span, of func(*result.Breakdown) float64) (out [][]float64) {
	for _, s := range spans {
		out = append(out, s.values(of))
	}
	return out
}
