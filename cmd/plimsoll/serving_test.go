package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/state/datasets"
	"plimsoll/internal/testkit/hosttest"
)

// serversOn has two servers on a stack, one that is read and one that is written to.
func serversOn(stack string, runtime time.Duration) string {
	return fmt.Sprintf(`
name: servers
question: What do servers do beside each other?
repeat: 1
trials: 2
runtime: %s
ramp: 100ms
seed: 1
stacks:
  disk: %s
workloads:
  C: {ycsb: {workload: C, records: 10000, threads: 4, cache: warm}}
  A: {ycsb: {workload: A, records: 10000, threads: 4}}
mixes:
  both: {C: {count: 1, limits: {memory: 128MiB}}, A: 1}
host: {cpus: 2, memory: 512MiB}
`, runtime, stack)
}

// TestServersAreDriven: servers run in the places of instances, on the host and in
// containers, from the same data in each trial; what they do is measured from outside.
func TestServersAreDriven(t *testing.T) {
	hosttest.Exclusive(t)
	for _, stack := range []string{
		"loop(size=512MiB) > xfs", "loop(size=512MiB) > ext4 > volume", "loop(size=512MiB) > ext4 > overlay2",
	} {
		t.Run(stack, func(t *testing.T) {
			before := hosttest.Look()
			p := newProgram(t)
			code, out, errs := p.run("run", p.experiment(serversOn(stack, time.Second)), "--quiet")
			if code != 0 {
				t.Fatalf("ends with %d: %s%s", code, out, errs)
			}
			_, run := p.result()
			if len(run.Trials) != 2 {
				t.Fatalf("%d trials", len(run.Trials))
			}
			for _, trial := range run.Trials {
				if len(trial.Instances) != 2 || trial.Window == nil || len(trial.Checks) != 1 ||
					trial.Checks[0].Source != result.SourceServer {
					t.Fatalf("trial %d: %+v", trial.Seq, trial)
				}
				reads, both := trial.Instances[0].Measurement, trial.Instances[1].Measurement
				if len(reads.Operations) != 1 || reads.Operations[0].Name != "read" || reads.Operations[0].Count == 0 {
					t.Errorf("trial %d: the one that is read did %+v", trial.Seq, reads.Operations)
				}
				counts := map[string]uint64{}
				for _, o := range both.Operations {
					counts[o.Name] = o.Count
					if o.Errors > 0 || o.Latency[result.Total].Count != o.Count {
						t.Errorf("trial %d: %s: %d errors, %d of %d latencies", trial.Seq, o.Name, o.Errors,
							o.Latency[result.Total].Count, o.Count)
					}
				}
				if counts["read"] == 0 || counts["update"] == 0 {
					t.Errorf("trial %d: the one that is written to did %v", trial.Seq, counts)
				}
				for _, in := range trial.Instances {
					if in.Usage == nil || in.Usage.CPUSeconds == 0 {
						t.Errorf("trial %d: server %d used %+v", trial.Seq, in.Index, in.Usage)
					}
				}
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// TestLoadedDataIsKeptForLaterRuns: a second run does not load what a first one did, unless
// it was removed, and measures the same.
func TestLoadedDataIsKeptForLaterRuns(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	text := serversOn("loop(size=512MiB) > xfs", 300*time.Millisecond)
	file := p.experiment(strings.Replace(text, "trials: 2", "trials: 1", 1))
	loads := func(how ...string) (loaded bool) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "run")
		code, out, errs := p.run(append([]string{"run", file, "--quiet", "--output", dir}, how...)...)
		if code != 0 {
			t.Fatalf("ends with %d: %s%s", code, out, errs)
		}
		steps, err := filepath.Glob(filepath.Join(dir, "artifacts", "*", "*", "prepare"))
		if err != nil {
			t.Fatal(err)
		}
		more, err := filepath.Glob(filepath.Join(dir, "artifacts", "*", "prepare"))
		return len(steps)+len(more) > 0 && err == nil
	}
	kept := func() (copies int) {
		t.Helper()
		code, out, errs := p.run("data", "list", "--json")
		var all struct{ Data []datasets.Copy }
		if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil {
			t.Fatalf("listing ends with %d, %v: %s%s", code, err, out, errs)
		}
		return len(all.Data)
	}
	if !loads("--keep-data", "0") || kept() != 0 {
		t.Error("without room, nothing is loaded, or something kept")
	}
	if !loads() || kept() != 1 {
		t.Error("the first run does not load, or does not keep what it loaded")
	}
	if loads() {
		t.Error("the second run loads again")
	}
	if !loads("--keep-data", "0") {
		t.Error("what is kept is used though nothing is to be")
	}
	if code, out, errs := p.run("data", "remove", "--all"); code != 0 || kept() != 0 {
		t.Errorf("removing ends with %d: %s%s", code, out, errs)
	}
	if !loads() {
		t.Error("what was removed is used")
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// TestACrashOfServersAtAnyStepIsUndone kills plimsoll at each step of trials with servers.
func TestACrashOfServersAtAnyStepIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	// Behind work directory, presence, file, loop device, mkfs, directory and mount come the
	// scaled-down host, two groups and directories, golden data twice, a group of what drives, and
	// processes.
	crashAtEveryStep(t, strings.Replace(serversOn("loop(size=512MiB) > ext4", 200*time.Millisecond),
		"trials: 2", "trials: 1", 1), 8, []string{"cgroup", "dir", "process"}, "--keep-data", "0")
}

// TestARunOfServersThatWasKilledGoesOn: what it was at is undone, and done again.
func TestARunOfServersThatWasKilledGoesOn(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	cmd, _, said := p.command("run", p.experiment(serversOn("loop(size=512MiB) > xfs > volume", 2*time.Second)), "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	within(t, hang, "servers are measured", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the run ended (%v): %s", err, said)
		default:
		}
		return p.writes("plimsoll-runs/*", "001-*/instance-0/load.ndjson")
	})
	_ = cmd.Process.Kill()
	if err := <-ended; err == nil {
		t.Fatal("a killed run ended well")
	}
	if code, out, errs := p.run("run", "--resume", "last", "--quiet"); code != 0 {
		t.Fatalf("going on ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	done := 0
	for _, trial := range run.Trials {
		if trial.Status == result.TrialDone && len(trial.Instances) == 2 {
			done++
		}
	}
	if done != 2 || run.Status != result.RunComplete {
		t.Errorf("%d of 2 trials are done, and the run is %s", done, run.Status)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// TestAServerThatIsKilledIsAResult: of the instance that it belongs to, with its reason.
func TestAServerThatIsKilledIsAResult(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		name, victim string
		says         string
	}{
		{"server", "serve-pebble", "killed"},
		{"generator", "generate", "killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := hosttest.Look()
			p := newProgram(t)
			killed := make(chan string, 1)
			go func() { killed <- killWhenMeasured(p.dir, test.victim) }()
			code, out, errs := p.run("run", p.experiment(serversOn("loop(size=512MiB) > ext4", 3*time.Second)), "--quiet")
			if why := <-killed; why != "" {
				t.Fatal(why)
			}
			if code != exitPartial {
				t.Errorf("ends with %d: %s%s", code, out, errs)
			}
			_, run := p.result()
			first, second := run.Trials[0], run.Trials[1]
			if first.Status != result.TrialFailed || first.Problem == nil || second.Status != result.TrialDone {
				t.Fatalf("%s (%+v), then %s (%+v)", first.Status, first.Problem, second.Status, second.Problem)
			}
			var died, lived int
			for _, in := range first.Instances {
				switch {
				case in.Problem != nil && strings.Contains(in.Problem.Text(), test.says):
					died++
				case in.Measurement != nil && in.Measurement.IOs() > 0:
					lived++
				}
			}
			if died != 1 || lived != 1 {
				t.Errorf("%+v", first.Instances)
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// hang is how long something may take that a busy host delays, and that comes by itself.
const hang = 10 * time.Minute

// killWhenMeasured kills the first process whose command line has a word, once both instances
// measure below a directory. It returns why it could not.
func killWhenMeasured(dir, word string) string {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		pids := processesBelow(dir, word)
		if measuring(dir, 1) < 2 || len(pids) == 0 {
			continue
		}
		if err := unix.Kill(pids[0], unix.SIGKILL); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("nothing was measured within %s", hang)
}

// measuring returns how many instances of a trial of a run below a directory have
// told what they did: load generators do at the end of their ramp, and at their own.
func measuring(dir string, seq int) (instances int) {
	trial := filepath.Join(dir, fmt.Sprintf("state/work-*/trials/%03d-*", seq))
	alone, _ := filepath.Glob(filepath.Join(trial, "load.ndjson"))
	several, _ := filepath.Glob(filepath.Join(trial, "instance-*/load.ndjson"))
	for _, name := range slices.Concat(alone, several) {
		info, err := os.Stat(name)
		if err == nil && info.Size() > 0 {
			instances++
		}
	}
	return instances
}

// processesBelow are processes with a word in their command line whose working directory is
// below a directory.
func processesBelow(dir, word string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		words := strings.Split(string(line), "\x00")
		if err != nil || !slices.Contains(words, word) || slices.Contains(words, "--wait") {
			continue
		}
		at, err := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		if err != nil || !strings.HasPrefix(at, dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
