package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
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

// holding returns the directories of a driver's data-root that have a file in their part of the container's root.
func holding(t *testing.T, p *Place, file string) []string {
	t.Helper()
	driver := p.base.engine.docker.Driver
	found, err := filepath.Glob(filepath.Join(engineRoot(p.base.dir), driver, "*", "diff", file))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimSuffix(found[i], file)
	}
	return found
}

// overlay returns the directories that the kernel has for the container's root: the writable one, and those below it.
func overlay(t *testing.T, p *Place) (upper string, lower []string) {
	t.Helper()
	in, ok := p.execute.(*containerExecutor)
	if !ok {
		t.Fatal("the place has no container")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", in.container.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) < 5 || f[4] != "/" {
			continue
		}
		for option := range strings.SplitSeq(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), ",") {
			key, value, _ := strings.Cut(option, "=")
			switch key {
			case "upperdir":
				upper = value
			case "lowerdir":
				lower = strings.Split(value, ":")
			}
		}
	}
	return upper, lower
}

// has returns those of some directories that have a file. Directories may be links, and relative to the driver's.
func has(t *testing.T, p *Place, dirs []string, file string) (having []string) {
	t.Helper()
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(engineRoot(p.base.dir), p.base.engine.docker.Driver, dir)
		}
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			having = append(having, dir)
		}
	}
	return having
}

// Files that were written before a commit are in the new container, in a layer below its writable one. Reading leaves
// them there; the first write to a file copies all of it up, and the lower layer keeps what it had.
func TestCommittedFiles(t *testing.T) {
	hosttest.Exclusive(t)
	for _, l := range []string{"loop(size=640MiB) > ext4 > overlay2(committed=2)",
		"loop(size=640MiB) > ext4 > fuse-overlayfs(committed=1)"} {
		t.Run(l, func(t *testing.T) {
			e := newEnv(t)
			_, made := places(t, e, l, 1, PlaceConfig{Limits: true})
			p := made[0]
			steps := 0
			fio := func(argv ...string) {
				t.Helper()
				steps++
				scratch := filepath.Join(e.Scratch, strconv.Itoa(steps))
				argv = append([]string{"fio", "--name=f", "--directory=" + p.Target.Path, "--size=8M"}, argv...)
				_, exit, err := p.Run(t.Context(), &workload.Step{Argv: argv}, scratch, nil)
				if err != nil || exit.Code != 0 {
					t.Fatalf("%q: %+v, %v", argv, exit, err)
				}
			}
			limits := result.Limits{MemoryBytes: 256 << 20, CPUs: 0.5}
			limited := func() {
				t.Helper()
				if got, err := p.Limit(limits); err != nil || got != limits {
					t.Fatalf("%+v, %v", got, err)
				}
			}
			limited()
			fio("--rw=write", "--end_fsync=1")
			file := filepath.Join(p.Target.Path, "f.0.0")
			before, group := p.name, stepGroup(t, p)
			if err := p.Commit(t.Context()); err != nil {
				if refused := problem.Of(err, problem.Unsupported); refused != nil {
					t.Skip(refused)
				}
				t.Fatal(err)
			}
			if p.name != before || len(p.Facts) == 0 || !strings.Contains(p.Facts[len(p.Facts)-1].Name, "unpacked") {
				t.Errorf("container %s, before %s; facts %v", p.name, before, p.Facts)
			}

			// The new container has none of the old one's limits, and takes them.
			if now := stepGroup(t, p); now == group {
				t.Errorf("steps are in %s, as before", now)
			}
			limited()
			fio("--rw=read", "--allow_file_create=0")
			if got, err := p.ReadBack(); err != nil || got != limits {
				t.Errorf("limits after a step: %+v, %v", got, err)
			}

			below := holding(t, p, file)
			if len(below) != 1 {
				t.Fatalf("%s is in %q", file, below)
			}
			old, err := os.ReadFile(below[0] + file)
			if err != nil || len(old) != 8<<20 {
				t.Fatalf("%d bytes, %v", len(old), err)
			}
			overlay2 := strings.Contains(l, "overlay2")
			if upper, lower := overlay(t, p); overlay2 && (upper == "" || has(t, p, []string{upper}, file) != nil ||
				!slices.Equal(has(t, p, lower, file), below)) {
				t.Errorf("the file is in %q; the kernel has %s above %q", below, upper, lower)
			}
			fio("--rw=write", "--bs=4k", "--number_ios=1", "--randseed=7", "--refill_buffers", "--end_fsync=1")
			both := holding(t, p, file)
			above := slices.DeleteFunc(slices.Clone(both), func(dir string) bool { return dir == below[0] })
			if len(both) != 2 || len(above) != 1 {
				t.Fatalf("after its first write the file is in %q, and was in %q", both, below)
			}
			if upper, _ := overlay(t, p); overlay2 && !slices.Equal(has(t, p, []string{upper}, file), above) {
				t.Errorf("the file is in %q; the kernel writes to %s", above, upper)
			}
			was, errOld := os.ReadFile(below[0] + file)
			is, errNew := os.ReadFile(above[0] + file)
			if err := errors.Join(errOld, errNew); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(was, old) || len(is) != len(old) || bytes.Equal(is[:4096], old[:4096]) ||
				!bytes.Equal(is[4096:], old[4096:]) {
				t.Error("the lower file is not what it was, or the upper one is not that with its first block written")
			}
		})
	}
}

func stepGroup(t *testing.T, p *Place) string {
	t.Helper()
	g, err := p.StepGroup()
	if err != nil {
		t.Fatal(err)
	}
	return g.Path()
}

// Trials of one setup add layers; one that would have more than engines take is refused, and the place stays as it is.
func TestTooManyLayers(t *testing.T) {
	e := newEnv(t)
	p := &Place{base: &Base{env: e, line: parse(t, "loop > ext4 > overlay2(committed=30)")}, commits: 91}
	if err := p.Commit(t.Context()); !isProblem(err, problem.Unsupported, "added 91 layers, 30 more", "trials: 1") {
		t.Errorf("%v", err)
	}
}

// commitKilled commits the files of a place that does so, and has the process kill itself meanwhile if it is to.
func commitKilled(ctx context.Context, p *Place) error {
	in, ok := p.execute.(*containerExecutor)
	if !ok || !p.Committed() {
		return nil
	}
	file := in.container.Inside(filepath.Join(p.Target.Path, "file"))
	if err := os.WriteFile(file, bytes.Repeat([]byte("plimsoll"), 8<<20), 0o600); err != nil {
		return err
	}
	if os.Getenv(journal.CrashVariable) != atCommit {
		return p.Commit(ctx)
	}
	content := filepath.Join(engineRoot(p.base.dir), p.base.engine.docker.Driver)
	before, err := os.ReadDir(content)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Commit(ctx) }()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the commit ended before its layer was seen: %w", err)
		case <-time.After(time.Millisecond):
		}
		now, err := os.ReadDir(content)
		if err != nil {
			return err
		}
		if len(now) > len(before) {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
	}
}

// What a process leaves that is killed while the engine commits, while it replaces the container, or later, goes.
func TestACommitIsUndoneAfterACrashAtAnyStep(t *testing.T) {
	hosttest.Exclusive(t)
	const stack = "loop(size=640MiB) > ext4 > overlay2(committed=1)"
	crashes(t, 1, stack, "*container.containerChange")
	dir := filepath.Join(t.TempDir(), "state")
	before := hosttest.Look()
	setting := asStack + "=" + dir + " 1 " + stack
	// The container that a commit replaces is the change before the last.
	var last string
	for line := range strings.Lines(killed(t, whenUp, setting)) {
		if seq, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "*container.containerChange" {
			last = seq
		}
	}
	cleaned(t, dir, before, whenUp)
	seq, err := strconv.Atoi(last)
	if err != nil {
		t.Fatalf("there is no container: %v", err)
	}
	replaced := strconv.Itoa(seq - 1)
	for _, step := range []string{replaced + ":undo", replaced + ":undone", atCommit} {
		killed(t, step, setting)
		cleaned(t, dir, before, step)
	}
}
