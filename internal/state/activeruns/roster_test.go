package activeruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// asRun makes this test binary be a run with that id, below the state directory
// behind the blank, until it is killed.
const asRun = "PLIMSOLL_ROSTER_RUN"

func TestMain(m *testing.M) {
	if id, state, ok := strings.Cut(os.Getenv(asRun), " "); ok {
		j, err := journal.Create(state, id)
		if err == nil {
			_, err = Enter(context.Background(), j,
				Run{ID: id, PID: os.Getpid(), Disks: []string{"vda"}, Devices: []string{"7:1"}})
		}
		fmt.Println("entered", err)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// started starts a run in a process of its own.
func started(t *testing.T, id, state string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asRun+"="+id+" "+state)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var word, problem string
	if _, err := fmt.Fscan(out, &word, &problem); err != nil || problem != "<nil>" {
		t.Fatalf("%s %s: %v", word, problem, err)
	}
	return cmd
}

func ids(all []Run) (out []string) {
	for _, r := range all {
		out = append(out, r.ID)
	}
	return out
}

// Runs see each other, from whatever state directory; one that was killed is
// seen no more, keeps nobody waiting, and is taken off by whoever cleans up.
func TestRunsSeeEachOther(t *testing.T) {
	hosttest.Exclusive(t)
	before := remainingFiles(t)
	states := []string{t.TempDir(), t.TempDir()}
	first := started(t, "first-1", states[0])
	second := started(t, "second-2", states[1])
	if got := ids(Others("none")); strings.Join(got, " ") != "first-1 second-2" {
		t.Fatalf("under way: %q", got)
	}
	if got := Others("first-1"); len(got) != 1 || got[0].ID != "second-2" || got[0].PID != second.Process.Pid ||
		!got[0].Trusted || got[0].Disks[0] != "vda" {
		t.Errorf("the first sees %+v", got)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if got := ids(Others("none")); strings.Join(got, " ") != "second-2" {
		t.Errorf("after a kill -9: %q", got)
	}
	again := started(t, "first-1", t.TempDir()) // resumed before anybody cleaned up, from elsewhere
	if got := ids(Others("none")); strings.Join(got, " ") != "first-1 second-2" {
		t.Errorf("resumed: %q", got)
	}
	for _, cmd := range []*exec.Cmd{again, second} {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for _, state := range states {
		if _, err := journal.Clean(t.Context(), state); err != nil {
			t.Error(err)
		}
	}
	if after := remainingFiles(t); !slices.Equal(after, before) {
		t.Errorf("left behind are %v; before, there was %v", after, before)
	}
}

// remainingFiles is what is where runs tell of themselves, with the directory itself: others that were
// killed may have left something there.
func remainingFiles(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(presenceDirs[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	names = []string{"."}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What strangers put where runs tell of themselves does no harm, and is no run.
func TestStrangersFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+presenceSuffix) }
	var locks []*os.File
	defer func() {
		for _, f := range locks {
			f.Close()
		}
	}()
	locked := func(name, text string) {
		t.Helper()
		f, err := os.Create(path(name))
		if err != nil {
			t.Fatal(err)
		}
		locks = append(locks, f)
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(r Run) string {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	locked("good", encoded(Run{ID: "good-1", Disks: []string{"nvme0n1"},
		Devices: []string{"259:0", "subsystem nqn.2026-11.test:a"}}))
	locked("escape", encoded(Run{ID: "x\x1b[2J"}))
	locked("path", encoded(Run{ID: "../../etc"}))
	locked("disk", encoded(Run{ID: "d-1", Disks: []string{"vda\nwarning: all is well"}}))
	locked("device", encoded(Run{ID: "d-2", Devices: []string{"subsystem \x1b]0;x"}}))
	locked("empty", "")
	locked("garbage", "{\"run\": 12")
	locked("many", encoded(Run{ID: "m-1", Disks: strings.Fields(strings.Repeat("vda ", mostRuns+1))}))
	locked("large", encoded(Run{ID: "l-1"})+strings.Repeat(" ", mostBytes))
	if err := unix.Mkfifo(path("fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path("directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"zero": "/dev/zero", "link": path("good"), "tty": "/dev/tty"} {
		if err := os.Symlink(to, path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path("unlocked"), []byte(encoded(Run{ID: "u-1"})), 0o644); err != nil {
		t.Fatal(err)
	}
	got := runsIn(dir)
	if len(got) != 1 || got[0].ID != "good-1" || got[0].Trusted {
		t.Errorf("under way: %+v, want good-1 alone, and not trusted", got)
	}
}

// A journal that somebody else wrote has nothing removed that no run made.
func TestOnlyPlacesOfRunsAreTakenBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/run/plimsoll/runs/../../../" + file, "/run/plimsoll/runs/..json",
		"/run/user/x/plimsoll/runs/a.json"} {
		j, err := journal.Create(t.TempDir(), "run")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Do(t.Context(), &presence{Path: path}, func(string) error { return nil }); err == nil {
			t.Errorf("%s is taken for a place of runs", path)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
