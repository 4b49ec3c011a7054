package repeats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// repeat makes a run of two rounds of two stacks on a loop device of its own, the nth on its host.
func repeat(n int) *result.Run {
	run := &result.Run{
		ID: fmt.Sprintf("quick-%d", n), Version: "1.0", Status: result.RunComplete, Seed: uint64(n),
		Started:     time.Date(2026, 5, 12, 9, n, 0, 0, time.UTC),
		Experiment:  result.Experiment{Name: "quick", Source: "name: quick\nrepeat: 2\n", RuntimeSeconds: 2, Repeat: n},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0", FioVersion: "3.33", CPUs: 4},
		Workloads:   []result.Workload{{Name: "randread", Declared: "fio: {rw: randread}"}},
		Regions:     []result.Region{{Number: 1}, {Number: 2}},
	}
	for _, name := range []string{"raw", "xfs"} {
		run.Stacks = append(run.Stacks, result.Stack{Name: name, Line: "loop(size=1GiB) > " + name,
			Devices: []result.Device{{Name: fmt.Sprintf("loop%d", n), MajMin: fmt.Sprintf("7:%d", n), Role: "top"}},
			Facts:   []result.Fact{{Name: fmt.Sprintf("scheduler of loop%d", n), Value: "none"}}})
		for round := 1; round <= 2; round++ {
			run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Block: round, Stack: name, Mix: "randread",
				Repeat: round, BringUp: round, Region: round, Status: result.TrialDone, Artifacts: "trials/1"})
		}
	}
	return run
}

// Rounds, setups and regions of one run are none of another, and the runs that were given stay as they are.
func TestPool(t *testing.T) {
	first, second := repeat(1), repeat(2)
	second.Status = result.RunInterrupted
	got, err := Pool([]*result.Run{second, first})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "quick-1+quick-2" || got.Status != result.RunInterrupted || len(got.Pooled) != 2 ||
		got.Pooled[0].ID != "quick-1" {
		t.Errorf("pooled %s, %s, of %v", got.ID, got.Status, got.Pooled)
	}
	var lines []string
	for _, trial := range got.Trials {
		lines = append(lines, fmt.Sprintf("run %d seq %d %s block %d setup %d region %d %s", trial.Run, trial.Seq,
			trial.Stack, trial.Block, trial.BringUp, trial.Region, trial.Artifacts))
	}
	want := []string{
		"run 1 seq 1 raw block 1 setup 1 region 1 quick-1/trials/1",
		"run 1 seq 2 raw block 2 setup 2 region 2 quick-1/trials/1",
		"run 1 seq 3 xfs block 1 setup 1 region 1 quick-1/trials/1",
		"run 1 seq 4 xfs block 2 setup 2 region 2 quick-1/trials/1",
		"run 2 seq 5 raw block 3 setup 3 region 3 quick-2/trials/1",
		"run 2 seq 6 raw block 4 setup 4 region 4 quick-2/trials/1",
		"run 2 seq 7 xfs block 3 setup 3 region 3 quick-2/trials/1",
		"run 2 seq 8 xfs block 4 setup 4 region 4 quick-2/trials/1",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if len(got.Regions) != 4 || got.Regions[3].Number != 4 || len(got.Stacks) != 2 || len(got.Workloads) != 1 {
		t.Errorf("regions %v, stacks %v, workloads %v", got.Regions, got.Stacks, got.Workloads)
	}
	if first.Trials[0].Run != 0 || second.Trials[0].Block != 1 || second.Regions[0].Number != 1 {
		t.Error("a run that was given is changed")
	}
	if alone, err := Pool([]*result.Run{first}); err != nil || alone != first {
		t.Errorf("a run alone is pooled as %v, %v", alone, err)
	}
}

// Everything that keeps runs from being repeats is named at once; how often they were repeated is nothing of it.
func TestDifferencesAreRefusedTogether(t *testing.T) {
	other := repeat(2)
	other.Environment.Hostname, other.Environment.Kernel, other.Environment.FioVersion = "quay", "6.19.0", "3.36"
	other.Experiment.RuntimeSeconds, other.Experiment.Precondition, other.Experiment.Repeat = 5, "snia", 9
	other.Experiment.BudgetSeconds, other.Experiment.Margin = 600, 0.02
	other.Experiment.Source = "name: quick\nrepeat: 7\n"
	other.Stacks[1].Line = "loop(size=2GiB) > xfs"
	other.Stacks[0].Facts[0].Value = "mq-deadline"
	other.Workloads[0].Declared = "fio: {rw: randwrite}"
	_, err := Pool([]*result.Run{repeat(1), other})
	if err == nil {
		t.Fatal("runs that differ in everything are pooled")
	}
	for _, want := range []string{
		"experiment file, line 2: repeat: 2 in quick-1, repeat: 7 in quick-2", "host: drydock in quick-1, quay in quick-2",
		"kernel: 6.18.0 in quick-1, 6.19.0 in quick-2", "fio: 3.33 in quick-1, 3.36 in quick-2",
		"runtime seconds: 2 in quick-1, 5 in quick-2", `precondition: none in quick-1, "snia" in quick-2`,
		"stack xfs: loop(size=1GiB) > xfs in quick-1, loop(size=2GiB) > xfs in quick-2",
		"scheduler of the top device of stack raw: none in quick-1, mq-deadline in quick-2", "workload randread, line 1: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	for _, not := range []string{"budget", "margin", "repeat:  "} {
		if strings.Contains(err.Error(), not) {
			t.Errorf("%q is in\n%v", not, err)
		}
	}
	same := repeat(3)
	same.Experiment.BudgetSeconds, same.Experiment.Margin, same.Experiment.File = 600, 0.02, "copy.yaml"
	if _, err := Pool([]*result.Run{repeat(1), same}); err != nil {
		t.Errorf("longer repeats are refused: %v", err)
	}
}

// A run that is named twice, or copied under another name, is no further evidence.
func TestAttackRunIsEvidenceOnce(t *testing.T) {
	renamed := repeat(1)
	renamed.ID = "quick-9"
	for want, runs := range map[string][]*result.Run{
		"quick-1 is named twice":       {repeat(1), repeat(2), repeat(1)},
		"quick-9 is a copy of quick-1": {repeat(1), renamed},
	} {
		if _, err := Pool(runs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := Apart([]*result.Run{repeat(1), repeat(2)}, []*result.Run{renamed}); err == nil {
		t.Error("a copy of a run of one side is taken for one of the other")
	}
	if all := Groups([]*result.Run{repeat(1), renamed}); len(all) != 1 || len(all[0].Pooled) != 0 {
		t.Errorf("a copy is pooled: %v", all)
	}
}

// What a file says of a run names no more of it than fits a line.
func TestAttackLongDifference(t *testing.T) {
	other := repeat(2)
	other.Environment.Kernel = strings.Repeat("x", 1<<20)
	if _, err := Pool([]*result.Run{repeat(1), other}); err == nil || len(err.Error()) > 1000 {
		t.Error("a long value is not cut off")
	}
}

// Numbers that were measured elsewhere, and trials without setups, are no repeats.
func TestUnknownRepeatsAreRefused(t *testing.T) {
	imported, loose := repeat(2), repeat(3)
	imported.Imported = []result.InputFile{{Name: "fio.json"}}
	for i := range loose.Trials {
		loose.Trials[i].BringUp = 0
	}
	_, err := Pool([]*result.Run{repeat(1), imported, loose})
	if err == nil || !strings.Contains(err.Error(), "quick-2 was imported") ||
		!strings.Contains(err.Error(), "quick-3 does not say") {
		t.Errorf("got %v", err)
	}
}

// Repeats stand together, others apart; the newest of each says where.
func TestGroups(t *testing.T) {
	elsewhere := repeat(4)
	elsewhere.Environment.Hostname = "quay"
	var got []string
	for _, run := range Groups([]*result.Run{repeat(1), elsewhere, repeat(2), repeat(5)}) {
		got = append(got, run.ID)
	}
	if want := []string{"quick-1+quick-2+quick-5", "quick-4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
