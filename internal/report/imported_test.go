package report

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
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
	want := []otherLatency{
		{"s", "printed", "completion latency of reads", "printed by fio, trial 1", "1.00 µs", "3.00 µs", ""},
		{"s", "printed", "total latency of reads", "printed by fio, trial 2", "6.00 µs", "3.00 µs", ""},
		{"s", "printed", "completion latency of writes", "printed by fio, trial 1", "2.00 µs", "3.00 µs", ""},
		{"s", "histogram", "completion latency of reads", "histogram of 2 trials", "1.00 µs", "1.00 µs", "9.00 µs"},
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
		len(otherLatencies(run))-1-manyLatencies); !strings.Contains(b.String(), more) {
		t.Errorf("%q is not in\n%s", more, b.String())
	}
	run.Imported = nil
	if got := otherLatencies(run); got != nil {
		t.Errorf("a run that was measured here has %+v", got)
	}
}
