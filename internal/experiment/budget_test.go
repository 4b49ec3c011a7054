package experiment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/examples"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/kinds"
)

// builtIn reads an experiment that is built into plimsoll.
func builtIn(t *testing.T, name string) *Experiment {
	t.Helper()
	text, ok := examples.Find(name)
	if !ok {
		t.Fatalf("no experiment %s", name)
	}
	return parsed(t, string(text))
}

// parsed reads an experiment file with the stacks and workloads that there
// really are.
func parsed(t *testing.T, text string) *Experiment {
	t.Helper()
	e, err := Parse("x.yaml", []byte(text), Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A few minutes are enough for each built-in experiment, with time left for
// more trials where they are needed.
func TestFitBuiltInExperiments(t *testing.T) {
	for _, name := range examples.List() {
		t.Run(name, func(t *testing.T) {
			e := builtIn(t, name)
			full := e.Timing
			budget := 3 * time.Minute
			if name == "nvme" { // lays out 8 GiB for each of six stacks, again and again
				budget = 20 * time.Minute
			}
			if err := Fit(e, budget); err != nil {
				t.Fatal(err)
			}
			if takes := Estimate(e) + Undo(e); takes > budget {
				t.Errorf("%d times %s after %s takes %s of %s", e.Repeat, e.Timing.Runtime, e.Timing.Ramp, takes, budget)
			}
			if e.Timing.Runtime > full.Runtime || e.Timing.Ramp > full.Ramp || e.Timing.Runtime < shortest {
				t.Errorf("the file says %v, fitted are %v", full, e.Timing)
			}
			if e.Repeat > enoughRepeats || e.Repeat < 1 || e.Budget != budget {
				t.Errorf("%d trials of each point first, in %s", e.Repeat, e.Budget)
			}
		})
	}
}

// ownTiming is a workload with times of its own.
type ownTiming struct {
	copyWorkload
	timing workload.Timing
}

func (w ownTiming) Timing(workload.Timing) workload.Timing { return w.timing }

func TestFitProperties(t *testing.T) {
	duration := func(least, most time.Duration) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(int64(least), int64(most)),
			func(ns int64) time.Duration { return time.Duration(ns) })
	}
	rapid.Check(t, func(t *rapid.T) {
		e := made(rapid.IntRange(1, 6).Draw(t, "stacks"), rapid.IntRange(1, 4).Draw(t, "workloads"),
			rapid.IntRange(1, 9).Draw(t, "repeat"))
		e.Name = "drawn"
		e.Timing = workload.Timing{
			Runtime: duration(1, time.Hour).Draw(t, "runtime"), Ramp: duration(0, time.Minute).Draw(t, "ramp"),
		}
		if rapid.Bool().Draw(t, "its own time") {
			own := workload.Timing{Runtime: duration(1, time.Minute).Draw(t, "own")}
			e.Workloads[0].Workload = ownTiming{copyWorkload{need: 1 << 20}, own}
		}
		if rapid.Bool().Draw(t, "preconditioned") {
			e.Precondition = Precondition{Passes: 2, Rounds: 25, Round: duration(1, time.Minute).Draw(t, "round")}
		}
		for i := range e.Stacks {
			if rapid.Bool().Draw(t, "on a device") {
				e.Stacks[i].Line.Nodes[0] = line.Node{Name: line.NameDevice, Arg: "/dev/nvme0n1"}
			}
		}
		was, before := *e, e.Timing
		budget := duration(1, 2*time.Hour).Draw(t, "budget")
		err := Fit(e, budget)
		least := was
		least.Repeat = 1
		least.Timing = scaleTiming(before, min(1, float64(shortest)/float64(before.Runtime)))
		possible := Estimate(&least)+Undo(&least) <= budget
		if possible != (err == nil) {
			t.Fatalf("once each takes %s of %s: %v", Estimate(&least)+Undo(&least), budget, err)
		}
		if err != nil {
			if e.Budget != 0 || e.Timing != before || e.Repeat != was.Repeat {
				t.Fatal("changed in spite of the error")
			}
			return
		}
		if takes := Estimate(e) + Undo(e); takes > budget+time.Millisecond { // floating point
			t.Fatalf("takes %s of %s", takes, budget)
		}
		if e.Timing.Runtime > before.Runtime || e.Timing.Ramp > before.Ramp {
			t.Fatalf("%v became %v", before, e.Timing)
		}
		if e.Timing.Runtime <= 0 || e.Repeat < 1 || e.Repeat > enoughRepeats || e.Budget != budget {
			t.Fatalf("%d times %v in %s", e.Repeat, e.Timing, e.Budget)
		}
		// What is left over is not left over for nothing.
		if e.Repeat < enoughRepeats {
			more := *e
			more.Repeat, more.Timing = e.Repeat+1, least.Timing
			if Estimate(&more)+Undo(&more) <= budget {
				t.Fatalf("%d trials of each point would fit, not only %d", more.Repeat, e.Repeat)
			}
		}
	})
}

// Too small a budget is told before anything begins, with what it takes.
func TestFitTellsWhatItTakes(t *testing.T) {
	e := builtIn(t, "quick")
	err := Fit(e, 10*time.Second)
	if err == nil {
		t.Fatal("eight stacks in ten seconds")
	}
	for _, want := range []string{"10s", "quick", "8 stacks", "--size"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	var takes string
	if _, rest, ok := strings.Cut(err.Error(), "takes about "); ok {
		takes, _, _ = strings.Cut(rest, ";")
	}
	enough, parseErr := time.ParseDuration(takes)
	if parseErr != nil {
		t.Fatalf("%v: %v", parseErr, err)
	}
	if err := Fit(e, enough+time.Second); err != nil {
		t.Errorf("it said that %s are enough, but: %v", enough, err)
	}
}

func ExampleFit() {
	e := made(2, 1, 5)
	e.Timing.Runtime = 10 * time.Minute
	_ = Fit(e, 15*time.Minute)
	fmt.Println(e.Repeat, "times", e.Timing.Runtime.Round(time.Second))
	// Output: 4 times 1m1s
}

// Where servers are asked, a budget shortens what is measured before it shortens the time in
// which their caches settle, and then both alike; elsewhere both from the beginning.
func TestABudgetLeavesServersTimeToSettle(t *testing.T) {
	e := builtIn(t, "density")
	full := e.Timing
	if err := Fit(e, 6*time.Minute); err != nil {
		t.Fatal(err)
	}
	if e.Timing.Runtime >= full.Runtime || e.Timing.Ramp < 9*e.Timing.Runtime/10 {
		t.Errorf("of %v, %v are left", full, e.Timing)
	}
	e = builtIn(t, "fio-scaling")
	full = e.Timing
	if err := Fit(e, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	if full.Ramp > 0 && e.Timing.Ramp > 0 {
		before, now := full.Ramp.Seconds()/full.Runtime.Seconds(), e.Timing.Ramp.Seconds()/e.Timing.Runtime.Seconds()
		if before/now > 1.1 || now/before > 1.1 {
			t.Errorf("of %v, %v are left", full, e.Timing)
		}
	}
}
