package experiment

import (
	"strings"
	"testing"
	"time"
)

// Of two load lines the one that takes less is decided; once trials are known to be dear, none is.
func TestWhatABudgetDecides(t *testing.T) {
	text := `
name: two
question: How many?
runtime: 10s
ramp: 0s
trials: 1
factors: {n: [1, 2, 3]}
stacks: {a: tmpfs(size=640MiB)}
workloads: {A: {fio: {rw: randread, size: 8MiB}}, D: {fio: {rw: randwrite, size: 8MiB}}}
mixes:
  A-$n: {servers: {workload: A, count: $n}}
  D-$n: {servers: {workload: D, count: $n}}
host: {cpus: 1, memory: 100MiB}
`
	dear := map[[2]string]time.Duration{{"a", "A-1"}: time.Minute, {"a", "A-2"}: time.Minute, {"a", "A-3"}: time.Minute}
	for _, c := range []struct {
		budget   time.Duration
		overhead map[[2]string]time.Duration
		want     string
	}{
		{0, nil, ""},
		{time.Hour, nil, "1h may decide the load line of A and the load line of D: about "},
		{10 * time.Minute, dear, "10m may decide the load line of D; the load line of A takes 6m more"},
		{30 * time.Second, dear, "30s may decide nothing: the load line of D takes "},
		{time.Minute, dear, "1m may decide nothing: the load line of D takes "},
	} {
		e := parsed(t, text)
		e.Budget = c.budget
		if got := e.Reach(e.Questions(c.overhead)); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.budget, got, c.want)
		}
	}
}

// Workloads that share the setups of a stack pay for them once.
func TestQuestionsShareSetups(t *testing.T) {
	e := parsed(t, `
name: shared
question: Which?
runtime: 1s
ramp: 0s
stacks: {a: loop(size=1GiB) > xfs > volume, b: loop(size=1GiB) > ext4 > volume}
workloads:
  A: {fio: {rw: randread, size: 8MiB}}
  B: {fio: {rw: randwrite, size: 8MiB}}
  C: {fio: {rw: randrw, size: 8MiB}}
`)
	e.Budget = time.Hour
	questions := e.Questions(nil)
	if len(questions) != 3 {
		t.Fatalf("%+v", questions)
	}
	alone := seconds(questions[0].Seconds + questions[1].Seconds + questions[2].Seconds)
	setups := 2 * enoughRepeats * 2 * setupCost(e.Stacks[0].Line) // two stacks, two workloads that find it set up
	if got := questions[2].together; got > alone-setups/2 || got <= seconds(questions[2].Seconds) {
		t.Errorf("three together take %s, each alone %s", got, alone)
	}
	e.Budget = questions[2].together + Undo(e)
	want := "may do 4 rounds, the fewest that decide anything, of A, B and C: about "
	if got := e.Reach(e.Questions(nil)); !strings.Contains(got, want) {
		t.Error(got)
	}
}
