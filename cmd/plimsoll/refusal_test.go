package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// Every refusal names its cause and its remedy, ends with its own exit code,
// and leaves nothing behind. What speaks against a device, cause by cause, is
// in internal/stack's TestProtectedDevices.

const onDevice = `
name: on-device
question: Is a device in use left alone?
repeat: 1
trials: 1
control: false
runtime: 200ms
stacks:
  fine: loop(size=32MiB)
  device: DEVICE > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`

// disk returns a block device of the test's own, in place of a real one.
func disk(t *testing.T, mib int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, mib<<20); err != nil {
		t.Fatal(err)
	}
	return hosttest.Loop(t, file, "--direct-io=on")
}

// Stacks on one device cannot be up at the same time: they take turns, each
// with a new file system, and leave no signature behind.
func TestStacksTakeTurnsOnOneDevice(t *testing.T) {
	hosttest.Exclusive(t)
	device := disk(t, 400)
	p := newProgram(t)
	code, _, errs := p.run("run", p.experiment(`
name: turns
question: Do stacks share a device?
repeat: 2
trials: 1
control: false
runtime: 200ms
stacks:
  raw: `+device+`
  ext4: `+device+` > ext4
  xfs: `+device+` > xfs
  volume: `+device+` > ext4 > volume
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`), "--destroy", device)
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone || trial.Honesty().Source != result.SourceDevice {
			t.Errorf("trial %d on %s: %s, %+v", trial.Seq, trial.Stack, trial.Status, trial.Problem)
		}
	}
	if out, err := exec.Command("blkid", "-p", device).Output(); err == nil {
		t.Errorf("a signature is left: %s", out)
	}
}

func TestAProtectedDeviceEndsTheRunBeforeItStarts(t *testing.T) {
	hosttest.Exclusive(t)
	device := disk(t, 64)
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for _, test := range []struct {
		name, device string
		args         []string
		says         []string
	}{
		{name: "not allowed", device: device, says: []string{device, "ext4", "--destroy " + device}},
		{name: "signature", device: device, args: []string{"--destroy", device}, says: []string{"ext4", "signature"}},
		{name: "unknown", device: "/dev/nvme9n9", args: []string{"--destroy", "/dev/nvme9n9"},
			says: []string{"/dev/nvme9n9", "plimsoll doctor"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProgram(t)
			name := p.experiment(strings.ReplaceAll(onDevice, "DEVICE", test.device))
			for _, dry := range [][]string{{"--dry-run"}, nil} {
				code, out, errs := p.run(append(append([]string{"run", name}, test.args...), dry...)...)
				want := exitRefused
				if test.name == "unknown" {
					want = exitUsage // what is not there is not protected
				}
				if code != want {
					t.Errorf("%v: ends with %d: %s%s", dry, code, out, errs)
				}
				contains(t, errs, test.says...)
				if strings.Contains(out, "OVERWRITE") || strings.Contains(out, "writes ") {
					t.Errorf("%v: changes are listed that would be refused:\n%s", dry, out)
				}
			}
			if p.exists("plimsoll-runs") || p.exists("state") {
				t.Error("something was begun")
			}
		})
	}
	// Allowed for that very device, in spite of its signature, it runs.
	p := newProgram(t)
	code, _, errs := p.run("run", p.experiment(strings.ReplaceAll(onDevice, "DEVICE", device)), "--destroy",
		device+"=signature")
	if code != 0 {
		t.Errorf("allowed, it ends with %d: %s", code, errs)
	}
}

func TestBadInputIsRefusedWithAllItsProblems(t *testing.T) {
	p := newProgram(t)
	for _, test := range []struct {
		name string
		args []string
		says []string
	}{
		{
			name: "malformed stack and unknown options",
			args: []string{"run", p.experiment("name: bad\nquestion: q\nstacks:\n  a: loop(size=1GiB >\n  b: " +
				"loop(sise=1GiB)\n  c: loop > zfz\nworkloads:\n  R: {fio: {rw: randread, iodpeth: 3}}\n")},
			says: []string{"experiment.yaml:4:", "experiment.yaml:5:", "size", "experiment.yaml:6:",
				"experiment.yaml:8:", "iodepth"},
		},
		{name: "no such experiment", args: []string{"run", "quikc"}, says: []string{"quikc", "plimsoll list"}},
		{name: "no such file", args: []string{"run", "./nothing.yaml"}, says: []string{"nothing.yaml"}},
		{name: "no experiment", args: []string{"run"}, says: []string{"plimsoll list"}},
		{name: "overlooking what cannot be", args: []string{"run", "quick", "--destroy", "/dev/sdz=mounted"},
			says: []string{"mounted"}},
		{name: "settings of a run that is resumed", args: []string{"run", "--resume", ".", "--repeat", "3"},
			says: []string{"--resume"}},
		{
			name: "an experiment and settings that are wrong",
			args: []string{"run", "quikc", "--repeat", "0", "--runtime", "5", "--ramp", "-1s", "--seed", "x"},
			says: []string{`"quick"`, "--repeat takes", "--runtime takes", "--ramp takes", "--seed takes"},
		},
		{
			name: "settings that exclude each other",
			args: []string{"run", "quick", "--budget", "3m", "--fixed", "10s", "--repeat", "3", "--runtime", "5s",
				"--precision", "nan%", "--jobs", "0", "--size", "large", "--on", "tmpfs(size=1GiB)", "--precondition",
				"snai,passes=0", "--trace", "--no-trace"},
			says: []string{
				"--budget 3m does not go together with --fixed 10s", "--budget 3m does not go together with --repeat 3",
				"--fixed 10s does not go together with --runtime 5s",
				"--fixed 10s does not go together with --precision nan%", "--trace does not go together with --no-trace",
				"--precision takes", "--jobs takes", "--size takes", "--on takes", `unknown setting "snai"`, "passes is a number",
			},
		},
		{name: "targets that nobody named", args: []string{"run", "local-vs-remote"},
			says: []string{"over rdma and tcp", "plimsoll target export", "--remote"}},
		{name: "what is no target",
			args: []string{"run", "local-vs-remote", "--remote", "serial:X", "--remote", "nvmeof(transport=tcp)",
				"--remote", "nvmeof(transport=tcp, nqm=a)"},
			says: []string{`not "serial:X"`, "a target's nqn= too", "nqm"}},
		{name: "a target that no stack takes",
			args: []string{"run", "quick", "--remote", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)"},
			says: []string{"no stack of quick takes it"}},
		{name: "settings of a directory", args: []string{"run", "quick", "--on", "dir:/tmp(size=3)"},
			says: []string{"--on takes", "dir:/srv/data"}},
		{name: "a directory beside a device",
			args: []string{"run", "quick", "--on", "dir:/tmp", "--on", "/dev/sda", "--on", "tmpfs(size=1GiB)"},
			says: []string{"--on dir:/tmp: several --on name block devices", "--on takes"}},
		{name: "one device twice", args: []string{"run", "quick", "--on", "/dev/sda", "--on", "serial:sda"},
			says: []string{"two devices would be called sda"}},
		{name: "a directory that replaces nothing", args: []string{"run", "directory", "--on", "dir:/tmp"},
			says: []string{"--on dir:/tmp has no effect", "takes the place of loop devices", "stack here: dir:",
				"name it in a copy"}},
		{name: "a directory that replaces nothing, in a dry run",
			args: []string{"run", "directory", "--on", "dir:/tmp", "--dry-run"}, says: []string{"has no effect"}},
		{name: "a device that replaces nothing", args: []string{"run", "directory", "--on", "/dev/sda"},
			says: []string{"--on /dev/sda has no effect", "block devices that a stack names", "stack here: dir:"}},
		{name: "a size without a unit", args: []string{"run", "quick", "--size", "4"},
			says: []string{`--size takes a size from 512B, not "4": write 4GiB`}},
		{name: "no directory", args: []string{"run", "quick", "--on", "dir:"}, says: []string{"--on takes"}},
		{name: "no such directory", args: []string{"run", "quick", "--on", "dir:/no/such"},
			says: []string{"--on dir:/no/such: there is no directory /no/such"}},
		{name: "a precision that nothing ends at", args: []string{"run", "quick", "--precision", "1%"},
			says: []string{"--precision 1% has no effect", "40s", "--budget"}},
		{name: "a budget that is too short", args: []string{"run", "quick", "--budget", "10s"},
			says: []string{"a budget of 10s is too short for quick", "takes about", "--size"}},
		{name: "settings that leave nothing", args: []string{"run", "write-scaling", "--on", "dir:/proc"},
			says: []string{"no stack of write-scaling is left", "a directory has no raw device", "/proc lies on proc"}},
		{name: "a budget of a run that is resumed", args: []string{"run", "--resume", ".", "--budget", "3m"},
			says: []string{"--resume"}},
		{name: "a device that nothing stands on", args: []string{"run", "quick", "--destroy", "/dev/sdz"},
			says: []string{"no stack of quick"}},
		{name: "no such run", args: []string{"run", "--resume", "last"}, says: []string{"no run"}},
		{name: "too many experiments", args: []string{"run", "quick", "nvme"}, says: []string{"one experiment", "nvme"}},
		{name: "an argument too many", args: []string{"list", "quick"}, says: []string{"list takes no argument"}},
		{name: "unknown flag", args: []string{"run", "quick", "--fast"}, says: []string{"--fast"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errs := p.run(test.args...)
			if code != exitUsage || out != "" {
				t.Errorf("ends with %d: %s%s", code, out, errs)
			}
			contains(t, errs, test.says...)
		})
	}
}

// Who asks for a device to be written as a whole, and has only workloads that
// cannot, must not find out from the results.
func TestPreconditioningThatNoWorkloadCanDo(t *testing.T) {
	p := newProgram(t)
	p.file("mine.fio", "[job]\nrw=randread\nsize=8m\ntime_based=1\nruntime=1\n")
	name := p.experiment("name: mine\nquestion: q\nstacks: {raw: /dev/sdz}\nworkloads: {M: {fio: {file: " +
		"mine.fio}}}\nprecondition: snia\n")
	code, out, errs := p.run("run", name, "--destroy", "/dev/sdz")
	if code != exitUsage || out != "" {
		t.Errorf("ends with %d: %s%s", code, out, errs)
	}
	contains(t, errs, "no workload of mine can write a whole device", "randwrite")
}

func TestWhatTheHostCannotIsSkippedWithTheEnginesReason(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: skipped
question: Is a driver that cannot start skipped?
control: false
repeat: 2
runtime: 200ms
stacks:
  fine: loop(size=32MiB)
  aufs: loop(size=32MiB) > ext4 > aufs
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`))
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, out, "aufs", "not supported")
	_, run := p.result()
	for _, trial := range run.Trials {
		if want := map[string]string{"fine": "done", "aufs": "skipped"}[trial.Stack]; string(trial.Status) != want {
			t.Errorf("%s is %s", trial.Stack, trial.Status)
		}
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	code, out, errs := p.run("run", "quick", "--dry-run", "--seed", "1", "--verbose")
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, out, "Nothing was changed", "attach a loop device", "make xfs on it", "private Docker engine",
		"120 trials", "seed 1")
	if p.exists("*") {
		t.Error("files were made")
	}
}

// A job file that names a device of its own runs on each stack, a phase after the other.
func TestAJobFileRunsOnEveryStack(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	const text = "[global]\nname=anything at all\nfilename=/dev/nvme99n1\nsize=100%\ndirect=1\nioengine=libaio\n" +
		"[load]\nrw=write\nbs=1m\n[read]\nstonewall\nrw=randread\n"
	p.file("named.fio", text)
	file := p.experiment("name: raw\nquestion: q\nrepeat: 1\ntrials: 1\nruntime: 200ms\ncontrol: false\nstacks:\n" +
		"  raw: loop(size=128MiB)\n  ext4: loop(size=128MiB) > ext4\nworkloads:\n  N: {fio: {file: named.fio}}\n")
	code, out, errs := p.run("run", file, "--quiet")
	if code != exitOK {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	dir, run := p.result()
	ran := map[string]bool{}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone || trial.Measured().IOs() == 0 {
			t.Errorf("%s on %s: %s, %+v", trial.Mix, trial.Stack, trial.Status, trial.Problem)
		}
		ran[trial.Mix+" "+trial.Stack] = true
		given, err := os.ReadFile(filepath.Join(dir, trial.Artifacts, "given.fio"))
		if err != nil || string(given) != text {
			t.Errorf("what was given is kept as %q, %v", given, err)
		}
	}
	for _, want := range []string{"N-1-load raw", "N-1-load ext4", "N-2-read raw", "N-2-read ext4"} {
		if !ran[want] {
			t.Errorf("%s is not among %v", want, ran)
		}
	}
}
