package runview

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// seen is a run of so many rounds of two stacks, whose verdict was seen after some of them.
func seen(rounds int, looks ...int) *View {
	r := rand.New(rand.NewPCG(1, 1))
	run := &result.Run{Looks: looks}
	for round := 1; round <= rounds; round++ {
		for _, stack := range []string{"a", "b"} {
			rate := 1000 + 30*r.NormFloat64()
			if stack == "b" {
				rate *= 0.97
			}
			m := &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read, Count: 1000, Rate: rate}}}
			run.Trials = append(run.Trials, result.Trial{Stack: stack, Mix: "w", Block: round, BringUp: round,
				Status: result.TrialDone, Instances: result.One(m)})
		}
	}
	return New(run)
}

// Each time that a verdict was seen, the next one is at a lower level, and so are p values and bounds.
func TestLooksArePaidFor(t *testing.T) {
	last, adjusted, high := stats.Alpha, 0.0, 0.0
	for _, looks := range [][]int{nil, {4}, {4, 6, 8}, {4, 6, 8, 9, 10}} {
		v := seen(12, looks...)
		level := v.AtLook(stats.Alpha)
		if !(level < last) {
			t.Errorf("after looks at %v the level is %v, and before that %v", looks, level, last)
		}
		a, b := v.Cell("a", "w"), v.Cell("b", "w")
		e, _ := v.Compare(a, b)
		r, _ := v.Range(a, b, stats.Alpha)
		if e.Adjusted <= adjusted || r.High <= high {
			t.Errorf("after looks at %v, p is %v and the upper end %v", looks, e.Adjusted, r.High)
		}
		last, adjusted, high = level, e.Adjusted, r.High
	}
}

// What is no look costs nothing: before anything is concluded, the same rounds again, and rounds that a file invents.
func TestAttackLooksThatAreNone(t *testing.T) {
	want := seen(12).AtLook(stats.Alpha)
	for _, looks := range [][]int{{1, 2, 3}, {12}, {99, 1 << 40}, {-4, 0}} {
		if got := seen(12, looks...).AtLook(stats.Alpha); got != want {
			t.Errorf("looks at %v: level %v, and %v without them", looks, got, want)
		}
	}
	if got := New(&result.Run{Looks: []int{4}}).AtLook(stats.Alpha); got != stats.Alpha {
		t.Errorf("a run without rounds is tested at %v", got)
	}
}
