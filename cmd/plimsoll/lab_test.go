package main

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

	"plimsoll/internal/lab"
	"plimsoll/internal/result"
)

// labDirVariable names a directory in which plimsoll lab build was run.
const labDirVariable = "PLIMSOLL_TEST_LAB"

// labDir gives the directory of an image, or skips the test with the reason.
func labDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(labDirVariable)
	if dir == "" {
		dir = filepath.Join(defaultState(), "lab")
	}
	if testing.Short() {
		t.Skip("SKIPPED: the lab is not tried: it takes minutes, and -short was given")
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("SKIPPED: the lab is not tried: QEMU is not installed (apt-get install qemu-system-x86)")
	}
	if _, err := lab.FindImage(dir, lab.DefaultRecipe()); err != nil {
		t.Skipf("SKIPPED: the lab is not tried: %v; another directory is named by %s", err, labDirVariable)
	}
	return dir
}

// labProgram is plimsoll as users have it: guests get it too.
func labProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plimsoll")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build plimsoll: %v: %s", err, out)
	}
	return path
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
  R: {fio: {rw: randread, size: 8MiB}}
`

// TestARunInTheLab starts a machine once and looks at all that it promises.
func TestARunInTheLab(t *testing.T) {
	dir, plimsoll, work := labDir(t), labProgram(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "tiny.yaml"), []byte(inTheLab), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(plimsoll, "lab", "run", "--dir", dir, "--drives", "1", "--size", "256MiB", "--memory", "1GiB", "--profile", "sata-ssd",
		"--in", "tiny.yaml", "--", "sh", "-c", "plimsoll run tiny.yaml --destroy LAB1; code=$?; echo networks: $(ls /sys/class/net); exit $((code + 40))")
	cmd.Dir = work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if code := exitCode(t, cmd.Run()); code != 40 {
		t.Fatalf("ends with %d:\n%s%s", code, &out, &errs)
	}
	contains(t, out.String(), "every number here: lab (emulated)")
	if !strings.Contains(out.String(), "networks: lo\n") {
		t.Errorf("the machine has other networks than its own:\n%s", &out)
	}
	p := &program{t: t, dir: work}
	_, run := p.result()
	if len(run.Stacks) != 1 || !slices.Contains(run.Stacks[0].Marks, result.MarkLab) {
		t.Errorf("the stacks are %+v", run.Stacks)
	}
	if len(run.Trials) != 1 || run.Trials[0].Status != result.TrialDone || run.Trials[0].Measurement == nil {
		t.Errorf("the trials are %+v", run.Trials)
	}
	if len(run.Environment.Devices) == 0 || !slices.ContainsFunc(run.Environment.Devices, func(d result.DeviceInfo) bool { return d.Serial == "LAB1" }) {
		t.Errorf("the devices are %+v", run.Environment.Devices)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "vms/run-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestALabDiesWithItsOwner kills plimsoll without a chance to undo anything.
func TestALabDiesWithItsOwner(t *testing.T) {
	dir, plimsoll := labDir(t), labProgram(t)
	cmd := exec.Command(plimsoll, "lab", "run", "--dir", dir, "--drives", "1", "--size", "64MiB", "--memory", "1GiB", "--", "true")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var machines []int
	within(t, 60*time.Second, "the machine starts", func() bool {
		machines = childrenOf(t, cmd.Process.Pid, "qemu-system")
		return len(machines) > 0 && slices.ContainsFunc(machines, func(pid int) bool { return strings.Contains(commandLine(pid), "server") })
	})
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	within(t, 10*time.Second, "the machine ends", func() bool {
		return !slices.ContainsFunc(machines, func(pid int) bool { return commandLine(pid) != "" })
	})
	if left, _ := filepath.Glob(filepath.Join(dir, "vms/run-*")); len(left) == 0 {
		t.Error("nothing was left behind: the test killed too late")
	}
	if err := lab.Sweep(dir); err != nil {
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
		if _, err := fmt.Sscan(string(text), &pid, &comm, &state, &of); err == nil && of == parent && strings.HasPrefix(comm, "("+name) {
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

// Wrong command lines are refused before anything is started.
func TestLabArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"run"}, exitUsage, []string{"which command?"}},
		{[]string{"run", "--size", "1MiB", "--memory", "much", "--profile", "satan-ssd", "--", "true"}, exitUsage, []string{"--size 1MiB", `--memory "much"`, `"satan-ssd"`}},
		{[]string{"run", "--cpus", "0", "--memory", "64MiB", "--", "true"}, exitUsage, []string{"0 CPUs", "64 MiB"}},
		{[]string{"run", "--drives", "-1", "--", "true"}, exitUsage, []string{"--drives -1"}},
		{[]string{"run", "--on-target", "true", "--", "true"}, exitUsage, []string{"--target"}},
		{[]string{"up", "--drives", "99"}, exitUsage, []string{"99 drives"}},
		{[]string{"shell"}, exitFailure, []string{"plimsoll lab up"}},
		{[]string{"sail"}, exitUsage, []string{`"sail"`, "build, run, up"}},
		{[]string{"up"}, exitHost, []string{"plimsoll lab build"}},
		{[]string{"down"}, exitOK, nil},
		{[]string{"agent"}, exitFailure, []string{"guests of a lab"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			p := newProgram(t)
			code, _, errs := p.run(append([]string{"--state-dir", p.state, "lab"}, c.args...)...)
			if code != c.code {
				t.Errorf("ends with %d, want %d: %s", code, c.code, errs)
			}
			contains(t, errs, c.want...)
		})
	}
}
