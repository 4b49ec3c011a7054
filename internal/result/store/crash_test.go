package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// A process is killed again and again in the middle of saving trials. Every
// trial it had acknowledged is there, exactly, and the next process goes on.
func TestKilledWhileSaving(t *testing.T) {
	const trials = 120
	dir := filepath.Join(t.TempDir(), "run")
	saved := map[int]bool{}
	for round := 1; len(saved) < trials; round++ {
		before := len(saved)
		saveAndKill(t, dir, trials, 1+(round*7)%19, saved)
		if len(saved) == before {
			t.Fatal("the child saved nothing")
		}
		run := read(t, dir)
		for i, planned := range plannedRun(trials).Trials {
			got := run.Trials[i]
			if got.Status == result.TrialPlanned && !saved[got.Seq] {
				continue
			}
			// A trial may have been committed just before its word got out.
			if want := done(planned, 200); !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: trial %d is %+v, want %+v", round, got.Seq, got, want)
			}
			saved[got.Seq] = true
		}
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

// saveAndKill lets a child save, and kills it when it has acknowledged some.
func saveAndKill(t *testing.T, dir string, trials, limit int, saved map[int]bool) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s_TRIALS=%d", childEnv, trials))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seq int
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "saved %d", &seq); err == nil {
			saved[seq] = true
			if n++; n == limit {
				_ = cmd.Process.Kill()
			}
		} else if lines.Text() != "open" {
			t.Errorf("the child says %q", lines.Text())
		}
	}
	_ = cmd.Wait()
}

// A writer that dies within a transaction, when part of it is in the file
// already, leaves a journal that must be rolled back. Read does that on a
// copy; Open in place.
func TestDiedWithinATransaction(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	s := create(t, live, plannedRun(40))
	for _, trial := range s.Run().Trials[:30] {
		if err := s.SaveTrial(done(trial, 400)); err != nil {
			t.Fatal(err)
		}
	}
	want := read(t, live)
	if _, err := s.db.Exec("PRAGMA cache_size = 1"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("UPDATE histogram SET bins = zeroblob(length(bins)); UPDATE trial SET status = 'lost', " +
		"record = zeroblob(2000)"); err != nil {
		t.Fatal(err)
	}

	dead := filepath.Join(t.TempDir(), "dead")
	if err := os.Mkdir(dead, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ResultsFile, ResultsFile + "-journal", RunFile} {
		if err := copyFile(filepath.Join(dead, name), filepath.Join(live, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readRun(dead); !needsRollback(err) {
		t.Fatalf("the copy is not in the middle of a transaction (%v); the test shows nothing", err)
	}
	before := list(t, dead)
	if got := read(t, dead); !reflect.DeepEqual(got, want) {
		t.Error("Read gives another run than the one that was committed")
	}
	if after := list(t, dead); after != before {
		t.Errorf("Read changed the directory:\n%s\nwas\n%s", after, before)
	}
	again, err := Open(dead)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !reflect.DeepEqual(again.Run().Trials, want.Trials) {
		t.Error("Open gives other trials than those that were committed")
	}
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, _ := e.Info()
		fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime())
	}
	return b.String()
}

// A full disk is named with its directory, keeps every trial that was
// acknowledged, and is not the end: with space, the same trial is saved.
func TestFullDisk(t *testing.T) {
	hosttest.Exclusive(t)
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=600k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(mount, "run")
	s := create(t, dir, plannedRun(1000))
	var failed result.Trial
	for _, trial := range s.Run().Trials {
		if err := s.SaveTrial(done(trial, 2000)); err != nil {
			mustFail(t, err, dir, "full", "free some space", "--resume", "trial ")
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%v is not ENOSPC", err)
			}
			failed = trial
			break
		}
	}
	if failed.Seq < 2 {
		t.Fatalf("trial %d was the first to fail; the test needs one that fitted and one that did not", failed.Seq)
	}
	for _, trial := range read(t, dir).Trials {
		want := trial
		if trial.Seq < failed.Seq {
			want = done(plannedRun(1000).Trials[trial.Seq-1], 2000)
		} else if trial.Status != result.TrialPlanned {
			t.Errorf("trial %d is %s", trial.Seq, trial.Status)
		}
		if !reflect.DeepEqual(trial, want) {
			t.Errorf("trial %d changed", trial.Seq)
		}
	}

	ballast := filepath.Join(mount, "ballast")
	fill, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	_ = fill.Close()
	mustFail(t, s.Finish(result.RunInterrupted), dir, "full", "free some space")
	_, err = Create(filepath.Join(mount, "another"), plannedRun(1000))
	mustFail(t, err, "another", "full")
	if _, err := os.Stat(filepath.Join(mount, "another")); !os.IsNotExist(err) {
		t.Errorf("a run that could not be made is left behind: %v", err)
	}

	if err := unix.Mount("tmpfs", mount, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveTrial(done(failed, 2000)); err != nil {
		t.Errorf("with space: %v", err)
	}
	if err := s.Finish(result.RunComplete); err != nil {
		t.Errorf("with space: %v", err)
	}
	if got := read(t, dir); got.Status != result.RunComplete || got.Trials[failed.Seq-1].Status != result.TrialDone {
		t.Errorf("with space, the run is %s and the trial %s", got.Status, got.Trials[failed.Seq-1].Status)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A run on a file system that is mounted read-only is read as any other.
func TestReadOnlyFileSystem(t *testing.T) {
	hosttest.Exclusive(t)
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(mount, "run")
	s := create(t, dir, plannedRun(2))
	want := s.Run()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", mount, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	_, err := Open(dir)
	mustFail(t, err, dir, "read-only file system")
}

// Under sudo the results belong to the user who called it.
func TestBehindSudo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it gives files away")
	}
	t.Setenv("SUDO_UID", "12345")
	t.Setenv("SUDO_GID", "54321")
	root := reachable(t)
	s := create(t, filepath.Join(root, "runs", "run"), plannedRun(1))
	keep(t, s, s.Run().Trials[0], "job.fio")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs", "runs/run", "runs/run/run.json", "runs/run/results.db",
		"runs/run/artifacts/001-ext4-RR-1/job.fio"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(root, name), &st); err != nil {
			t.Fatal(err)
		}
		if st.Uid != 12345 || st.Gid != 54321 {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(root, &st); err != nil || st.Uid != 0 {
		t.Errorf("a directory that was there before was given away: uid %d, %v", st.Uid, err)
	}
}
