package report

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/result/imports/points"
)

// What fio printed is shown of each trial and direction for itself; what has
// a histogram is merged; and where total latency has one, the tables tell it.
func TestOtherLatencies(t *testing.T) {
	printed := func(p50 uint64) hist.Histogram {
		return hist.Histogram{MaxNS: 9000, Printed: []hist.Quantile{{Percent: 50, NS: p50}, {Percent: 99, NS: 3000}}}
	}
	bins := hist.Histogram{Count: 100, MaxNS: 9000, Bins: hist.Pack([]hist.Bin{{NS: 1000, Count: 99},
		{NS: 9000, Count: 1}})}
	run := &result.Run{
		Imported:  []result.InputFile{{Name: "a.json"}},
		Stacks:    []result.Stack{{Name: "s"}},
		Workloads: []result.Workload{{Name: "printed"}, {Name: "histogram"}, {Name: "total"}},
	}
	add := func(workload string, read, write result.Operation) {
		run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Stack: "s", Mix: workload,
			Status: result.TrialDone, Instances: result.One(&result.Measurement{Operations: result.ReadsWrites(read, write)})})
	}
	add("printed", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: printed(1000)}},
		result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: printed(2000)}})
	add("printed", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: printed(5000),
		result.Total: printed(6000)}}, result.Operation{})
	add("histogram", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: bins}},
		result.Operation{})
	add("histogram", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: bins}},
		result.Operation{})
	add("total", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: bins, result.Total: bins}},
		result.Operation{})
	add("told", result.Operation{}, result.Operation{})
	run.Trials[len(run.Trials)-1].Instances = result.One(&result.Measurement{Operations: []result.Operation{{
		Name: points.Operation, Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 5, MeanNS: 2000,
			Printed: []hist.Quantile{{Percent: 95, NS: 7000}}}}}}})
	want := []otherLatency{
		{Stack: "s", Workload: "printed", Latency: "completion latency of reads",
			Source: "printed by fio, trial 1", P50: "1.00 µs", P99: "3.00 µs"},
		{Stack: "s", Workload: "printed", Latency: "total latency of reads",
			Source: "printed by fio, trial 2", P50: "6.00 µs", P99: "3.00 µs"},
		{Stack: "s", Workload: "printed", Latency: "completion latency of writes",
			Source: "printed by fio, trial 1", P50: "2.00 µs", P99: "3.00 µs"},
		{Stack: "s", Workload: "histogram", Latency: "completion latency of reads",
			Source: "histogram of 2 trials", P50: "1.00 µs", P95: "1.00 µs", P99: "1.00 µs", P999: "9.00 µs"},
		{Stack: "s", Workload: "told", Latency: "total latency of operations", Source: "printed by a benchmark, trial 6",
			Mean: "2.00 µs", P95: "7.00 µs"},
	}
	if got := otherLatencies(run); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for range 2 * manyLatencies {
		add("printed", result.Operation{Latency: map[result.Stage]hist.Histogram{result.Completion: printed(1000)}},
			result.Operation{})
	}
	var b strings.Builder
	if err := Terminal(&b, run, nil, TerminalOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if more := fmt.Sprintf("%d more in the report",
		len(otherLatencies(run))-2-manyLatencies); !strings.Contains(b.String(), more) {
		t.Errorf("%q is not in\n%s", more, b.String())
	}
	run.Imported = nil
	if got := otherLatencies(run); got != nil {
		t.Errorf("a run that was measured here has %+v", got)
	}
}
