package fleet

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/story"
)

// keep stores what a node measured, and returns the node.
func keep(t *testing.T, dir, name, kind, iops, kernel string) Node {
	t.Helper()
	run := story.Tell(t, "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw "+iops)
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
	err := store.Keep(filepath.Join(dir, name), *run, func(result.Trial) map[string][]byte { return nil })
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
	for _, words := range []string{"node-17", "0.78x", "no more than chance", "its Job was deleted"} {
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
		stored(t, dir, name, story.Density(false))
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
