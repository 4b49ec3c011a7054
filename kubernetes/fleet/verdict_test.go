package fleet

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/runtest"
)

// keep stores what a node measured, and returns the node.
func keep(t *testing.T, dir, name, kind, iops, kernel string) Node {
	t.Helper()
	run := runtest.Tell(t, "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw "+iops)
	run.Environment.Kernel, run.Environment.Hostname = kernel, name
	stored(t, dir, name, run)
	return Node{Name: name, Kind: kind, State: Done}
}

func stored(t *testing.T, dir, name string, run *result.Run) {
	t.Helper()
	run.ID = name
	for i := range run.Trials {
		run.Trials[i].Seq = i + 1
	}
	err := store.Keep(t.Context(), filepath.Join(dir, name), *run, func(result.Trial) map[string][]byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// The node that does less than its like is named, with what it has otherwise; the others are
// the same by chance. Kinds are not compared with each other.
func TestTheSlowNodeIsNamed(t *testing.T) {
	dir := t.TempDir()
	r := &Record{ID: "x-1", Experiment: "quick", Namespace: Namespace, Nodes: []Node{
		keep(t, dir, "node-1", "storage", "1000 1010 990 1005 995 1002 998 1001", "6.1"),
		keep(t, dir, "node-17", "storage", "780 785 775 782 779 781 778 780", "5.4"),
		keep(t, dir, "node-2", "storage", "1003 1008 992 1001 999 1004 996 1002", "6.1"),
		keep(t, dir, "other", "small", "100 101 99 102 98 100 101 99", "6.1"),
		{Name: "node-9", Kind: "storage", State: Failed, Reason: "its Job was deleted"},
	}}
	kinds, err := Kinds(r, dir)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer(r, kinds)
	const want = "3 nodes of kind storage measured; beside node-1, node-17 does 22% less (kernel: 6.1 there, 5.4 here). " +
		"1 node of kind small measured. 1 node without results."
	if a.Verdict != want {
		t.Errorf("%s\nnot\n%s", a.Verdict, want)
	}
	var out bytes.Buffer
	if err := report.AnswerText(&out, a, false, report.TerminalOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"node-17", "0.78x", "0.78 to 0.78", "no more than chance", "its Job was deleted"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("%q is not in\n%s", words, out.String())
		}
	}
}

// A fleet of density says how many containers nodes carry.
func TestNodesCarry(t *testing.T) {
	dir := t.TempDir()
	r := &Record{ID: "x-1", Experiment: "density", Namespace: Namespace}
	for _, name := range []string{"a", "b"} {
		stored(t, dir, name, runtest.Density(false))
		r.Nodes = append(r.Nodes, Node{Name: name, State: Done})
	}
	kinds, err := Kinds(r, dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 nodes of kind unknown carry 5; none differs from the others by more than chance."
	if v := Answer(r, kinds).Verdict; v != want {
		t.Error(v)
	}
}

// A curve counts once, as much as its points do; what has no interval takes that of all.
func TestRatio(t *testing.T) {
	row := func(points int, curve string, ratio, half float64) compare.Row {
		low, high := ratio/half, ratio*half
		return compare.Row{Decides: true, Points: points, Curve: curve, Ratio: &ratio, Low: &low, High: &high}
	}
	open := row(0, "", 0.9, 1.2)
	open.Low, open.High = nil, nil
	beside := row(0, "", 9, 1.2)
	beside.Decides = false
	for name, c := range map[string]struct {
		rows           []compare.Row
		want, low, top float64
	}{
		"one":        {[]compare.Row{row(0, "", 0.8, 1.21)}, 0.8, 0.8 / 1.21, 0.8 * 1.21},
		"two":        {[]compare.Row{row(0, "", 0.8, 1.21), row(0, "", 0.8, 1.21)}, 0.8, 0.8 / 1.1443, 0.8 * 1.1443},
		"a curve":    {[]compare.Row{row(3, "", 1, 1.1), row(0, "C", 5, 3), row(0, "", 16, 1)}, 2, 2 / 1.0741, 2 * 1.0741},
		"one open":   {[]compare.Row{row(0, "", 1.6, 1.1), open}, 1.2, 0, 0},
		"one beside": {[]compare.Row{row(0, "", 0.5, 1.1), beside}, 0.5, 0.5 / 1.1, 0.5 * 1.1},
		"nothing":    {[]compare.Row{beside}, 0, 0, 0},
	} {
		r, low, high, _ := ratio(compare.Comparison{Rows: c.rows})
		for i, got := range []float64{r, low, high} {
			if want := []float64{c.want, c.low, c.top}[i]; math.Abs(got-want) > 1e-3 {
				t.Errorf("%s: %v (%v to %v), want %v", name, r, low, high, want)
			}
		}
	}
}
