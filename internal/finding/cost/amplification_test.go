package cost

import (
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Where a trace tells of no device, all that is known is what the application made of its I/Os.
func TestTracesWithoutDevices(t *testing.T) {
	a := &Amplified{Direction: "reads", Charged: &Charged{
		All: fact.Estimate{N: 1, Median: 1.5}, AllBytes: fact.Estimate{N: 1, Median: 2.5},
		Own: fact.Estimate{N: 1, Median: 1.5}, OwnBytes: fact.Estimate{N: 1, Median: 2.5},
	}}
	c := &runview.Cell{Stack: &runview.Stack{Stack: result.Stack{Name: "raw"}}, Workload: result.Workload{Name: "RR"}}
	const title = "raw makes its device read 1.50x as often and 2.5x as much as fio does: RR"
	const why = "Traced: 1.50x as many reads as the application's, and 2.5x as many bytes, all charged to it."
	if got := a.title(c, nil, 1.5, 2.5); got != title {
		t.Errorf("%q, want %q", got, title)
	}
	if got := a.why(); got != why {
		t.Errorf("%q, want %q", got, why)
	}
}
