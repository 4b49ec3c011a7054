package runview

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Rates that have nothing to do with each other are compared without an end that is no number.
func TestWhatIsHardlyKnownHasNoEnds(t *testing.T) {
	run := &result.Run{}
	for stack, rates := range map[string][]float64{
		"a": {1, 1e300, 1e-300, 1e250}, "b": {1e-300, 1, 1e300, 1e-200}, "c": {1, 2, 3, 4},
	} {
		run.Stacks = append(run.Stacks, result.Stack{Name: stack})
		for i, rate := range rates {
			m := &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read, Count: 1, Rate: rate}}}
			run.Trials = append(run.Trials, result.Trial{Stack: stack, Mix: "w", Block: i + 1, BringUp: i + 1,
				Status: result.TrialDone, Instances: result.One(m)})
		}
	}
	v := New(run)
	a, b := v.Cell("a", "w"), v.Cell("b", "w")
	e, _ := v.Compare(a, b)
	if _, err := json.Marshal(e); err != nil || e.HasInterval() {
		t.Errorf("%+v: %v", e, err)
	}
	if r, ok := v.Range(a, b, stats.Alpha); ok {
		t.Errorf("the ratio is known: %+v", r)
	}
	if bounds, ok := v.Best(v.Under("w"), stats.Alpha); ok {
		t.Errorf("the best is known: %+v", bounds)
	}
}
