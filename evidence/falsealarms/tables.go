package falsealarms

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// tally counts pairs, and how many of them were called different.
type tally struct {
	pairs, different int
	alone            int // p < 5% of the pair by itself
	trials           int // by the rank test of their trials, as if each stood for itself
}

func (t *tally) add(o tally) {
	t.pairs, t.different, t.alone, t.trials = t.pairs+o.pairs, t.different+o.different, t.alone+o.alone, t.trials+o.trials
}

func share(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(1, of))) }

// writeEqual counts the pairs of copies that are called different.
func writeEqual(w io.Writer, runs []copies) {
	fmt.Fprintln(w, "| copies of | workload | pairs | called different | share, 95% interval | p < 5% alone | by "+
		"ranks of trials |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|")
	var sum tally
	row := func(name, workload string, t tally) {
		low, high := clopperPearson(t.different, t.pairs)
		fmt.Fprintf(w, "| %s | %s | %d | %d | %s (%.1f%% to %.1f%%) | %s | %s |\n", name, workload, t.pairs, t.different,
			share(t.different, t.pairs), 100*low, 100*high, share(t.alone, t.pairs), share(t.trials, t.pairs))
	}
	type key struct{ stack, workload string }
	tallies := map[key]*tally{}
	var order []key
	for _, c := range runs {
		for _, p := range finding.Pairs(c.run) {
			k := key{c.stack, p.Workload}
			if tallies[k] == nil {
				tallies[k] = &tally{}
				order = append(order, k)
			}
			t := tally{pairs: 1}
			if p.Effect.Differs {
				t.different = 1
			}
			if p.Effect.P < stats.Alpha {
				t.alone = 1
			}
			if stats.MannWhitney(rates(c.run, p.Effect.Subject, p.Workload),
				rates(c.run, p.Effect.Baseline, p.Workload)) < stats.Alpha {
				t.trials = 1
			}
			tallies[k].add(t)
			sum.add(t)
		}
	}
	for _, k := range order {
		row(k.stack, k.workload, *tallies[k])
	}
	row("**all**", "", sum)
	fmt.Fprintf(w, "\nSlowest copy against fastest, ratios of means over all trials: ")
	for i, c := range runs {
		if i > 0 {
			fmt.Fprint(w, "; ")
		}
		fmt.Fprintf(w, "%s", c.stack)
		for _, name := range workloadsOf(c.run) {
			fmt.Fprintf(w, " %s %.2f", name, spread(c.run, name))
		}
	}
	fmt.Fprintln(w, ".")
}

func rates(run *result.Run, stack, workload string) (iops []float64) {
	for _, t := range run.Trials {
		if t.Stack == stack && t.Mix == workload {
			iops = append(iops, t.Measured().IOPS())
		}
	}
	return iops
}

func spread(run *result.Run, workload string) float64 {
	var means []float64
	for _, s := range run.Stacks {
		means = append(means, stats.GeometricMean(rates(run, s.Name, workload)))
	}
	return slices.Min(means) / slices.Max(means)
}

// writeParts shows what equal things differed by.
func writeParts(w io.Writer, runs []copies) {
	fmt.Fprintln(w, "| copies of | workload | trials of a setup | setups in a round | rounds | noise floor | "+
		"block takes |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|")
	percent := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", 100**x)
	}
	for _, c := range runs {
		for _, f := range finding.All(c.run) {
			for _, n := range f.Noise {
				floor := "-"
				if n.Control != nil {
					floor = fmt.Sprintf("%.1f%%", 100*math.Abs(n.Control.Ratio-1))
				}
				blocks := c.run.Trials[len(c.run.Trials)-1].Block
				fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", c.stack, n.Workload, percent(n.Within),
					percent(n.Between), percent(n.Blocks),
					floor, (elapsed(c.run) / time.Duration(blocks)).Round(100*time.Millisecond))
			}
		}
	}
}

// slower are the true ratios at which it is counted how often a stack is
// recognised as slower.
var slower = []float64{0.95, 0.9, 0.8, 0.7}

// writeScaled makes one copy slower than it was measured, by a known factor,
// each in turn, and counts how often it is called different from each other,
// with the right sign.
func writeScaled(w io.Writer, runs []copies) {
	fmt.Fprintln(w, "| copies of | workload | slower by | blocks | time of two stacks | recognised | wrong sign |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|")
	for _, c := range runs {
		last := c.run.Trials[len(c.run.Trials)-1].Block
		for _, workload := range workloadsOf(c.run) {
			for _, ratio := range slower {
				for blocks := stats.FewestPairs; blocks <= last; blocks += 2 {
					run := first(c.run, blocks)
					right, wrong, compared := 0, 0, 0
					for _, s := range run.Stacks {
						if s.Control != "" {
							continue
						}
						for _, p := range finding.Pairs(scaled(run, s.Name, ratio)) {
							against := p.Effect.Subject == s.Name || p.Effect.Baseline == s.Name
							if p.Workload != workload || !against {
								continue
							}
							compared++
							switch isSlower := (p.Effect.Ratio < 1) == (p.Effect.Subject == s.Name); {
							case p.Effect.Differs && isSlower:
								right++
							case p.Effect.Differs:
								wrong++
							}
						}
					}
					both := elapsed(run) * 2 / time.Duration(len(run.Stacks))
					fmt.Fprintf(w, "| %s | %s | %.0f%% | %d | %s | %s | %s |\n", c.stack, workload, 100*(1-ratio), blocks,
						both.Round(time.Second), share(right, compared), share(wrong, compared))
				}
			}
		}
	}
}

// scaled is a run in which one stack was slower by a factor.
func scaled(run *result.Run, stack string, ratio float64) *result.Run {
	out := *run
	out.Trials = slices.Clone(run.Trials)
	for i, t := range out.Trials {
		if t.Stack != stack || t.Measured() == nil {
			continue
		}
		m := t.Measured().ScaledRates(ratio)
		out.Trials[i].Instances = result.One(&m)
	}
	return &out
}

// clopperPearson is the exact 95% interval of a share (Clopper and Pearson
// 1934), found by bisection of the binomial distribution.
func clopperPearson(n, total int) (low, high float64) {
	const tail = (1 - stats.Confidence) / 2
	atLeast := func(p float64) float64 { return 1 - binomial(n-1, total, p) }
	atMost := func(p float64) float64 { return binomial(n, total, p) }
	low, high = 0, 1
	if n > 0 {
		low = bisect(func(p float64) bool { return atLeast(p) < tail })
	}
	if n < total {
		high = bisect(func(p float64) bool { return atMost(p) > tail })
	}
	return low, high
}

// bisect returns where a condition that holds from 0 on ceases to hold.
func bisect(holds func(float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		middle := (low + high) / 2
		if holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// binomial is the probability of at most n of so many.
func binomial(n, total int, p float64) (sum float64) {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	for k := 0; k <= n; k++ {
		logs := lgamma(total+1) - lgamma(k+1) - lgamma(total-k+1)
		sum += math.Exp(logs + float64(k)*math.Log(p) + float64(total-k)*math.Log1p(-p))
	}
	return min(1, sum)
}
