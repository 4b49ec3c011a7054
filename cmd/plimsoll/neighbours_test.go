package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/hosttest"
)

// neighbour is a fio on the disk of the tests' directory, in the cgroup
// of the test and so of plimsoll itself.
type neighbour struct {
	t    *testing.T
	fio  *exec.Cmd
	disk string
	done bool
}

// startNeighbour starts one that reads 128 KiB so many times a second, which matters
// beside the trials of the fastest disks, and returns when it does.
func startNeighbour(t *testing.T, perSecond int) *neighbour {
	t.Helper()
	file := filepath.Join(t.TempDir(), "neighbours")
	n := &neighbour{t: t, disk: diskUnder(t, filepath.Dir(file))}
	n.fio = exec.Command("fio", "--name=neighbor", "--filename="+file, "--size=32m", "--rw=randread", "--bs=128k",
		"--direct=1",
		"--ioengine=psync", "--thread", "--rate_iops="+strconv.Itoa(perSecond), "--time_based", "--runtime=600",
		"--output="+os.DevNull)
	n.fio.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.fio.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.stop)
	for deadline := time.Now().Add(hang); n.read() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the neighbor reads nothing")
		}
	}
	return n
}

func (n *neighbour) stop() {
	if n.done {
		return
	}
	n.done = true
	_ = n.fio.Process.Kill()
	_ = n.fio.Wait() // it was killed
}

// read is how many bytes it has had read from devices.
func (n *neighbour) read() uint64 {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", n.fio.Process.Pid))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "read_bytes: "); ok {
			bytes, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			if err != nil {
				n.t.Fatal(err)
			}
			return bytes
		}
	}
	n.t.Fatalf("no read_bytes in %s", text)
	return 0
}

// diskUnder names the whole disk that holds a directory.
func diskUnder(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `lsblk -nso NAME,TYPE "$(df --output=source "$0" | tail -n 1)" | tail -n 1`,
		dir).Output()
	if err != nil {
		t.Skipf("what %s lies on is not known: %v", dir, err)
	}
	return strings.TrimLeft(strings.Fields(string(out))[0], "└─`- ")
}

// checkDisk wants each trial to tell of its disk, and what it did itself told
// apart from what others did.
func checkDisk(t *testing.T, run *result.Run, disk string) {
	t.Helper()
	for _, trial := range run.Trials {
		what := trial.Stack + " under " + trial.Mix
		if trial.Neighbours == nil || trial.Neighbours.CPU == nil {
			t.Errorf("%s shows nothing of its neighbors: %s, %+v", what, trial.Status, trial.Problem)
			continue
		}
		at := slices.IndexFunc(trial.Neighbours.Disks, func(d result.DiskShare) bool { return d.Device == disk })
		if at < 0 {
			t.Errorf("%s does not show who used %s: %+v", what, disk, trial.Neighbours.Disks)
			continue
		}
		d := trial.Neighbours.Disks[at]
		if d.How != result.ByControlGroup {
			t.Errorf("%s: who used %s is known by %s", what, disk, d.How)
		}
		reads, writes := trial.Measured().Operation(result.Read).Count, trial.Measured().Operation(result.Write).Count
		// Whatever has left the page cache meanwhile of fio and its libraries, its
		// group reads again: up to 40 MiB were seen, in 200 reads.
		const loading, journal = 512, 64
		if off(d.Own.Reads, reads, loading) || off(d.Own.Writes, writes, journal) {
			t.Errorf("%s did %d reads and %d writes, and is shown to have asked %s for %+v", what, reads, writes, disk, d.Own)
		}
		c := trial.Neighbours.CPU
		if spent := trial.Measured().Seconds * (trial.Measured().UserCPU +
			trial.Measured().SystemCPU); c.OwnSeconds < 0.8*spent || c.OwnSeconds > c.BusySeconds+0.5 {
			t.Errorf("%s took %.2f s of processor time, and is shown to have taken %.2f of %.2f", what, spent,
				c.OwnSeconds, c.BusySeconds)
		}
	}
}

// off reports whether own is not what was done, within 2% and what may be added
// to it.
func off(own, did, more uint64) bool {
	return float64(own) < 0.98*float64(did) || float64(own) > 1.02*float64(did)+float64(more)
}

// startBurner starts a process that does nothing but compute.
func startBurner(t *testing.T) {
	t.Helper()
	burner := exec.Command("sh", "-c", "while :; do :; done")
	burner.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := burner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = burner.Process.Kill(); _ = burner.Wait() })
}

// Trials wait for a quiet host as long as they may, all together, and then measure beside what disturbs them.
func TestTrialsWaitForQuiet(t *testing.T) {
	hosttest.Exclusive(t)
	startBurner(t)
	for flag, wants := range map[string]bool{"--wait-for-quiet=1200ms": true, "--no-wait-for-quiet": false} {
		p := newProgram(t)
		code, out, errs := p.run("run", p.experiment(`
name: waits
question: Is it quiet?
repeat: 2
trials: 1
runtime: 200ms
stacks: {dir: "dir:`+p.dir+`"}
workloads: {RR: {fio: {rw: randread, bs: 4KiB, size: 4MiB}}}
`), flag)
		if code != 0 {
			t.Fatalf("%s: the run ends with %d: %s%s", flag, code, out, errs)
		}
		_, run := p.result()
		var waited []float64
		for _, trial := range run.Trials {
			waited = append(waited, result.SecondsOf(trial.Phases, result.PhaseQuiet))
		}
		// A look takes half a second.
		if len(waited) != 2 || (waited[0] >= 0.5) != wants || !wants && waited[1] > 0 {
			t.Errorf("%s: trials waited %v seconds", flag, waited)
		}
	}
}

// A neighbour's I/O is told from the trials' own, whatever the stack, and named
// in the verdict; so is a process that only computes.
func TestANeighbourIsToldFromTheTrials(t *testing.T) {
	hosttest.Measures(t)
	canTrace(t)
	startBurner(t)
	n := startNeighbour(t, 400)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: beside
question: Who does it?
repeat: 1
trials: 1
control: false
seed: 1
runtime: 500ms
stacks:
  raw: loop(size=40MiB)
  ext4: loop(size=40MiB) > ext4
  volume: loop(size=40MiB) > ext4 > volume
  dir: dir:`+p.dir+`
workloads:
  RR: {fio: {rw: randread, bs: 4KiB, iodepth: 4, size: 16MiB}}
  RW: {fio: {rw: randwrite, bs: 4KiB, iodepth: 4, size: 16MiB}}
`), "--quiet")
	if code != 0 {
		t.Fatalf("the run ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	checkDisk(t, run, n.disk)
	for _, trial := range run.Trials {
		if trial.Neighbours == nil || len(trial.Neighbours.Disks) == 0 {
			continue // told above
		}
		d := trial.Neighbours.Disks[0]
		// On a crowded host neither keeps its pace.
		if d.Others.ReadBytes == 0 {
			t.Errorf("%s under %s: others read nothing of %s, and one did", trial.Stack, trial.Mix, d.Device)
		}
		if c := trial.Neighbours.CPU; c.OthersSeconds == 0 {
			t.Errorf("%s under %s: others took no processor time in %.2f s, and one did", trial.Stack, trial.Mix, c.Seconds)
		}
	}
	for _, want := range []string{"The host was not quiet: others, mostly ", " of the I/O on " + n.disk,
		"other programs used "} {
		if text := strings.Join(strings.Fields(out), " "); strings.Count(text, want) != 1 {
			t.Errorf("the verdict does not say once %q:\n%s", want, out)
		}
	}
}

// Whoever is not root has no cgroup and no counting by who asks: what
// can be told then is told as a bound, by the disk's counters.
func TestNeighboursWithoutRoot(t *testing.T) {
	hosttest.Exclusive(t)
	startNeighbour(t, 400)
	p := newProgram(t)
	dir := t.TempDir()
	for _, d := range []string{p.dir, dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd, out, errs := p.command("run", p.experiment(`
name: beside
question: Who does it?
repeat: 1
trials: 1
control: false
runtime: 500ms
stacks: {dir: "dir:`+dir+`"}
workloads: {RR: {fio: {rw: randread, bs: 4KiB, iodepth: 4, size: 16MiB}}}
`), "--quiet")
	binary := filepath.Join(dir, "plimsoll")
	if text, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	cmd.Path = binary
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	_, run := p.result()
	trial := run.Trials[0]
	if trial.Neighbours == nil || len(trial.Neighbours.Disks) != 1 {
		t.Fatalf("it reports %+v", trial.Neighbours)
	}
	d := trial.Neighbours.Disks[0]
	did := trial.Measured().Operation(result.Read).Bytes
	if d.How != result.ByCounters || float64(d.Own.ReadBytes) < 0.98*float64(did) ||
		d.Others.ReadBytes == 0 {
		t.Errorf("it read %d bytes, and reports %+v", did, d)
	}
	if !slices.ContainsFunc(run.Stacks[0].Facts,
		func(f result.Fact) bool { return strings.HasPrefix(f.Value, "none: only root") }) {
		t.Errorf("that it had no cgroup is not said: %+v", run.Stacks[0].Facts)
	}
	if !strings.Contains(out.String(), "at least") {
		t.Errorf("that it is a bound is not said:\n%s", out)
	}
}

// measured are the commands of the trials that have ended.
func (p *program) measured() []string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, store.RunsDir, "*/artifacts/*/command"))
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

// Two runs at once say so, at the start and in both results. What one has for
// itself, the other is refused before anything is touched; one that was killed
// stands in nobody's way.
func TestTwoRunsAtOnce(t *testing.T) {
	hosttest.Exclusive(t)
	device := loopDevice(t)
	const text = `
name: %s
question: Who else is there?
repeat: 1
trials: 1
control: false
runtime: 200ms
stacks: {s: "%s"}
workloads: {RR: {fio: {rw: randread, size: 8MiB}}}
`
	first, second, earlier := newProgram(t), newProgram(t), newProgram(t)
	// underWay starts a run, and returns when it measures.
	underWay := func(p *program, runtime string, args ...string) *exec.Cmd {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(p.dir, store.RunsDir)); err != nil { // an earlier run's
			t.Fatal(err)
		}
		cmd, _, errs := p.command(append(append([]string{"run"}, args...), "--fixed", runtime, "--quiet")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		for deadline := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
			if p.writes(store.RunsDir+"/*", "*/command") {
				return cmd
			}
			if time.Now().After(deadline) {
				t.Fatalf("it does not measure: %s", errs)
			}
		}
	}
	before := underWay(earlier, "200ms", earlier.experiment(fmt.Sprintf(text, "earlier", "loop(size=16MiB)")),
		"--repeat", "1000")
	long := []string{first.experiment(fmt.Sprintf(text, "first", device)), "--destroy", device}
	cmd := underWay(first, "20m", long...)
	// Whole trials of the earlier one pass while the first measures.
	ended := len(earlier.measured())
	within(t, hang, "the earlier run goes on", func() bool { return len(earlier.measured()) > ended+2 })
	if err := before.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, before.Wait()); code != exitInterrupted {
		t.Errorf("the earlier run ends with %d", code)
	}
	_, run := earlier.result()
	if n := run.Trials[ended+1].Neighbours; n == nil || len(n.Runs) != 1 || !strings.HasPrefix(n.Runs[0], "first-") {
		t.Errorf("the run that was under way before says of others %+v", n)
	}

	code, out, errs := second.run("run", second.experiment(fmt.Sprintf(text, "second", device)), "--destroy", device)
	if code != exitRefused || !strings.Contains(errs, "another run of plimsoll measures it: first-") {
		t.Errorf("on the same device it ends with %d: %s%s", code, out, errs)
	}
	code, out, errs = second.run("run", second.experiment(fmt.Sprintf(text, "second", "loop(size=16MiB)")))
	if code != 0 || !strings.Contains(errs, "warning: another run of plimsoll is under way: first-") {
		t.Errorf("beside the first it ends with %d: %s", code, errs)
	}
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "another run of plimsoll was under way, first-") {
		t.Errorf("the verdict does not say so:\n%s", out)
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != exitInterrupted {
		t.Errorf("the first ends with %d", code)
	}
	cmd = underWay(first, "20m", long...)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	code, _, errs = second.run("run", second.experiment(fmt.Sprintf(text, "second", device)), "--destroy", device)
	if code != 0 || strings.Contains(errs, "another run") {
		t.Errorf("after the first was killed it ends with %d: %s", code, errs)
	}
	if code, out, errs := first.run("clean"); code != 0 {
		t.Errorf("clean ends with %d: %s%s", code, out, errs)
	}
}
