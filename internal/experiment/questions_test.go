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
		{time.Hour, nil, "1h0m may decide the load line of A and the load line of D: about "},
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
