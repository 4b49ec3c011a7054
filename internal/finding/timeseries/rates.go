package timeseries

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Rounds returns the workload-dependent preconditioning of each stack and workload as the SNIA
// specification asks for: every round, the window that was judged, its average with 10% on either side, and
// its least-squares line. It is nil where nothing was written before measuring.
func Rounds(run *result.Run) *section.Section {
	s := &section.Section{Title: "Steady state before measuring",
		Note: "IOPS of each round of preconditioning. Steady, as SNIA's Performance Test Specification has it: within the " +
			"window rounds differ by no more than 20% of its average, and its line rises or falls by no more than 10%.",
		Keys: []section.Key{{Class: window, Text: "window that was judged"},
			{Class: average, Text: "its average, with 10% on either side"}, {Class: section.Fit, Text: "its least-squares line"}}}
	written := writtenBefore(run)
	for _, t := range inOrder(run) {
		if t.Preconditioning == nil || t.Preconditioning.Rounds == nil || len(t.Preconditioning.Rounds.IOPS) == 0 {
			continue
		}
		s.Figures = append(s.Figures, roundsFigure(t, *t.Preconditioning.Rounds))
	}
	s.Folded = len(s.Figures) > section.MostUnfolded
	if len(s.Figures) == 0 {
		if written == "" {
			return nil
		}
		s.Title, s.Note, s.Keys = "Written before measuring",
			"The workload was not asked for in rounds, so it is not known whether the devices were steady.", nil
	}
	if written != "" {
		s.Note = written + " " + s.Note
	}
	return s
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

// inOrder returns the trials of a run by workload and stack, as declared, and
// then as they ran: figures of one workload stand together.
func inOrder(run *result.Run) []result.Trial {
	stacks, mixes := run.StackNames(), []string{}
	for _, m := range run.Ran() {
		if m.Varies == nil {
			mixes = append(mixes, m.Name)
		}
	}
	place := func(names []string, name string) int { return max(slices.Index(names, name), 0) }
	trials := slices.Clone(run.Trials)
	slices.SortStableFunc(trials, func(a, b result.Trial) int {
		return cmp.Or(
			cmp.Compare(place(mixes, a.Mix), place(mixes, b.Mix)),
			cmp.Compare(place(stacks, a.Stack), place(stacks, b.Stack)),
			cmp.Compare(a.Seq, b.Seq))
	})
	return trials
}

func roundsFigure(t result.Trial, r result.Rounds) section.Figure {
	n := float64(len(r.IOPS))
	f := section.Figure{Kind: section.Repeats, Title: t.Stack + ", " + t.Mix, Stack: t.Stack, Unit: units.IOPS,
		X: section.Axis{Label: "round", From: 0.5, To: n + 0.5,
			Says: func(v float64) string { return "round " + units.Exact(v) }},
		Y: section.Axis{Label: units.IOPS, Of: section.Count}}
	for i := range r.IOPS {
		f.Along = append(f.Along, float64(i+1))
	}
	for i := 1.0; i <= n; i += max(1, math.Ceil(n/8)) {
		f.X.Named = append(f.X.Named, i)
	}
	f.Series = []section.Series{{Name: t.Stack, Curve: r.IOPS}}
	switch {
	case r.Settled:
		f.Note = fmt.Sprintf("steady after %s of %s s", plural.Count(r.To, "round"), units.Exact(r.Seconds))
	default:
		f.Note = "not steady"
		if r.Why != "" {
			f.Note += ": " + r.Why
		}
	}
	// Without an average nothing was judged.
	if r.To > r.From && r.Average > 0 {
		from, to := float64(r.From+1), float64(r.To)
		x := [2]float64{from, to}
		f.Bands = []section.Band{
			{Class: window, X: [2]float64{from - 0.4, to + 0.4}},
			{Class: tolerance, X: x, Y: &[2]float64{r.Average * 0.9, r.Average * 1.1}},
			{Class: average, X: x, Y: &[2]float64{r.Average, r.Average},
				Text: fmt.Sprintf("average of rounds %d to %d: %s IOPS; they differ by %.1f%% of it, their line by %.1f%%",
					r.From+1, r.To, units.Exact(r.Average), 100*r.Excursion, 100*r.Slope)},
			{Class: section.Fit, X: x, Y: &[2]float64{r.First, r.Last},
				Text: fmt.Sprintf("least-squares line: from %s to %s IOPS", units.Exact(r.First), units.Exact(r.Last))},
		}
	}
	return f
}

// Rates returns the rate over the time of a trial, one figure for each stack and workload, and why trials
// ended. The first trial is in front, with its warm-up and the interval of its mean; its repeats are behind
// it. It is nil where there is neither.
func Rates(run *result.Run) *section.Section {
	s := &section.Section{Title: "Rate while trials ran",
		Note: "The first trial of each stack and workload, and behind it its repeats.",
		Keys: []section.Key{{Class: warmup, Text: "warm-up, left out"},
			{Class: interval, Text: "interval of the mean, corrected for autocorrelation"}, {Class: repeat, Text: "repeats"}}}
	var order []result.Point
	trials := map[result.Point][]result.Trial{}
	for _, t := range inOrder(run) {
		if t.Rates == nil || len(t.Rates.IOPS) == 0 || !(t.Rates.IntervalSeconds > 0) {
			continue
		}
		p := result.Point{Stack: t.Stack, Mix: t.Mix}
		order = runview.AddNew(order, p)
		trials[p] = append(trials[p], t)
	}
	for _, p := range order {
		s.Figures = append(s.Figures, ratesFigure(trials[p]))
	}
	if slices.ContainsFunc(s.Figures, func(f section.Figure) bool { return f.Each > 1 }) {
		s.Note += fmt.Sprintf(" Long series are averaged to at most %d values; the run's database has all.", section.MostSamples)
	}
	s.Folded = len(s.Figures) > section.MostUnfolded
	ended := stops(run, s)
	if len(s.Figures) == 0 && !ended {
		return nil
	}
	return s
}

func ratesFigure(trials []result.Trial) section.Figure {
	first := trials[0]
	unit := units.IOPS
	if served(first) {
		unit = units.Operations
	}
	f := section.Figure{Kind: section.Repeats, Title: first.Stack + ", " + first.Mix, Stack: first.Stack, Unit: unit,
		X: section.Axis{Label: section.TimeLabel}, Y: section.Axis{Label: unit, Of: section.Count}}
	step := 0.0
	for _, t := range trials {
		f.X.To = max(f.X.To, t.Rates.IntervalSeconds*float64(len(t.Rates.IOPS)))
		step = max(step, t.Rates.IntervalSeconds)
	}
	// A multiple of the interval, so that every value is the mean of as many samples.
	step *= math.Ceil(f.X.To / step / section.MostSamples)
	for x := step; x < f.X.To+step/2; x += step {
		f.Along = append(f.Along, x)
	}
	for i, t := range trials {
		c := section.Series{Name: fmt.Sprintf("trial %d", t.Seq), Faint: i > 0}
		perValue := max(int(math.Round(step/t.Rates.IntervalSeconds)), 1)
		if perValue > 1 {
			f.Each = max(f.Each, perValue)
		}
		for samples := range slices.Chunk(t.Rates.IOPS, perValue) {
			if len(samples) < perValue && len(c.Curve) > 0 {
				break // a mean of fewer would scatter more
			}
			c.Curve = append(c.Curve, shown(samples))
		}
		f.Series = append(f.Series, c)
		f.Bands = append(f.Bands, trialBands(i, t)...)
	}
	if stop := first.Stop; stop != nil {
		f.Note = string(stop.Reason)
		if known(stop) {
			f.Note += fmt.Sprintf(", mean known within %.1f%%", 50*(stop.HighIOPS-stop.LowIOPS)/stop.MeanIOPS)
		}
	}
	return f
}

// served reports whether a server or a file system answered a trial.
func served(t result.Trial) bool {
	h := t.Honesty()
	return h != nil && h.Source.Operations()
}

// shown is a sample as it is, or the mean of several to the whole I/O.
func shown(samples []float64) float64 {
	if len(samples) == 1 {
		return samples[0]
	}
	whole, _ := stats.MeanAndSquares(samples)
	return math.Round(whole)
}

// trialBands are the warm-up of a trial and the interval of its mean.
func trialBands(i int, t result.Trial) []section.Band {
	var bands []section.Band
	if warm := float64(t.Rates.Warmup) * t.Rates.IntervalSeconds; warm > 0 {
		bands = append(bands, section.Band{Class: warmup, Series: i, X: [2]float64{0, warm},
			Text: fmt.Sprintf("trial %d, warm-up: the first %s s are left out", t.Seq, units.Exact(warm))})
	}
	if s := t.Stop; s != nil {
		text := fmt.Sprintf("trial %d ended: %s", t.Seq, s.Reason)
		if s.Why != "" {
			text += ", " + s.Why
		}
		b := section.Band{Class: mean, Series: i, Y: &[2]float64{s.MeanIOPS, s.MeanIOPS},
			Text: fmt.Sprintf("%s; mean %s IOPS", text, units.Exact(s.MeanIOPS))}
		if known(s) {
			b.Class, b.Y = interval, &[2]float64{s.LowIOPS, s.HighIOPS}
			b.Text += fmt.Sprintf(", %.0f%% interval %s to %s", 100*s.Confidence, units.Exact(s.LowIOPS),
				units.Exact(s.HighIOPS))
		}
		bands = append(bands, b)
	}
	return bands
}

// known reports whether there is an interval of a trial's mean.
func known(s *result.Stop) bool { return s.LowIOPS > 0 && s.HighIOPS > s.LowIOPS && s.MeanIOPS > 0 }
