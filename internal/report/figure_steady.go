package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// mostSamples is how many values a series is drawn with. Longer ones are
// averaged over stretches of equal length, and say so.
const mostSamples = 120

// What the axes of time are called.
const (
	roundLabel   = "round"
	secondsLabel = "time, s"
)

// rounds draws the workload-dependent preconditioning of each stack and
// workload as the SNIA specification asks for: every round, the window that
// was judged, its average with 10% on either side, and its least-squares line.
func rounds(run *result.Run) (section, bool) {
	s := section{Title: "Steady state before measuring",
		Note: "IOPS of each round of preconditioning. Steady, as SNIA's Performance Test Specification has it: within the " +
			"window rounds differ by no more than 20% of its average, and its line rises or falls by no more than 10%.",
		Keys: []legendKey{{"window", "window that was judged"}, {"average", "its average, with 10% on either side"},
			{"fit", "its least-squares line"}}}
	written := writtenBefore(run)
	for _, t := range inOrder(run) {
		if t.Preconditioning == nil || t.Preconditioning.Rounds == nil || len(t.Preconditioning.Rounds.IOPS) == 0 {
			continue
		}
		s.Figures = append(s.Figures, roundsFigure(t, *t.Preconditioning.Rounds))
	}
	s.Folded = len(s.Figures) > mostUnfolded
	if len(s.Figures) == 0 {
		s.Title, s.Note, s.Keys = "Written before measuring",
			"No rounds of the workload were asked for, so that nothing tells whether the devices were steady.", nil
	}
	if written != "" {
		s.Note = written + " " + s.Note
	}
	return s, len(s.Figures) > 0 || written != ""
}

// writtenBefore says what was written before anything was measured, and for
// how many stacks and workloads: "file written, 1 pass, 512 MiB: 18 stacks and
// workloads." It is "" when nothing was.
func writtenBefore(run *result.Run) string {
	var kinds []string
	times := map[string]int{}
	for _, t := range run.Trials {
		p := t.Preconditioning
		if p == nil || served(t) { // data of servers is loaded once, and cloned
			continue
		}
		kind := fmt.Sprintf("%s, %d pass", p.Kind, p.Passes)
		if p.Passes != 1 {
			kind += "es"
		}
		kind += ", " + units.Bytes(uint64(max(p.Bytes, 0)))
		if times[kind]++; times[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s, before %d of the stacks and workloads", kind, times[kind])
	}
	if len(kinds) == 0 {
		return ""
	}
	return "Preconditioning: " + strings.Join(kinds, "; ") + "."
}

// inOrder gives the trials of a run by workload and stack, as declared, and
// then as they ran: figures of one workload stand together.
func inOrder(run *result.Run) []result.Trial {
	stacks, workloads := stackNames(run), []string{}
	for _, w := range run.Workloads {
		workloads = append(workloads, w.Name)
	}
	trials := slices.Clone(run.Trials)
	slices.SortStableFunc(trials, func(a, b result.Trial) int {
		return cmp.Or(
			cmp.Compare(slotOf(workloads, a.Mix), slotOf(workloads, b.Mix)),
			cmp.Compare(slotOf(stacks, a.Stack), slotOf(stacks, b.Stack)),
			cmp.Compare(a.Seq, b.Seq))
	})
	return trials
}

// mostUnfolded is how many small multiples a section bears before they are
// folded away.
const mostUnfolded = 12

func roundsFigure(t result.Trial, r result.Rounds) figure {
	f := figure{Kind: figureSeries, Title: t.Stack + ", " + t.Mix, Stack: t.Stack, Height: 170, Bottom: 40, Unit: "IOPS"}
	high := 0.0
	for i, v := range r.IOPS {
		f.Xs = append(f.Xs, float64(i+1))
		high = max(high, finite(v))
	}
	f.Curves = []curve{{Name: t.Stack}}
	for _, v := range r.IOPS {
		f.Curves[0].Y = append(f.Curves[0].Y, rounded(v))
	}
	switch {
	case r.Settled:
		f.Note = fmt.Sprintf("steady after %s of %s s", counted(r.To, "round"), units.Exact(r.Seconds))
	default:
		f.Note = "not steady"
		if r.Why != "" {
			f.Note += ": " + r.Why
		}
	}
	// Without an average nothing was judged.
	if r.To > r.From && r.Average > 0 {
		from, to := float64(r.From+1), float64(r.To)
		x := &[2]float64{from, to}
		high = max(high, r.Average*1.1, r.First, r.Last)
		f.Bands = []band{
			{Class: "window", X: &[2]float64{from - 0.4, to + 0.4}},
			{Class: "tolerance", X: x, Y: &[2]float64{r.Average * 0.9, r.Average * 1.1}},
			{Class: "average", X: x, Y: &[2]float64{r.Average, r.Average},
				Text: fmt.Sprintf("average of rounds %d to %d: %s IOPS; they differ by %.1f%% of it, their line by %.1f%%",
					r.From+1, r.To, units.Exact(r.Average), 100*r.Excursion, 100*r.Slope)},
			{Class: "fit", X: x, Y: &[2]float64{r.First, r.Last},
				Text: fmt.Sprintf("least-squares line: from %s to %s IOPS", units.Exact(r.First), units.Exact(r.Last))},
		}
	}
	scale := linearScale(high)
	n := float64(len(r.IOPS))
	f.X = axis{Label: roundLabel, Low: 0.5, High: n + 0.5}
	for i := 1.0; i <= n; i += max(1, math.Ceil(n/8)) {
		f.X.Ticks = append(f.X.Ticks, valueTick{i, fmt.Sprint(i)})
	}
	f.Y = axis{Label: "IOPS", High: scale.high, Ticks: valueTicks(scale.steps(4), rateText)}
	return f
}

// trialSeries draws the rate over the time of a trial, one figure for each
// stack and workload. The first trial is in front, with its warm-up and the
// interval of its mean; its repeats are behind it.
func trialSeries(run *result.Run) (section, bool) {
	s := section{Title: "Rate while trials ran",
		Note: "The first trial of each stack and workload, and behind it its repeats.",
		Keys: []legendKey{{"warmup", "warm-up, left out"}, {"interval",
			"interval of the mean, corrected for autocorrelation"}, {"repeat", "repeats"}}}
	type point struct{ stack, workload string }
	var order []point
	trials := map[point][]result.Trial{}
	for _, t := range inOrder(run) {
		if t.Rates == nil || len(t.Rates.IOPS) == 0 || !(t.Rates.IntervalSeconds > 0) {
			continue
		}
		p := point{t.Stack, t.Mix}
		if trials[p] == nil {
			order = append(order, p)
		}
		trials[p] = append(trials[p], t)
	}
	for _, p := range order {
		s.Figures = append(s.Figures, seriesFigure(trials[p]))
	}
	if slices.ContainsFunc(s.Figures, func(f figure) bool { return f.Each > 1 }) {
		s.Note += fmt.Sprintf(" Long series are averaged to at most %d values; the run's database has all.", mostSamples)
	}
	s.Folded = len(s.Figures) > mostUnfolded
	s.Stops = stops(run)
	return s, len(s.Figures) > 0 || s.Stops != nil
}

func seriesFigure(trials []result.Trial) figure {
	first := trials[0]
	unit := headIOPS
	if served(first) {
		unit = headOperations
	}
	f := figure{Kind: figureSeries, Title: first.Stack + ", " + first.Mix, Stack: first.Stack, Height: 170, Bottom: 40,
		Unit: unit}
	step, longest := 0.0, 0.0
	for _, t := range trials {
		seconds := t.Rates.IntervalSeconds * float64(len(t.Rates.IOPS))
		longest = max(longest, seconds)
		step = max(step, t.Rates.IntervalSeconds)
	}
	// A multiple of the interval, so that every value is the mean of as many samples.
	step *= math.Ceil(longest / step / mostSamples)
	for x := step; x < longest+step/2; x += step {
		f.Xs = append(f.Xs, x)
	}
	high := 0.0
	for i, t := range trials {
		c := curve{Name: fmt.Sprintf("trial %d", t.Seq), Faint: i > 0}
		each := max(int(math.Round(step/t.Rates.IntervalSeconds)), 1)
		if each > 1 {
			f.Each = max(f.Each, each)
		}
		for samples := range slices.Chunk(t.Rates.IOPS, each) {
			if len(samples) < each && len(c.Y) > 0 {
				break // a mean of fewer would scatter more
			}
			c.Y = append(c.Y, shown(samples))
			high = max(high, finite(c.Y[len(c.Y)-1]))
		}
		f.Curves = append(f.Curves, c)
	}
	for i, t := range trials {
		for _, b := range trialBands(i, t) {
			f.Bands = append(f.Bands, b)
			if b.Y != nil {
				high = max(high, b.Y[1])
			}
		}
	}
	if stop := first.Stop; stop != nil {
		f.Note = string(stop.Reason)
		if known(stop) {
			f.Note += fmt.Sprintf(", mean known within %.1f%%", 50*(stop.HighIOPS-stop.LowIOPS)/stop.MeanIOPS)
		}
	}
	scale := linearScale(high)
	f.X = axis{Label: secondsLabel, High: longest, Ticks: valueTicks(linearScale(longest/1.04).steps(5), units.Exact)}
	f.Y = axis{Label: unit, High: scale.high, Ticks: valueTicks(scale.steps(4), rateText)}
	return f
}

// served reports whether a server answered a trial.
func served(t result.Trial) bool {
	h := t.Honesty()
	return h != nil && h.Source == result.SourceServer
}

// shown is a sample as it is, or the mean of several to the whole I/O.
func shown(samples []float64) float64 {
	if len(samples) == 1 {
		return rounded(samples[0])
	}
	return math.Round(mean(samples))
}

// trialBands are the warm-up of a trial and the interval of its mean.
func trialBands(i int, t result.Trial) []band {
	var bands []band
	if warm := float64(t.Rates.Warmup) * t.Rates.IntervalSeconds; warm > 0 {
		bands = append(bands, band{Class: "warmup", Curve: i, X: &[2]float64{0, warm},
			Text: fmt.Sprintf("trial %d, warm-up: the first %s s are left out", t.Seq, units.Exact(warm))})
	}
	if s := t.Stop; s != nil {
		text := fmt.Sprintf("trial %d ended: %s", t.Seq, s.Reason)
		if s.Why != "" {
			text += ", " + s.Why
		}
		b := band{Class: "mean", Curve: i, Y: &[2]float64{s.MeanIOPS, s.MeanIOPS},
			Text: fmt.Sprintf("%s; mean %s IOPS", text, units.Exact(s.MeanIOPS))}
		if known(s) {
			b.Class, b.Y = "interval", &[2]float64{s.LowIOPS, s.HighIOPS}
			b.Text += fmt.Sprintf(", %.0f%% interval %s to %s", 100*s.Confidence, units.Exact(s.LowIOPS),
				units.Exact(s.HighIOPS))
		}
		bands = append(bands, b)
	}
	return bands
}

// known tells whether there is an interval of a trial's mean.
func known(s *result.Stop) bool { return s.LowIOPS > 0 && s.HighIOPS > s.LowIOPS && s.MeanIOPS > 0 }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
