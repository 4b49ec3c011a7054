package experiment_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/kinds"
)

// Times of workloads took numbers for seconds, also as levels of factors. A run that was stored then is read as it was
// meant; a file that is read anew needs the unit.
func TestStoredSeconds(t *testing.T) {
	const text = `
name: stored
question: Is it read?
factors: {t: [7, 90s]}
stacks: {a: "loop(size=1GiB) > ext4"}
workloads:
  F-$t: {fio: {rw: randread, size: 64MiB, runtime: $t, ramp: 2, thinktime: 1}}
  Y: {ycsb: {workload: C, records: 1000, think: 3, timeout: "4", runtime: 500ms, ramp: 0}}
`
	options := experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()}
	_, err := experiment.Parse("stored.yaml", []byte(text), options)
	for _, remedy := range []string{"add the unit: 7s", "2s, or 2ms", "1s, or 1ms", "3s, or 3ms", "4s, or 4ms"} {
		if err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("of a new file it does not say %q: %v", remedy, err)
		}
	}
	options.Stored = true
	e, err := experiment.Parse("stored.yaml", []byte(text), options)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []workload.Timing{
		{Runtime: 7 * time.Second, Ramp: 2 * time.Second}, {Runtime: 90 * time.Second, Ramp: 2 * time.Second},
		{Runtime: 500 * time.Millisecond},
	} {
		if got := e.Workloads[i].Timing(workload.Timing{Runtime: time.Hour, Ramp: time.Hour}); got != want {
			t.Errorf("%s takes %+v, want %+v", e.Workloads[i].Name, got, want)
		}
	}
	if info := e.Workloads[2].Info(); !strings.Contains(info.Summary, "3s between operations") ||
		!strings.Contains(info.Declared, "timeout: \"4s\"") {
		t.Errorf("%+v", info)
	}
	first := e.Workloads[0]
	if first.Levels["t"] != "7" || !strings.Contains(first.Info().Summary, "1s between I/Os") {
		t.Errorf("%+v with %v", first.Info(), first.Levels)
	}
}
