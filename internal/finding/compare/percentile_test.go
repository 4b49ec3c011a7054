package compare

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// A percentile of too few operations is not compared, however far apart it seems, and a note says why.
func TestPercentilesOfTooFewOperations(t *testing.T) {
	run := func(rate, p99 string) string { // trials last ten seconds
		return "stack disk: loop > xfs\nworkload w randread\ninstances w disk x2" + strings.Repeat(" "+rate, 8) +
			" mean=500000 p99=" + p99 + "\n"
	}
	for _, c := range []struct {
		rate, note string
		rows       int // of p99.9 with numbers
	}{
		{"1000", "", 1},
		{"999", "p99.9 latency is not known at 1 point: too few I/Os, as it takes 10,000 in each setup", 0},
	} {
		a, b := runtest.Tell(t, run(c.rate, "2000000")), runtest.Tell(t, run(c.rate, "9000000"))
		got := Runs(a, b, Options{Metrics: []string{runview.P999.ID, runview.P99.ID}, Threshold: 0.05, Alpha: 0.05})
		regressions := 0
		for _, r := range got.Rows {
			if r.Metric == runview.P999.ID && r.Verdict == Regression && r.A.N == 8 {
				regressions++
			}
			if r.Metric == runview.P999.ID && c.rows == 0 && (r.Ratio != nil || r.A.N+r.B.N > 0 || r.Verdict != TooFew) {
				t.Errorf("with %s a second, p99.9 is compared: %+v", c.rate, r)
			}
			if r.Metric == runview.P99.ID && r.Verdict != Regression {
				t.Errorf("with %s a second, p99 is %s", c.rate, r.Verdict)
			}
		}
		noted := slices.ContainsFunc(got.Notes, func(n string) bool { return strings.HasPrefix(n, "p99.9 latency is not known") })
		if regressions != c.rows || noted != (c.note != "") || noted && !slices.Contains(got.Notes, c.note) {
			t.Errorf("with %s a second: %d regressions, notes %q", c.rate, regressions, got.Notes)
		}
	}
}
