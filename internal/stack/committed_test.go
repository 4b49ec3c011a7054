package stack

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

func TestNumbersOfCommits(t *testing.T) {
	for value, ok := range map[string]bool{"1": true, "100": true, "0": false, "101": false, "-1": false, "1.5": false,
		"": false, "1;rm": false, "9999999999999999999999": false} {
		if problems := committed.Check(value); (len(problems) == 0) != ok {
			t.Errorf("%q: %v", value, problems)
		}
	}
}

// Files that were written before a commit are in the new container, below its writable layer, which is empty.
func TestCommittedFiles(t *testing.T) {
	hosttest.Exclusive(t)
	for _, l := range []string{"loop(size=640MiB) > ext4 > overlay2(committed=2)",
		"loop(size=640MiB) > ext4 > fuse-overlayfs(committed=1)"} {
		t.Run(l, func(t *testing.T) {
			e := newEnv(t)
			_, made := places(t, e, l, 1, PlaceConfig{})
			p := made[0]
			steps := 0
			step := func(argv ...string) workload.Exit {
				t.Helper()
				steps++
				scratch := filepath.Join(e.Scratch, strconv.Itoa(steps))
				_, exit, err := p.Run(t.Context(), &workload.Step{Argv: argv}, scratch, nil)
				if err != nil {
					t.Fatal(err)
				}
				return exit
			}
			write := []string{"fio", "--name=f", "--directory=" + p.Target.Path, "--rw=write", "--size=8M", "--end_fsync=1"}
			if exit := step(write...); exit.Code != 0 {
				t.Fatalf("%+v", exit)
			}
			before := p.name
			if err := p.Commit(t.Context()); err != nil {
				if refused := problem.Of(err, problem.Unsupported); refused != nil {
					t.Skip(refused)
				}
				t.Fatal(err)
			}
			read := []string{"fio", "--name=f", "--directory=" + p.Target.Path, "--rw=read", "--size=8M",
				"--allow_file_create=0"}
			if exit := step(read...); exit.Code != 0 {
				t.Errorf("a file that was committed: %+v", exit)
			}
			if p.name != before || len(p.Facts) == 0 || !strings.Contains(p.Facts[len(p.Facts)-1].Name, "unpacked") {
				t.Errorf("container %s, before %s; facts %v", p.name, before, p.Facts)
			}
		})
	}
}
