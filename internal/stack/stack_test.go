package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// newEnv gives what stacks are made with. At its end the journal must hold
// nothing: what was made was taken down.
func newEnv(t *testing.T) *Env {
	t.Helper()
	state := t.TempDir()
	j, err := journal.Create(state, "test")
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{
		Journal: j, RunID: "test", Work: journal.WorkDir(state, "test"), Scratch: filepath.Join(state, "scratch"),
		Programs: []string{"fio"}, Host: hostinfo.New(),
	}
	for _, dir := range []string{e.Work, e.Scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := e.Release(context.Background()); err != nil {
			t.Error(err)
		}
		for _, p := range j.Pending() {
			t.Errorf("left to undo: %s", p.Change.What())
		}
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
		left, _ := os.ReadDir(e.Work)
		for _, f := range left {
			// The image is kept for the engines of other stacks; the runner
			// removes the work directory.
			if !strings.HasPrefix(f.Name(), "image-") {
				t.Errorf("left in the work directory: %s", f.Name())
			}
		}
	})
	return e
}

// isProblem reports whether err is a problem of that kind, with these words in its
// reason and in its remedy, which it has.
func isProblem(err error, kind problem.Kind, why, remedy string) bool {
	p := problem.Of(err, kind)
	return p != nil && p.Why != "" && strings.Contains(p.Why, why) && p.Remedy != "" && strings.Contains(p.Remedy, remedy)
}

func parse(t *testing.T, text string) line.Line {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if problems := Catalog().Check(l); len(problems) > 0 {
		t.Fatal(problems)
	}
	return l
}

// up brings a stack up for the length of a test.
func up(t *testing.T, e *Env, text string) *Place {
	t.Helper()
	l := parse(t, text)
	if err := e.Check(t.Context(), l, 1<<20); err != nil {
		t.Fatal(err)
	}
	s, err := e.upAlone(t.Context(), "s", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.base.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// upAlone brings a stack up with one place.
func (e *Env) upAlone(ctx context.Context, name string, l line.Line) (*Place, error) {
	base, err := e.Up(ctx, name, l)
	if err != nil {
		return nil, err
	}
	p, err := base.Place(ctx, PlaceConfig{})
	if err != nil {
		return nil, errors.Join(err, base.Down(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func (s *Place) factNamed(name string) string {
	facts := slices.Concat(s.base.Facts, s.Facts)
	i := slices.IndexFunc(facts, func(f result.Fact) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return facts[i].Value
}

func TestStacks(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		line string
		fact string // name=substring that was read back
		raw  bool
		in   bool // in a container
	}{
		{line: "loop(size=64MiB)", fact: "loop direct-io=on", raw: true},
		{line: "loop(size=64MiB, direct-io=off)", fact: "loop direct-io=off", raw: true},
		{line: "loop(size=64MiB) > scheduler:bfq", fact: "I/O scheduler set=bfq on loop", raw: true},
		{line: "loop(size=64MiB) > scheduler:mq-deadline > ext4", fact: "I/O scheduler set=mq-deadline on loop"},
		{line: "loop(size=64MiB) > ext4", fact: "mount options=rw"},
		{line: `loop(size=64MiB) > ext4(mkfs="-b 1024", mount="noatime,dioread_lock")`, fact: "mount options=noatime"},
		{line: "loop(size=320MiB) > xfs", fact: "file system=xfs"},
		{line: "loop(size=160MiB) > btrfs", fact: "file system=btrfs"},
		{line: "loop(size=160MiB) > btrfs(nodatacow)", fact: "copy-on-write=off"},
		{line: "tmpfs(size=64MiB)", fact: "mount options=size=65536k"},
		{line: "loop(size=512MiB) > ext4 > volume", fact: "storage driver=overlay2", in: true},
		{line: "loop(size=512MiB) > ext4 > volume(driver=vfs)", fact: "storage driver=vfs", in: true},
		{line: "loop(size=512MiB) > xfs > overlay2", fact: "storage driver=overlay2", in: true},
		{line: "loop(size=512MiB) > ext4 > overlayfs", fact: "overlayfs options=rw", in: true},
		{line: "loop(size=512MiB) > xfs > overlayfs(volatile)", fact: "overlayfs options=volatile", in: true},
		{line: "loop(size=512MiB) > btrfs > btrfs", fact: "storage driver=btrfs", in: true},
		{line: "loop(size=768MiB) > ext4 > vfs", fact: "storage driver=vfs", in: true},
		{line: "loop(size=512MiB) > ext4 > fuse-overlayfs", fact: "storage driver=fuse-overlayfs", in: true},
	} {
		t.Run(test.line, func(t *testing.T) {
			e := newEnv(t)
			s := up(t, e, test.line)
			name, want, _ := strings.Cut(test.fact, "=")
			if got := s.factNamed(name); !strings.Contains(got, want) {
				t.Errorf("%s: read back %q, want %q in it; all: %v", name, got, want, slices.Concat(s.base.Facts, s.Facts))
			}
			if s.Target.Block != test.raw || s.Target.Container != test.in {
				t.Errorf("target %+v", s.Target)
			}
			if s.Target.SizeBytes < 32<<20 {
				t.Errorf("target has only %d bytes", s.Target.SizeBytes)
			}
			tmpfs := strings.HasPrefix(test.line, "tmpfs")
			if tmpfs != (len(s.Devices) == 0) {
				t.Errorf("devices: %v", s.Devices)
			}
			if !tmpfs && (s.Devices[0].Role != "top" || !strings.HasPrefix(s.Devices[0].Name, "loop") || s.Devices[len(s.Devices)-1].Role != "bottom") {
				t.Errorf("devices: %v", s.Devices)
			}
			writeThere(t, e, s)
		})
	}
}

// writeThere runs a step that writes to the stack and leaves an output.
func writeThere(t *testing.T, e *Env, s *Place) {
	t.Helper()
	target := "--directory=" + s.Target.Path
	if s.Target.Block {
		target = "--filename=" + s.Target.Path
	}
	step := &workload.Step{
		Argv: []string{"fio", "--name=x", "--rw=write", "--bs=64k", "--size=4m", "--direct=1", target,
			"--output=" + workload.ScratchDir + "/out", "--output-format=terse"},
		Outputs: []string{"out"},
	}
	outputs, exit, err := s.Run(t.Context(), step, filepath.Join(e.Scratch, "1"), nil)
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v", exit, err)
	}
	if !strings.Contains(string(outputs["out"]), ";fio-3") {
		t.Errorf("output: %q", outputs["out"])
	}
	if err := s.base.Flush(); err != nil {
		t.Error(err)
	}
}

func TestDirNeedsNothingAndLeavesNothing(t *testing.T) {
	e := newEnv(t)
	dir := t.TempDir()
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	s := up(t, e, "dir:"+dir)
	if !strings.HasPrefix(s.Target.Path, dir+"/") {
		t.Errorf("target %+v", s.Target)
	}
	writeThere(t, e, s)
}

// On a disk whose blocks have 4 KiB, a loop device has such blocks, too: with smaller ones, I/O goes through the page
// cache.
func TestALoopDeviceOnADiskOf4KiBBlocks(t *testing.T) {
	hosttest.Exclusive(t)
	for _, mkfs := range []string{"mkfs.ext4 -q -F", "mkfs.xfs -q"} {
		t.Run(mkfs, func(t *testing.T) {
			dir := t.TempDir()
			disk, mount := filepath.Join(dir, "disk"), filepath.Join(dir, "mount")
			run := func(program string, args ...string) string {
				t.Helper()
				out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s %q: %v: %s", program, args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			err := errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 512<<20), os.Mkdir(mount, 0o700))
			if err != nil {
				t.Fatal(err)
			}
			device := run("losetup", "--find", "--show", "--sector-size", "4096", disk)
			t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() }) //nolint:noctx // short
			words := strings.Fields(mkfs)
			run(words[0], append(words[1:], device)...)
			run("mount", device, mount)
			t.Cleanup(func() { _ = exec.Command("umount", mount).Run() }) //nolint:noctx // short

			e := newEnv(t)
			s := up(t, e, "loop(size=64MiB, dir="+mount+") > ext4")
			if got := s.factNamed("loop direct-io"); got != "on" {
				t.Errorf("direct I/O: %q", got)
			}
			if got := s.factNamed("loop block size"); !strings.HasPrefix(got, "4096 bytes") {
				t.Errorf("block size: %q", got)
			}
			writeThere(t, e, s)
		})
	}
}

func TestManyLoopDevicesAtOnce(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	seen := map[string]bool{}
	for i := range 12 { // more than there are device nodes at boot
		s, err := e.upAlone(t.Context(), "s"+string(rune('a'+i)), parse(t, "loop(size=1MiB)"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.base.Down(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if seen[s.base.block] {
			t.Errorf("%s was given twice", s.base.block)
		}
		seen[s.base.block] = true
	}
}

func TestHostsThatCannot(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct{ line, why string }{
		// What the engine itself says.
		{"loop(size=160MiB) > ext4 > btrfs", "wrong filesystem"},
		{"loop(size=160MiB) > ext4 > devicemapper", "not supported"},
		{"loop(size=160MiB) > ext4 > aufs", "not supported"},
		{"loop(size=160MiB) > ext4 > volume(driver=aufs)", "not supported"},
		{"loop(size=160MiB) > ext4 > zfs", "wrong filesystem"},
	} {
		t.Run(test.line, func(t *testing.T) {
			e := newEnv(t)
			_, err := e.upAlone(t.Context(), "s", parse(t, test.line))
			if !isProblem(err, problem.Unsupported, test.why, "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUpFailsWithItsReasonAndLeavesNothing(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct{ line, says string }{
		{`loop(size=64MiB) > ext4(mount="data=journal,dax=always")`, "dax=always"},
		{`loop(size=64MiB) > ext4(mkfs="-b 7")`, "mkfs.ext4"},
		{`loop(size=320MiB) > xfs(mkfs="-d size=16m")`, "mkfs.xfs"},
		{"loop(size=900TiB)", "free"},
		{`loop(size=64MiB) > ext4(mkfs="-N 16") > overlay2`, "no space"}, // for files
	} {
		t.Run(test.line, func(t *testing.T) {
			e := newEnv(t)
			s, err := e.upAlone(t.Context(), "s", parse(t, test.line))
			if err == nil {
				t.Error("it came up", s.base.Down(t.Context()))
			} else if !strings.Contains(strings.ToLower(err.Error()), test.says) {
				t.Errorf("it does not say %q: %v", test.says, err)
			}
		})
	}
}

func TestCancelEndsAStepAtOnce(t *testing.T) {
	hosttest.Exclusive(t)
	for _, text := range []string{"tmpfs(size=16MiB)", "loop(size=512MiB) > ext4 > volume"} {
		t.Run(text, func(t *testing.T) {
			e := newEnv(t)
			s := up(t, e, text)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			step := &workload.Step{Argv: []string{"fio", "--name=x", "--ioengine=null", "--size=1m", "--time_based", "--runtime=3600",
				"--output=" + workload.ScratchDir + "/out"}}
			_, _, err := s.Run(ctx, step, filepath.Join(e.Scratch, "1"), nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}
