package fleet

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units/plural"
)

// p99 returns the 99th percentile of the total latency in nanoseconds.
func p99(of *result.Measurement) (ns float64, ok bool) {
	n, ok := hist.Percentile(of.Latency(result.Total).Bins, 99)
	return float64(n), ok
}

// Compared is a scheduler beside the first one, over all rounds.
type Compared struct {
	Scheduler string
	Rates     []float64    // operations a second of all pods, by round
	Ratio     stats.Paired // to the first, by round; not of the first
	P99       map[string][]float64
	// Least and P99s are how many pods had a limit, and Missed how many did not keep it, over all rounds.
	Least, LeastMissed, P99s, P99Missed int
	Pods, Waiting                       int
}

// Compare compares schedulers with the first one, and returns them in their order. Rounds that not all of them had are
// left out.
func Compare(schedulers []string, turns []Turn) (all []Compared) {
	had := map[int]int{}
	for _, t := range turns {
		had[t.Round]++
	}
	for _, s := range schedulers {
		c := Compared{Scheduler: s, P99: map[string][]float64{}}
		for _, t := range turns {
			if t.Scheduler == s && had[t.Round] == len(schedulers) {
				c.add(t)
			}
		}
		if len(all) > 0 {
			c.Ratio, _ = stats.PairedRatio(c.Rates, all[0].Rates)
		}
		all = append(all, c)
	}
	return all
}

func (c *Compared) add(t Turn) {
	rate, byJob := 0.0, map[string][]*result.Measurement{}
	c.Waiting += t.Waiting
	c.Pods += len(t.Pods) + t.Waiting
	for _, pod := range t.Pods {
		rate += pod.Rate
		byJob[pod.Job] = append(byJob[pod.Job], pod.measured)
		for _, is := range []struct {
			is bool
			to *int
		}{{pod.HasLeast, &c.Least}, {pod.LeastMissed, &c.LeastMissed}, {pod.HasP99, &c.P99s}, {pod.P99Missed, &c.P99Missed}} {
			if is.is {
				*is.to++
			}
		}
	}
	c.Rates = append(c.Rates, rate)
	for job, measured := range byJob {
		together := result.Together(measured...)
		if ns, ok := p99(&together); ok {
			c.P99[job] = append(c.P99[job], ns)
		}
	}
}

// broken returns how many limits were not kept, of how many.
func (c *Compared) broken() (missed, limits int) {
	return c.LeastMissed + c.P99Missed, c.Least + c.P99s
}

// PlacedAnswer says by which scheduler pods did more, and kept their limits.
func PlacedAnswer(p *Placing, turns []Turn) report.Answer {
	compared := Compare(p.Schedulers, turns)
	a := report.Answer{
		Kind: "pods placed by " + plural.And(p.Schedulers), Title: "What the same pods do where each scheduler places them",
		Meta: []string{p.ID, "measured, in " + plural.Count(len(compared[0].Rates), "round") + " that all had"},
	}
	var sentences []string
	for i := range compared {
		scheduler := &compared[i]
		missed, limits := scheduler.broken()
		sentence := scheduler.Scheduler
		if i > 0 && scheduler.Ratio.Pairs > 0 {
			sentence += fmt.Sprintf(": %.2fx the operations a second of %s", scheduler.Ratio.Ratio, compared[0].Scheduler)
			if !math.IsNaN(scheduler.Ratio.Low) {
				sentence += fmt.Sprintf(" (%.2f to %.2f)", scheduler.Ratio.Low, scheduler.Ratio.High)
			}
			sentence += ","
		}
		sentences = append(sentences, fmt.Sprintf("%s missed %d of %s.", sentence, missed, plural.Count(limits, "limit")))
	}
	slices.Reverse(sentences[1:])
	a.Verdict = strings.Join(append(sentences[1:], sentences[0]), " ")
	if len(compared[0].Rates) == 0 {
		a.Verdict = "No round ended: there is no comparison."
	}
	a.Sections = []*section.Section{comparedSection(p, compared), turnsSection(turns)}
	return a
}

func comparedSection(p *Placing, compared []Compared) *section.Section {
	table := section.Table{
		Caption: "medians over rounds",
		Columns: []section.Column{
			{Head: "scheduler", Text: true}, {Head: "ops/s", Means: "of all pods together"},
			{Head: "least to most", Means: "ops/s of the rounds"},
			{Head: "beside " + p.Schedulers[0], Means: "ops/s, paired within rounds"}, {Head: "95% interval"},
		},
	}
	for i := range p.Jobs {
		table.Columns = append(table.Columns, section.Column{Head: "p99 of " + p.Jobs[i].Name,
			Means: "of the merged histograms of its pods"})
	}
	table.Columns = append(table.Columns, section.Column{Head: "throughput missed"}, section.Column{Head: "p99 missed"},
		section.Column{Head: "found no node"})
	for i, scheduler := range compared {
		if len(scheduler.Rates) == 0 {
			continue
		}
		ratio, interval := section.Cell{}, section.Cell{}
		if i > 0 {
			ratio = section.Times.Positive(scheduler.Ratio.Ratio)
			if !math.IsNaN(scheduler.Ratio.Low) {
				interval = section.Times.Between(scheduler.Ratio.Low, scheduler.Ratio.High)
			}
		}
		cells := []section.Cell{section.Text(scheduler.Scheduler), section.Count.Cell(stats.Median(scheduler.Rates)),
			section.Count.Between(slices.Min(scheduler.Rates), slices.Max(scheduler.Rates)), ratio, interval}
		for j := range p.Jobs {
			p99s := scheduler.P99[p.Jobs[j].Name]
			if len(p99s) == 0 {
				cells = append(cells, section.Cell{})
				continue
			}
			cells = append(cells, section.Latency.Cell(stats.Median(p99s)))
		}
		missed, _ := scheduler.broken()
		table.Rows = append(table.Rows, section.Row{Warn: missed+scheduler.Waiting > 0, Cells: append(cells,
			section.Text(fmt.Sprintf("%d of %d", scheduler.LeastMissed, scheduler.Least)),
			section.Text(fmt.Sprintf("%d of %d", scheduler.P99Missed, scheduler.P99s)),
			section.Text(fmt.Sprintf("%d of %d", scheduler.Waiting, scheduler.Pods)))})
	}
	return &section.Section{Title: "Schedulers", Tables: []section.Table{table.Known()}}
}

// turnsSection has where pods stood in each turn.
func turnsSection(turns []Turn) *section.Section {
	t := section.Table{Columns: section.Columns(2, "turn", "where pods stood", "together")}
	t.Columns[2].Means = "share of the time of measurement in which all pods were measured"
	for _, turn := range turns {
		_, where, _ := strings.Cut(turn.String(), ": ")
		t.Rows = append(t.Rows, section.Row{Warn: turn.Overlap > 0 && turn.Overlap < leastWindow, Cells: []section.Cell{
			section.Text(fmt.Sprintf("%d, %s", turn.Round, turn.Scheduler)), section.Text(where),
			section.Share.Positive(turn.Overlap),
		}})
	}
	return &section.Section{Title: "Turns", Tables: []section.Table{t}}
}
