package finding

import (
	"fmt"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/claims"
	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// latencyClaims are those of MSST'17, section 5.5. They are about random
// reads; a directly attached device is taken without a file system on it.
var latencyClaims = []claimRule{
	{"lat-slat-low-das", "latency",
		"under low load hardly anything queues, and submission is a small part of what an I/O takes", submissionAtLowLoad(direct)},
	{"lat-high-das", "latency",
		"under high load an I/O waits in the queues of the storage", latencyUnderLoad(direct)},
}

// submissionAtLowLoad tests the share of submission in the total latency, on
// the bare devices that are of the claim's kind.
func submissionAtLowLoad(of func(line.Line) bool) func(*view, claims.Claim) []claimCase {
	return func(v *view, c claims.Claim) []claimCase { return v.submissionAtLowLoad(c, of) }
}

func (v *view) submissionAtLowLoad(c claims.Claim, of func(line.Line) bool) []claimCase {
	w := lowLoad("RR")
	d, _, ok := v.workload(w)
	if !ok {
		return nil // a share at another load is another thing
	}
	var out []claimCase
	for _, s := range v.stacks {
		if !bare(s.line) || !onDevice(s.line) || !of(s.line) {
			continue
		}
		k := claimCase{stacks: []string{s.Name}, workload: d.name}
		if cell := v.cell(s.Name, d.name); cell == nil {
			k.judgement = notTestable("%s", v.unmeasured(s, d.name))
		} else {
			k.share(c, cell)
		}
		out = append(out, k)
	}
	return out
}

func (k *claimCase) share(c claims.Claim, of *cell) {
	k.evidence = []*cell{of}
	var shares []float64
	for _, t := range of.trials {
		if s := trialLatency(t, submissionOf); s > 0 {
			if share := s / trialLatency(t, totalOf); finite(share) && share <= 1 {
				shares = append(shares, share)
			}
		}
	}
	if len(shares) == 0 {
		k.judgement = notTestable("no trial of %s tells how long submission takes", of.stack.Name)
		return
	}
	median, iv := stats.Median(shares), stats.MedianInterval(shares)
	k.measured = units.Percent(median)
	if len(shares) >= stats.FewestPairs {
		k.measured += fmt.Sprintf(" (%s to %s)", units.Percent(iv.Low), units.Percent(iv.High))
	}
	k.says = of.stack.Name + " has " + k.measured
	if l, ok := of.latencies(); ok {
		k.grounds = sentences(fmt.Sprintf("an I/O takes %s on %s, on average.", l, of.stack.Name), of.parts())
	}
	switch why := unfit(of); {
	case why != "":
		k.judgement = notTestable("%s", why)
	case slices.Contains(of.stack.Marks, result.MarkLoop):
		// A share is no ratio of two stacks, in which a loop device cancels out.
		k.judgement = notTestable("%s is a loop device, which adds a thread and a file system to completion: name a block device", of.stack.Name)
	default:
		k.judgement = judgeShare(c, iv)
	}
}

// latencyUnderLoad tests how much longer an I/O takes on a busy device, on the
// bare devices that are of the claim's kind.
func latencyUnderLoad(of func(line.Line) bool) func(*view, claims.Claim) []claimCase {
	return func(v *view, c claims.Claim) []claimCase { return v.latencyUnderLoad(c, of) }
}

func (v *view) latencyUnderLoad(c claims.Claim, of func(line.Line) bool) []claimCase {
	low, _, okLow := v.workload(lowLoad("RR"))
	wanted := wanted{role: "RR", jobs: manyJobs, inFlight: manyJobs, paper: fio.Load{Jobs: manyJobs, Depth: 32}}
	high, like, okHigh := v.workload(wanted)
	like = slices.DeleteFunc(like, func(d driven) bool { return d.load.InFlight() == 1 })
	if !okLow || !okHigh && len(like) == 0 {
		return nil
	}
	var out []claimCase
	for _, s := range v.stacks {
		if !bare(s.line) || !onDevice(s.line) || !of(s.line) {
			continue
		}
		k := claimCase{stacks: []string{s.Name}, workload: low.name}
		if okHigh {
			k.workload = high.name
			v.underLoad(&k, c, s, low, high)
			k.caveats = append(k.caveats, fmt.Sprintf("%s here, 16 parallel jobs in the paper, which does not say how deep", loadText(high.load)))
		} else {
			k.judgement = wanted.lacking(like)
		}
		out = append(out, k)
	}
	return out
}

func (v *view) underLoad(k *claimCase, c claims.Claim, s *stack, low, high driven) {
	a, b := v.cell(s.Name, high.name), v.cell(s.Name, low.name)
	for _, m := range []struct {
		cell     *cell
		workload string
	}{{a, high.name}, {b, low.name}} {
		if m.cell == nil {
			k.judgement = notTestable("%s", v.unmeasured(s, m.workload))
			return
		}
	}
	k.evidence = []*cell{a, b}
	x, okX := a.latencies()
	y, okY := b.latencies()
	if okX && okY {
		k.grounds = fmt.Sprintf("an I/O takes %s under %s and %s under %s, on average; %s and %s I/Os in flight.",
			x, high.name, y, low.name, fmt.Sprint(high.load.InFlight()), fmt.Sprint(low.load.InFlight()))
		k.grounds = sentences(k.grounds, a.parts("under "+high.name), b.parts("under "+low.name))
	}
	e, ok := v.effect("mean total latency", s.Name+" under "+high.name, s.Name+" under "+low.name, a.totals(), b.totals())
	if !ok {
		k.judgement = notTestable("no ratio of latencies: a trial does not tell them")
		return
	}
	k.effect, k.measured = &e, shortRatio(e)
	k.says = fmt.Sprintf("on %s, that under %s is %s of that under %s", s.Name, high.name, k.measured, low.name)
	if why := unfit(a, b); why != "" {
		k.judgement = notTestable("%s", why)
		return
	}
	k.judgement = judgeRatio(c, e)
}

func submissionOf(d result.Direction) hist.Histogram { return d.Submission }
func totalOf(d result.Direction) hist.Histogram      { return d.Total }

// trialLatency is the sum of a latency over the I/Os of both directions, in
// ns; 0 when it is not known.
func trialLatency(t *result.Trial, of func(result.Direction) hist.Histogram) float64 {
	sum := 0.0
	for _, d := range []result.Direction{t.Measurement.Read, t.Measurement.Write} {
		if l := of(d); l.Count > 0 {
			sum += l.MeanNS * float64(l.Count)
		}
	}
	return sum
}

// meanLatencies are the mean total latencies of the bring-ups, in ns.
func (c *cell) meanLatencies() []float64 { return c.totals().Means() }

// totals are the mean total latencies of the trials, in ns, by bring-up.
func (c *cell) totals() samples.Sample { return c.means(totalOf) }

// completions are the mean completion latencies of the trials, in ns, by
// bring-up.
func (c *cell) completions() samples.Sample {
	return c.means(func(d result.Direction) hist.Histogram { return d.Completion })
}

func (c *cell) means(of func(result.Direction) hist.Histogram) samples.Sample {
	return samples.Take(c.trials, func(t *result.Trial) (float64, bool) {
		l := hist.Merge(of(t.Measurement.Read), of(t.Measurement.Write))
		return l.MeanNS, l.Count > 0 && finite(l.MeanNS)
	})
}
