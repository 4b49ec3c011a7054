package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/trial/site"
	"plimsoll/internal/workload/kinds"
)

type quiet struct{}

func (quiet) Note(string)                  {}
func (quiet) Begin(result.Trial, int, int) {}
func (quiet) End(result.Trial, int, int)   {}

// TestALayoutThatHangsHasALimit: a fio that never comes back from --create_only,
// as some do with io_submit_mode=offload, ends its trial with that reason and not
// the others.
func TestALayoutThatHangsHasALimit(t *testing.T) {
	real, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("needs fio")
	}
	hosttest.Alone(t)
	defer func(was time.Duration) { site.LayoutPatience = was }(site.LayoutPatience)
	site.LayoutPatience = 2 * time.Second
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *create_only*) sleep 36000 ;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "fio"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	text := fmt.Sprintf("name: hangs\nquestion: Does it end?\nrepeat: 1\ntrials: 1\nruntime: 300ms\nstacks: {here: 'dir:%s'}\n"+
		"workloads:\n  H: {fio: {file: hangs.fio}}\n  R: {fio: {rw: randread, size: 1MiB}}\n", dir)
	e, err := experiment.Parse("x.yaml", []byte(text), experiment.Options{
		Catalog: stack.Catalog(), Kinds: kinds.All(),
		Open: func(string) ([]byte, error) {
			return []byte("[h]\nrw=randread\nsize=8m\nioengine=libaio\niodepth=4\nio_submit_mode=offload\n"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), Options{
		Experiment: e, ID: "hangs", Dir: filepath.Join(dir, "run"), State: filepath.Join(dir, "state"), Progress: quiet{}, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range run.Trials {
		switch {
		case trial.Mix == "R" && trial.Status != result.TrialDone:
			t.Errorf("the other workload: %s, %+v", trial.Status, trial.Problem)
		case trial.Mix == "H" && trial.Status != result.TrialFailed:
			t.Errorf("the one that hangs: %s", trial.Status)
		case trial.Mix == "H":
			said := trial.Problem.What + ": " + trial.Problem.Why + ": " + trial.Problem.Remedy
			for _, want := range []string{"laying out the files of H", "had not ended after 4s", "8MiB", "4MiB a second", "io_submit_mode=offload"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in: %s", want, said)
				}
			}
		}
	}
}
