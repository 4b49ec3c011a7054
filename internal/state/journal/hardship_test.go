package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/hosttest"
)

// TestAProcessThatCannotDieIsToldAndEndedLater has a process of the run wait in
// the kernel, where no signal reaches it: it writes to a file system that is
// frozen.
func TestAProcessThatCannotDieIsToldAndEndedLater(t *testing.T) {
	hosttest.Exclusive(t)
	dir := mounted(t, disk(t, 16))
	state := filepath.Join(t.TempDir(), "state")
	j, err := Create(state, "run")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "fsfreeze", "-f", dir)
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			run(t, "fsfreeze", "-u", dir)
		}
	}
	defer thaw()
	var writer *exec.Cmd
	argv := []string{"dd", "if=/dev/zero", "of=" + filepath.Join(dir, "file"), "bs=4k", "count=1", "status=none"}
	e, err := j.Do(t.Context(), &Process{argv}, func(mark string) error {
		writer = exec.Command(argv[0], argv[1:]...)
		writer.Env = append(os.Environ(), MarkVariable+"="+mark)
		return writer.Start()
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = writer.Wait(); close(ended) }()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if f := statFields(fmt.Sprintf("/proc/%d", writer.Process.Pid)); len(f) > 0 && f[0] == "D" {
			break
		}
		if time.Since(start) > 3*time.Minute {
			t.Fatal("the writer does not wait in the kernel")
		}
	}
	impatient, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := j.Undo(impatient, e); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d was killed and does not end", writer.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	if len(j.Pending()) != 1 {
		t.Error("what could not be undone is not in the journal any more")
	}
	thaw()
	<-ended
	if err := errors.Join(j.UndoAll(t.Context(), nil), j.Close()); err != nil {
		t.Errorf("once the device answers: %v", err)
	}
}

// disk returns the path of a loop device of the test's own.
func disk(t *testing.T, mib int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, int64(mib)<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", file)
	return hosttest.Loop(t, file)
}

// mounted mounts a device for as long as the test runs. The kernel writes
// nothing back by itself meanwhile.
func mounted(t *testing.T, device string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, "mount", "-n", "-o", "commit=3600", device, dir)
	t.Cleanup(func() { run(t, "umount", "-n", dir) })
	return dir
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
}

// TestTheIntentIsOnDiskBeforeTheChangeIsMade cuts the power, in effect, while a
// change is made: what the disk holds at that moment is copied and looked at.
func TestTheIntentIsOnDiskBeforeTheChangeIsMade(t *testing.T) {
	hosttest.Exclusive(t)
	device := disk(t, 16)
	backing, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	dir := mounted(t, device)
	state := filepath.Join(dir, "deep/state") // with directories that are new too
	if err := os.Mkdir(filepath.Dir(state), 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := Create(state, "run")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.img")
	change := filepath.Join(dir, "plimsoll-run-change")
	if _, err := j.Do(t.Context(), &Dir{change}, func(string) error {
		// Not synced: a disk that had it would show that nothing is shown here.
		if err := os.WriteFile(filepath.Join(dir, "unsynced"), []byte("x"), 0o600); err != nil {
			return err
		}
		run(t, "cp", strings.TrimSpace(string(backing)), copied)
		return os.Mkdir(change, 0o700)
	}); err != nil {
		t.Fatal(err)
	}
	after := mounted(t, hosttest.Loop(t, copied))
	if _, err := os.Stat(filepath.Join(after, "unsynced")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy has what was never synced: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(after, "deep/state/journal/run.jsonl"))
	if err != nil || !strings.Contains(string(text), `"state":"intent"`) || !strings.Contains(string(text), change) {
		t.Errorf("after a power cut the journal holds %q, %v", text, err)
	}
	if err := errors.Join(j.UndoAll(t.Context(), nil), j.Close()); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskStopsChangesBeforeTheyAreMade(t *testing.T) {
	hosttest.Exclusive(t)
	dir := t.TempDir()
	run(t, "mount", "-n", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir)
	t.Cleanup(func() { run(t, "umount", "-n", dir) })
	state := filepath.Join(dir, "state")
	j, err := Create(state, "run")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	mkdir := func(name string) error {
		path := filepath.Join(elsewhere, "plimsoll-run-"+name)
		_, err := j.Do(t.Context(), &Dir{path}, func(string) error { return os.Mkdir(path, 0o700) })
		return err
	}
	if err := mkdir("first"); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 1<<20), 0o600) // as much as there is room for
	// What is left of the journal's last page takes some more entries.
	var full error
	made := 1
	for ; full == nil && made < 1000; made++ {
		full = mkdir(fmt.Sprint("more", made))
	}
	if !errors.Is(full, ErrWrite) || !strings.Contains(full.Error(), "free some space") {
		t.Fatalf("got %v", full)
	}
	entries, err := os.ReadDir(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	// The entry that said "made" may be the one that did not fit: its change
	// was announced, and is made.
	if pending := len(j.Pending()); len(entries) != pending {
		t.Errorf("%d directories are there, and %d in the journal", len(entries), pending)
	}
	if err := mkdir("refused"); !errors.Is(err, ErrWrite) {
		t.Errorf("on the full disk: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "plimsoll-run-refused")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a change was made that the journal could not take: %v", err)
	}
	j.file.Close() // a crash, on the full disk
	if _, err := Clean(t.Context(), state); err != nil {
		t.Errorf("clean on the full disk: %v", err)
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
