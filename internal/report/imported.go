package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/runview"
)

// otherLatency is a line of latency percentiles of a stack whose total
// latency has no histogram: imported results often know another latency, or
// only what fio or another benchmark printed. What was printed is of one trial and
// one direction, and stays so.
type otherLatency struct {
	Stack, Workload string
	Latency         string // "completion latency of reads"
	Source          string // where its percentiles are from
	Mean            string // "" when not known, as the others
	P50, P95        string
	P99, P999       string
}

// otherLatencies gives them in the order of workloads and stacks.
func otherLatencies(run *result.Run) []otherLatency {
	if len(run.Imported) == 0 {
		return nil
	}
	var latencies []otherLatency
	cells := runview.Of(run)
	for _, p := range cells.Points() {
		for _, l := range latenciesOf(cells.Done(p)) {
			l.Stack, l.Workload = p.Stack, p.Mix
			latencies = append(latencies, l)
		}
	}
	return latencies
}

// latenciesOf gives the lines of trials of one stack and workload: merged
// where there are histograms, each for itself where fio printed percentiles.
func latenciesOf(trials []*result.Trial) []otherLatency {
	var lines []otherLatency
	for _, d := range []struct {
		name, operation, program string
	}{{"reads", result.Read, "fio"}, {"writes", result.Write, "fio"}, {"operations", points.Operation, "a benchmark"}} {
		histogram := func(stage result.Stage) (merged hist.Histogram, n int) {
			for _, t := range trials {
				if l := t.Measured().Operation(d.operation).Latency[stage]; !l.Bins.IsEmpty() {
					merged, n = hist.Merge(merged, l), n+1
				}
			}
			return merged, n
		}
		if _, n := histogram(result.Total); n > 0 {
			continue // it is in the tables
		}
		if merged, n := histogram(result.Completion); n > 0 {
			percentile := func(p float64) string {
				ns, _ := hist.Percentile(merged.Bins, p)
				return latencyText(float64(ns))
			}
			lines = append(lines, otherLatency{
				Latency: "completion latency of " + d.name, Source: "histogram of " + counted(n, "trial"),
				P50: percentile(50), P95: percentile(95), P99: percentile(99), P999: percentile(99.9),
			})
			continue
		}
		for _, t := range trials {
			for _, l := range []struct {
				name string
				hist.Histogram
			}{
				{"total", t.Measured().Operation(d.operation).Latency[result.Total]},
				{"completion", t.Measured().Operation(d.operation).Latency[result.Completion]},
			} {
				if len(l.Printed) == 0 && (d.operation != points.Operation || l.Count == 0) {
					continue
				}
				lines = append(lines, otherLatency{
					Latency: l.name + " latency of " + d.name, Source: fmt.Sprintf("printed by %s, trial %d", d.program, t.Seq),
					Mean: printedMean(l.Histogram), P50: printed(l.Printed, 50), P95: printed(l.Printed, 95),
					P99: printed(l.Printed, 99), P999: printed(l.Printed, 99.9),
				})
				break
			}
		}
	}
	return lines
}

// printedMean is the mean of what was printed, or "".
func printedMean(h hist.Histogram) string {
	if h.Count == 0 || !(h.MeanNS > 0) {
		return ""
	}
	return latencyText(h.MeanNS)
}

// printed is a percentile that was printed, or "".
func printed(quantiles []hist.Quantile, percent float64) string {
	for _, q := range quantiles {
		if q.Percent == percent {
			return latencyText(float64(q.NS))
		}
	}
	return ""
}

// manyLatencies is how many lines of other latencies a terminal shows of a
// workload.
const manyLatencies = 12

// otherLatencies prints those of a workload below its table.
func (t *terminal) otherLatencies(workload string) {
	lines := slices.DeleteFunc(otherLatencies(t.run), func(l otherLatency) bool { return l.Workload != workload })
	for i, l := range lines {
		if i == manyLatencies {
			t.text("  - ", "    ", fmt.Sprintf("%d more in the report, and in plimsoll export", len(lines)-i), t.style.dim)
			break
		}
		var words []string
		for _, p := range []struct{ name, text string }{{"p50", l.P50}, {"p95", l.P95}, {"p99", l.P99}, {"p99.9", l.P999},
			{"mean", l.Mean}} {
			if p.text != "" {
				words = append(words, p.name+" "+p.text)
			}
		}
		t.text("  - ", "    ", fmt.Sprintf("%s, %s: %s (%s)", l.Stack, l.Latency, strings.Join(words, ", "), l.Source),
			t.style.plain)
	}
}
