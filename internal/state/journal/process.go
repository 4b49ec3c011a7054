package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/units/plural"
)

// Process is a process that the run started on the host. It is recognised by
// the mark in its environment, so a pid that another process has by now is
// never killed.
type Process struct{ Argv []string }

// What implements Change.
func (c *Process) What() string { return "start " + strings.Join(c.Argv, " ") }

// Prepare implements Change.
func (c *Process) Prepare() error { return nil }

// Check returns nil: Undo only kills processes with the mark of this very entry.
func (c *Process) Check(Scope) error { return nil }

// Undo implements Change.
func (c *Process) Undo(ctx context.Context, mark string) error {
	return EndMarked(ctx, mark)
}

// EndMarked kills the processes that a step started. A program may outlive a killed run by a moment, in which it can
// make what an Undo just found missing. It is for a Change's Undo.
func EndMarked(ctx context.Context, mark string) error {
	return EndAll(ctx, 0, func() []int { return Marked(mark) })
}

// dieLimit bounds the wait for killed processes to end.
const dieLimit = 20 * time.Second

// EndAll ends the processes that find names: politely for as long as grace,
// then by SIGKILL, until find names none. It is for a Change's Undo.
func EndAll(ctx context.Context, grace time.Duration, find func() []int) error {
	ctx, cancel := context.WithTimeout(ctx, grace+dieLimit)
	defer cancel()
	start := time.Now()
	asked := map[int]bool{}
	for {
		pids := find()
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			switch {
			case time.Since(start) >= grace:
				_ = unix.Kill(pid, unix.SIGKILL) // gone already is as good
			case !asked[pid]:
				asked[pid] = true
				_ = unix.Kill(pid, unix.SIGTERM)
			}
		}
		if Pause(ctx, 20*time.Millisecond) != nil {
			var names []string
			for _, pid := range pids {
				names = append(names, strconv.Itoa(pid))
			}
			return fmt.Errorf("%s %s killed and %s not end: the kernel waits for a device that does not answer "+
				"(dmesg may show which)",
				plural.Of(len(pids), "process")+" "+plural.And(names), plural.Choose(len(pids), "was", "were"),
				plural.Choose(len(pids), "does", "do"))
		}
	}
}

// Marked returns the processes whose environment has the mark, except zombies and this one.
func Marked(mark string) []int {
	want := []byte(MarkVariable + "=" + mark)
	// Arguments and environment of a process have 6 MiB at most, and hardly ever
	// more than this.
	b := make([]byte, 512<<10)
	return processes(func(dir string) bool {
		env := environment(dir, b)
		return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return bytes.Equal(v, want) })
	})
}

// becomeLimit bounds the time in which a forked process executes another program.
const becomeLimit = 2 * time.Second

// environment reads the environment of a process in /proc into b; it is empty
// when the process is gone, or has none. One that is becoming another program reads as if it had none,
// and would be overlooked: it is read again.
func environment(dir string, b []byte) []byte {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		env, err := readOnce(filepath.Join(dir, "environ"), b)
		if err != nil || len(env) > 0 || !hasEnvironment(dir) || time.Since(start) > becomeLimit {
			return env
		}
	}
}

// readOnce reads what fits into b of a file of /proc, at one moment: a process
// that becomes another program between two reads would end the file early.
func readOnce(name string, b []byte) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := unix.Read(int(f.Fd()), b)
	return b[:max(n, 0)], err
}

// hasEnvironment reports whether a process has an environment, or is about to get
// one: it has an address space, which kernel threads and zombies have not, and
// in it a place for an environment that is not empty, or no code yet (proc(5):
// flags, startcode, env_start, env_end).
func hasEnvironment(dir string) bool {
	const flags, startCode, envStart, envEnd, kernelThread = 9 - 3, 26 - 3, 50 - 3, 51 - 3, 0x200000
	f := statFields(dir)
	if len(f) <= envEnd || f[0] == "Z" || f[0] == "X" {
		return false
	}
	set, err := strconv.ParseUint(f[flags], 10, 64)
	return err == nil && set&kernelThread == 0 && (f[envStart] != f[envEnd] || f[startCode] == "0")
}

// processes lists the live processes whose /proc directory match accepts.
func processes(match func(dir string) bool) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if dir := filepath.Join("/proc", e.Name()); match(dir) && !zombie(dir) {
			out = append(out, pid)
		}
	}
	return out
}

// statFields returns the fields of /proc/PID/stat behind the command's name:
// state, parent, ...
func statFields(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

func zombie(dir string) bool {
	f := statFields(dir)
	return len(f) == 0 || f[0] == "Z" || f[0] == "X"
}

// CommandName returns the name of a process's program, as the kernel has it.
func CommandName(pid int) string {
	b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return strings.TrimSpace(string(b))
}

// InGroup returns the processes in a run's control group and below. It returns none for any other group.
func InGroup(cgroup string) []int {
	if !strings.HasPrefix(cgroup, "plimsoll-") {
		return nil
	}
	var pids []int
	for _, dir := range cgroupDirs(cgroup) {
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // gone meanwhile: nobody is in it
		for line := range strings.Lines(string(b)) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err == nil && pid > 0 && pid != os.Getpid() && !zombie(filepath.Join("/proc", strconv.Itoa(pid))) {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
