package labtest

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// driverCase is what the lab's kernel and engine must make of a stack of
// storage-drivers.
type driverCase struct {
	driver string // that the engine says it uses; "" where there is no engine
	pool   string // how its thin pool begins to be described
	source result.Source
}

var driverCases = map[string]driverCase{
	"raw":            {source: result.SourceDevice},
	"volume":         {driver: "overlay2", source: result.SourceDevice},
	"overlay2":       {driver: "overlay2", source: result.SourceDevice},
	"overlay":        {driver: "overlay", source: result.SourceDevice},
	"vfs":            {driver: "vfs", source: result.SourceDevice},
	"btrfs":          {driver: "btrfs", source: result.SourceDevice},
	"fuse-overlayfs": {driver: "fuse-overlayfs", source: result.SourceMemory},
	"loop-lvm":       {driver: "devicemapper", pool: "loop-lvm: ", source: result.SourceMemory},
	"direct-lvm":     {driver: "devicemapper", pool: "direct-lvm: ", source: result.SourceDevice},
}

// driversRefused are the drivers that Linux 6.1 and Docker 20.10 lack, each
// with what its reason and what its remedy must name.
var driversRefused = map[string][2]string{
	"aufs": {"AUFS was not found in /proc/filesystems", "kernel"},
	"zfs":  {"filesystem", "zfs kernel module"},
}

// TestStorageDriversInTheLab runs the experiment as docs/how-to/try-in-a-vm.md has it, but for
// fewer and smaller trials.
func TestStorageDriversInTheLab(t *testing.T) {
	hosttest.Soak(t)
	ran := labRunEnding(t, 1, 0, example(t, "storage-drivers"), "--drives", "1", "--size", "64MiB", "--memory", "2GiB",
		"--in", "experiment.yaml", "--", "plimsoll", "run", "experiment.yaml", "--no-control", "--repeat", "1",
		"--jobs", "2", "--size", "32MiB", "--seed", "4")
	run := ran.run
	if run.Status != result.RunComplete || run.Environment.Hostname != "server" {
		t.Errorf("the run is %s on %s", run.Status, run.Environment.Hostname)
	}
	if want := len(driverCases) + len(driversRefused); len(run.Stacks) != want || len(run.Trials) != 2*want {
		t.Errorf("%d stacks and %d trials, want %d and two of each", len(run.Stacks), len(run.Trials), want)
	}
	for _, s := range run.Stacks {
		if !slices.Contains(s.Marks, result.MarkLab) {
			t.Errorf("%s has the marks %q", s.Name, s.Marks)
		}
		want := driverCases[s.Name]
		if got := factOf(s, "storage driver"); got != want.driver {
			t.Errorf("%s: the engine uses %q, want %q", s.Name, got, want.driver)
		}
		if got := factOf(s, "thin pool"); !strings.HasPrefix(got, want.pool) || (got == "") != (want.pool == "") {
			t.Errorf("%s: its thin pool is %q, want %q", s.Name, got, want.pool)
		}
	}
	cached := []string{"randread", "randwrite"} // workloads of loop-lvm that memory answers
	for _, trial := range run.Trials {
		if want, refused := driversRefused[trial.Stack]; refused {
			checkRefused(t, trial, want)
		} else {
			want := driverCases[trial.Stack].source
			if trial.Stack == "loop-lvm" && trial.Mix == "randwrite" && flushed(trial) {
				want, cached = result.SourceDevice, []string{"randread"}
			}
			checkServed(t, trial, want)
		}
	}
	checkIllusions(t, ran.dir, cached)
	refused := slices.Sorted(maps.Keys(driversRefused))
	for _, want := range []string{"every number here: lab (emulated)",
		"no result: " + strings.Join(refused, " (skipped), ") + " (skipped)",
		"loop-lvm answers " + cached[len(cached)-1] + " from memory"} {
		if !strings.Contains(ran.out, want) {
			t.Errorf("it does not say %q:\n%s", want, ran.out)
		}
	}
}

func factOf(s result.Stack, name string) string {
	for _, f := range s.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func checkRefused(t *testing.T, trial result.Trial, want [2]string) {
	t.Helper()
	if trial.Status != result.TrialSkipped || trial.Problem == nil {
		t.Errorf("%s on %s is %s, want it skipped with its reason", trial.Mix, trial.Stack, trial.Status)
		return
	}
	if !strings.Contains(trial.Problem.Why, want[0]) || !strings.Contains(trial.Problem.Remedy, want[1]) {
		t.Errorf("%s on %s: %+v, want it to name %q, and %q to change it", trial.Mix, trial.Stack, trial.Problem,
			want[0], want[1])
	}
}

// flushed reports whether a device was flushed for one of a hundred writes or more: a pool
// flushes its files every second by itself, and on a host that has much to do, emulated drives
// do less than a hundred writes between.
func flushed(trial result.Trial) bool {
	h, m := trial.Honesty(), trial.Measured()
	return h != nil && m != nil && slices.ContainsFunc(h.Served, func(c result.DeviceCounter) bool {
		return c.Device.Buffered && 100*c.Flushes >= m.Operation(result.Write).Count
	})
}

// checkServed wants a trial done, and its I/O from where the stack has it. Who
// answered must follow from what the devices counted.
func checkServed(t *testing.T, trial result.Trial, want result.Source) {
	t.Helper()
	name := trial.Mix + " on " + trial.Stack
	if trial.Status != result.TrialDone || trial.Measured() == nil || trial.Honesty() == nil ||
		trial.Honesty().Ratio == nil {
		t.Errorf("%s is %s: %+v", name, trial.Status, trial.Problem)
		return
	}
	h := *trial.Honesty()
	if trial.Measured().IOPS() <= 0 || h.Source != want {
		t.Errorf("%s: %.0f IOPS from %s, want them from %s: %s", name, trial.Measured().IOPS(), h.Source, want, h.Reason)
	}
	if want == result.SourceDevice && *h.Ratio < 0.9 {
		t.Errorf("%s: the device served %.2f of each I/O: %s", name, *h.Ratio, h.Reason)
	}
	switch trial.Stack {
	case "loop-lvm":
		// The thin device got the I/O, the loop device under its pool caches it.
		at := slices.IndexFunc(h.Served, func(c result.DeviceCounter) bool { return c.Device.Buffered })
		if at < 1 || h.Served[0].PerIO < 0.9 || h.Served[at].PerIO < 0.9 || at == len(h.Served)-1 {
			t.Errorf("%s: no cache between its devices: %s", name, h.Reason)
		} else if below := h.Served[at+1]; trial.Mix == "randread" && below.PerIO > 0.1 {
			t.Errorf("%s: %s is under the cache and served %.2f of each read", name, below.Device.Name, below.PerIO)
		}
	case "direct-lvm":
		if len(h.Served) < 4 || !strings.HasPrefix(h.Served[0].Device.Name, "dm-") {
			t.Errorf("%s: no thin device on a pool on a loop device on a disk: %s", name, h.Reason)
		}
	}
}

// checkIllusions wants the findings to name loop-lvm under the workloads that its cache
// answers, and why, and no stack that was served by the device.
func checkIllusions(t *testing.T, runDir string, cached []string) {
	t.Helper()
	out, err := exec.Command(program(t), "show", "--json", runDir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ Findings []fact.Finding }
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{} // why, by stack and workload
	for _, f := range shown.Findings {
		if f.Kind != fact.KindIllusion {
			continue
		}
		for _, s := range f.Stacks {
			found[s+" "+f.Workload] = f.Why
			if driverCases[s].source != result.SourceMemory {
				t.Errorf("%s is called an illusion: %s", s, f.Why)
			}
		}
	}
	for _, workload := range cached {
		point := "loop-lvm " + workload
		for _, want := range []string{"sparse files, without direct I/O", "direct-lvm"} {
			if !strings.Contains(found[point], want) {
				t.Errorf("of %s, the finding does not say %q: %s", point, want, found[point])
			}
		}
	}
}
