package stack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/hosttest"
	"plimsoll/internal/workload"
)

// Steps behind a gate begin at the same moment, however long each takes to be there;
// one that never comes holds nobody back, and the files are as without a gate.
func TestAGateOpensForAll(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	dir := t.TempDir()
	p, err := e.upAlone(t.Context(), "s", parse(t, "dir:"+dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.base.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	step := func(shell string) *workload.Step {
		return &workload.Step{
			Argv:  []string{"sh", "-c", "exec > " + workload.ScratchDir + "/out; " + strings.ReplaceAll(shell, "JOB", workload.ScratchDir+"/job")},
			Files: map[string][]byte{"job": []byte("go\n")}, Outputs: []string{"out"}, Gate: "job",
		}
	}
	const reads = "cat JOB; date +%s%N"
	steps := []*workload.Step{step(reads), step("sleep 0.6; " + reads), step("exit 3"), step("sleep 0.3; exit 4")}
	gate, outs := NewGate(len(steps)), make([]string, len(steps))
	began := time.Now()
	var group sync.WaitGroup
	for i, s := range steps {
		group.Go(func() {
			scratch := filepath.Join(e.Scratch, "gate", string(rune('a'+i)))
			outputs, _, err := p.RunBehind(t.Context(), gate, s, scratch, nil)
			if err != nil {
				t.Error(err)
			}
			outs[i] = string(outputs["out"])
			info, err := os.Lstat(filepath.Join(scratch, "job"))
			if err != nil || !info.Mode().IsRegular() || info.Size() != 3 {
				t.Errorf("the job file is %v, %v", info, err)
			}
		})
	}
	group.Wait()
	at := func(i int) time.Time {
		lines := strings.Fields(outs[i])
		if len(lines) != 2 || lines[0] != "go" {
			t.Fatalf("step %d says %q", i, outs[i])
		}
		ns, err := time.ParseDuration(lines[1] + "ns")
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, ns.Nanoseconds())
	}
	if first := at(0).Sub(began); first < 500*time.Millisecond {
		t.Errorf("the first began after %v, before the second was there", first)
	}
	if apart := at(1).Sub(at(0)).Abs(); apart > 200*time.Millisecond {
		t.Errorf("they began %v apart", apart)
	}
}
