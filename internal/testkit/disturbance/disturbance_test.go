package disturbance

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// process adds a process to a /proc.
func process(t *testing.T, proc string, pid, parent int, name, environment string, words ...string) {
	t.Helper()
	dir := filepath.Join(proc, strconv.Itoa(pid))
	err := os.MkdirAll(dir, 0o755)
	for file, text := range map[string]string{
		"stat":    fmt.Sprintf("%d (%s) S %d 1 1 0", pid, name, parent),
		"cmdline": strings.Join(words, "\x00") + "\x00", "environ": "A=b\x00" + environment + "\x00",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLook(t *testing.T) {
	proc := t.TempDir()
	const mark = "OWNER=10"
	process(t, proc, 1, 0, "systemd", "", "/sbin/init")
	process(t, proc, 5, 1, "go", "", "go", "test", "./...") // starts the test
	process(t, proc, 10, 5, "drive.test", "", "/tmp/drive.test")
	process(t, proc, 11, 10, "fio", "", "fio", "own.fio")
	process(t, proc, 12, 1, "plimsoll", mark, "plimsoll", "watch") // which the test left to init
	process(t, proc, 13, 1, "bash", "", "bash", "-c", "fio; go test")
	process(t, proc, 14, 1, "go", "", "go", "env")
	process(t, proc, 15, 1, "fio", "") // ended
	if err := os.WriteFile(filepath.Join(proc, "15", "cmdline"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	process(t, proc, 16, 16, "loop", "", "its own parent")
	process(t, proc, 17, 5, "flock", "", "flock", "-o", "lock", "/tmp/apply.test") // waits for the test
	found, err := Look(proc, 10, mark)
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v, want nothing", found, err)
	}

	process(t, proc, 20, 1, "plimsoll", "OWNER=100", "/usr/bin/plimsoll", "run", "quick")
	process(t, proc, 21, 5, "compile", "", "/go/compile", "-o", "x")
	process(t, proc, 22, 1, "qemu-system-x86", "", "qemu-system-x86_64", "-m", "1G")
	process(t, proc, 23, 1, "go", "", "go", "test", "./x")
	process(t, proc, 24, 23, "frameworklistto", "", "/tmp/b001/frameworklisttoo.test", "-test.v")
	// Names and arguments are of whoever starts a process.
	process(t, proc, 25, 1, "fio", "", "fio", "\x1b[2J\nok", strings.Repeat("x", 1000))
	process(t, proc, 26, 1, "a) S 1 (b", "", "x")
	for pid, stat := range map[int]string{30: "", 31: ")(", 32: "32 (fio)", 33: "33 (fio) S x",
		34: "34 (fio) S 99999999999999999999"} {
		process(t, proc, pid, 1, "fio", "", "fio")
		if err := os.WriteFile(filepath.Join(proc, strconv.Itoa(pid), "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err = Look(proc, 10, mark)
	if pids := slices.Sorted(maps.Keys(found)); err != nil || !slices.Equal(pids, []int{20, 21, 22, 23, 24, 25}) {
		t.Errorf("%v, %v", found, err)
	}
	if text := found.Text(); !strings.HasPrefix(text, "/usr/bin/plimsoll run quick (pid 20), /go/compile") ||
		strings.ContainsAny(text, "\x1b\n") || len(found[25]) > 2*longestCommand {
		t.Errorf("%q", text)
	}
	if _, err := Look(filepath.Join(proc, "missing"), 10, ""); err == nil {
		t.Error("a missing /proc has no error")
	}
}

func TestWait(t *testing.T) {
	run, vm := Processes{7: "plimsoll run"}, Processes{8: "qemu-system-x86_64"}
	for name, c := range map[string]struct {
		looks   func(since time.Duration) (Processes, error)
		took    time.Duration
		reports []string // how each begins
	}{
		"quiet": {func(time.Duration) (Processes, error) { return nil, nil }, 0, nil},
		"one ends, another begins": {func(since time.Duration) (Processes, error) {
			switch {
			case since < 9*time.Second:
				return run, nil
			case since < 15*time.Second:
				return vm, nil
			}
			return nil, nil
		}, 16 * time.Second, []string{"waits for plimsoll run (pid 7), up to 1m0s",
			"waits for qemu-system-x86_64 (pid 8), up to 50s", "begins after 16s: nothing"}},
		"longer than patience": {func(time.Duration) (Processes, error) { return run, nil }, time.Minute,
			[]string{"waits for plimsoll run (pid 7)",
				"begins after 1m0s, although results may be disturbed by plimsoll run (pid 7)"}},
		"unknown": {func(time.Duration) (Processes, error) { return nil, os.ErrPermission }, 0,
			[]string{"begins, and does not know what disturbs it: permission denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var reports []string
				Wait(func() (Processes, error) { return c.looks(time.Since(began)) }, time.Minute,
					func(text string) { reports = append(reports, text) })
				if took := time.Since(began); took != c.took {
					t.Errorf("waited for %s, want %s", took, c.took)
				}
				if !slices.EqualFunc(reports, c.reports, strings.HasPrefix) {
					t.Errorf("%q, want %q", reports, c.reports)
				}
			})
		})
	}
}
