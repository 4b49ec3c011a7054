package labtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/examples"
	"plimsoll/internal/lab"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// labRan is what a command in a lab of its own left on the host.
type labRan struct {
	dir       string // of the run that was brought out
	run       *result.Run
	out, errs string
}

// labOfItsOwn returns a directory with the image in which no other lab runs.
func labOfItsOwn(t *testing.T) string {
	t.Helper()
	// A short name: a socket's path has at most 107 letters.
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	// The image, and whether KVM works, which takes a while to find out.
	for _, name := range []string{"images", "accelerator.json"} {
		if err := os.Symlink(filepath.Join(labDir(t), name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// example returns a built-in experiment.
func example(t *testing.T, name string) string {
	t.Helper()
	text, ok := examples.Find(name)
	if !ok {
		t.Fatalf("no experiment is called %s", name)
	}
	return string(text)
}

// labRunEnding has plimsoll lab run a command that ends with a status; in its
// working directory, when not "", lies the text of experiment.yaml.
func labRunEnding(t *testing.T, machines, status int, experiment string, args ...string) (ran labRan) {
	t.Helper()
	dir, work := labOfItsOwn(t), t.TempDir()
	beside(t, machines).takePlaces(t)
	if experiment != "" {
		if err := os.WriteFile(filepath.Join(work, "experiment.yaml"), []byte(experiment), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program(t), append([]string{"lab", "run", "--dir", dir}, args...)...)
	cmd.Dir = work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%v:\n%s%s", err, &out, &errs)
	}
	ran.out, ran.errs = out.String(), errs.String()
	var err error
	if ran.dir, err = store.Find(filepath.Join(work, store.RunsDir), store.Last); err != nil {
		t.Fatal(err)
	}
	if ran.run, err = store.Read(ran.dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "vms/run-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	return ran
}

const inTheLab = `
name: in-the-lab
question: Does a run in the lab come out of it, with its mark?
repeat: 1
runtime: 1s
seed: 1
stacks:
  nvme: serial:LAB1 > ext4
workloads:
  R: {fio: {rw: randread, iodepth: 8, size: 8MiB}}
`

// TestARunInTheLab starts a machine once and looks at all that it promises.
func TestARunInTheLab(t *testing.T) {
	const limit = 200 // I/Os per second, far below what the emulated drive reaches
	ran := labRunEnding(t, 1, 40, inTheLab, "--drives", "1", "--size", "256MiB", "--memory", "1GiB", "--profile",
		fmt.Sprintf("iops-read=%d", limit),
		"--in", "experiment.yaml", "--", "sh", "-c", "plimsoll run experiment.yaml --destroy LAB1; code=$?; echo "+
			"networks: $(ls /sys/class/net); exit $((code + 40))")
	run := ran.run
	if !strings.Contains(ran.out, "every number here: lab (emulated)") {
		t.Errorf("it does not say that it is a lab:\n%s", ran.out)
	}
	if !strings.Contains(ran.out, "networks: lo\n") {
		t.Errorf("the machine has other networks than its own:\n%s", ran.out)
	}
	if len(run.Stacks) != 1 || !slices.Contains(run.Stacks[0].Marks, result.MarkLab) {
		t.Errorf("the stacks are %+v", run.Stacks)
	}
	if len(run.Trials) != 1 || run.Trials[0].Status != result.TrialDone || run.Trials[0].Measured() == nil {
		t.Errorf("the trials are %+v", run.Trials)
	} else if iops := run.Trials[0].Measured().IOPS(); iops > 1.2*limit {
		t.Errorf("%.0f IOPS, and the drive is limited to %d", iops, limit)
	}
	if len(run.Environment.Devices) == 0 ||
		!slices.ContainsFunc(run.Environment.Devices, func(d result.DeviceInfo) bool { return d.Serial == "LAB1" }) {
		t.Errorf("the devices are %+v", run.Environment.Devices)
	}
}

// TestALabDiesWithItsOwner kills plimsoll without a chance to undo anything.
func TestALabDiesWithItsOwner(t *testing.T) {
	dir, plimsoll := labOfItsOwn(t), program(t)
	beside(t, 1).takePlaces(t)
	cmd := exec.Command(plimsoll, "lab", "run", "--dir", dir, "--drives", "1", "--size", "64MiB", "--memory", "1GiB",
		"--", "sleep", "infinity")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var machines []int
	until(t, "the machine starts", func() bool {
		machines = childrenOf(t, cmd.Process.Pid, "qemu-system")
		return len(machines) > 0 &&
			slices.ContainsFunc(machines, func(pid int) bool { return strings.Contains(commandLine(pid), "server") })
	})
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the machine ends", func() bool {
		return !slices.ContainsFunc(machines, func(pid int) bool { return commandLine(pid) != "" })
	})
	if left, _ := filepath.Glob(filepath.Join(dir, "vms/run-*")); len(left) == 0 {
		t.Error("nothing was left behind: the test killed too late")
	}
	if err := lab.Sweep(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "vms/run-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// childrenOf lists the processes of that name which a process started.
func childrenOf(t *testing.T, parent int, name string) []int {
	t.Helper()
	var out []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid, of int
		var comm, state string
		if _, err := fmt.Sscan(string(text), &pid, &comm, &state, &of); err == nil && of == parent &&
			strings.HasPrefix(comm, "("+name) {
			out = append(out, pid)
		}
	}
	return out
}

// commandLine is that of a process, and "" for one that has ended.
func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
}

// until waits until something comes true.
func until(t *testing.T, what string, test func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !test(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", hang, what)
		}
	}
}
