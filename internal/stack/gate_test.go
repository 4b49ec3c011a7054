package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/testkit/hosttest"
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
	const reads = "date +%s%N; cat JOB; date +%s%N"
	steps := []*workload.Step{step(reads), step("sleep 0.6; " + reads), step("exit 3"), step("sleep 0.3; exit 4")}
	gate, outs := NewGate(len(steps)), make([]string, len(steps))
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
	times := func(i int) (there, began int64) {
		if _, err := fmt.Sscanf(outs[i], "%d\ngo\n%d\n", &there, &began); err != nil {
			t.Fatalf("step %d says %q: %v", i, outs[i], err)
		}
		return there, began
	}
	first, firstBegan := times(0)
	second, secondBegan := times(1)
	if last := max(first, second); firstBegan < last || secondBegan < last {
		t.Errorf("the first was there at %d and began at %d, the second at %d and %d", first, firstBegan, second, secondBegan)
	}
}
