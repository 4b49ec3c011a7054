package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

func newGroup(t *testing.T) (*Group, func()) {
	t.Helper()
	j, err := journal.Create(t.TempDir(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := New(t.Context(), j, fmt.Sprintf("%stest-%d", Prefix, os.Getpid()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	undone := false
	undo := func() {
		if undone {
			return
		}
		undone = true
		if err := errors.Join(j.UndoAll(t.Context(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(undo)
	return g, undo
}

// A process of a group is in it from the start, and so are its children; we are
// in ours as before, with every thread.
func TestAProcessOfAGroup(t *testing.T) {
	hosttest.Exclusive(t)
	g, undo := newGroup(t)
	threads := func() string {
		out, err := exec.Command("sh", "-c", fmt.Sprintf("cat /proc/%d/task/*/cgroup | sort -u", os.Getpid())).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := threads()
	for range 3 {
		cmd := exec.Command("sh", "-c", "cat /proc/self/cgroup; sh -c 'cat /proc/self/cgroup'; read wait")
		var out strings.Builder
		cmd.Stdout = &out
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Start(cmd); err != nil {
			t.Fatal(err)
		}
		group, err := Of(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		want, err := g.ID()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := group.ID(); err != nil || got != want {
			t.Errorf("the process is charged as %d (%v), want %d", got, err, want)
		}
		_ = in.Close()
		if err := cmd.Wait(); err == nil {
			t.Error("read has read something")
		}
		if n := strings.Count(out.String(), "/"+Prefix); n != 2*len(g.places) {
			t.Errorf("it is in %d groups of ours, with its child, want %d:\n%s", n, 2*len(g.places), &out)
		}
	}
	if after := threads(); after != before {
		t.Errorf("this process was in\n%sand is in\n%s", before, after)
	}
	for _, p := range g.places {
		if _, err := os.Stat(p.dir); err != nil {
			t.Error(err)
		}
	}
	undo()
	for _, p := range g.places {
		if _, err := os.Stat(p.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s stays behind: %v", p.dir, err)
		}
	}
}

// Processor time is that of the group's processes, and nobody else's.
func TestTheTimeOfAGroup(t *testing.T) {
	hosttest.Exclusive(t)
	g, _ := newGroup(t)
	const burn = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`
	before, err := g.CPU()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", burn)
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", burn).Run(); err != nil { // a neighbour
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	after, err := g.CPU()
	if err != nil {
		t.Fatal(err)
	}
	used, says := after-before, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	if used < says-20*time.Millisecond || used > says+says/4+20*time.Millisecond {
		t.Errorf("the group used %v, its process says %v", used, says)
	}
}

// Whoever cannot have a group is told why, and nothing is left of it.
func TestNoGroup(t *testing.T) {
	hosttest.Exclusive(t)
	j, err := journal.Create(t.TempDir(), "none")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // no program can be started in it
	g, made, err := New(t.Context(), j, fmt.Sprintf("%stest-%d", Prefix, os.Getpid()), Options{})
	if err == nil || g != nil || made != nil || !strings.Contains(err.Error(), "start a program") {
		t.Errorf("%v, %v, %v", g, made, err)
	}
	if left := j.Pending(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
