package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// storeRepeat stores the run of a day: three stacks in four rounds, xfs a tenth and ext4 half slower than raw.
func storeRepeat(t *testing.T, id string, day int, change func(*result.Run)) {
	t.Helper()
	stacks := []string{"raw", "xfs", "ext4"}
	run := result.Run{ID: id, Version: "test", Status: result.RunRunning, Seed: uint64(day),
		Command: []string{"plimsoll", "run", "three.yaml"},
		Started: time.Date(2026, 5, day, 9, 30, 0, 0, time.UTC),
		Experiment: result.Experiment{Name: "three", Question: "Which of three?", Baseline: "raw", Repeat: 4,
			RuntimeSeconds: 1},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0"},
		Workloads:   []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread", Summary: "randread 4 KiB"}},
	}
	for _, name := range stacks {
		run.Stacks = append(run.Stacks, result.Stack{Name: name, Line: "loop(size=1GiB) > " + name + " > volume"})
	}
	for round := range 4 {
		for _, name := range stacks {
			run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Block: round + 1, BringUp: round + 1,
				Repeat: round + 1, Stack: name, Mix: "RR", Status: result.TrialPlanned})
		}
	}
	if change != nil {
		change(&run)
	}
	s, err := store.Create(filepath.Join(store.RunsDir, id), run)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, trial := range s.Run().Trials {
		rate := 10_000 * []float64{1, 0.9, 0.5}[i%3] * (1 + 0.002*float64((i*7+day*5)%11))
		trial.Status, trial.Started, trial.ElapsedSeconds = result.TrialDone, run.Started, 5
		trial.Checks = []result.Honesty{{Source: result.SourceDevice}}
		trial.Instances = result.One(&result.Measurement{Seconds: 1, Operations: []result.Operation{
			{Name: result.Read, Count: uint64(rate), Rate: rate, BytesPerSecond: 4096 * rate}}})
		if err := s.SaveTrial(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(result.RunComplete); err != nil {
		t.Fatal(err)
	}
}

// Several runs are one verdict, which says how many; what it is from is in the JSON.
func TestShowSeveralRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for day, id := range []string{"mon", "tue", "wed", "thu"} {
		storeRepeat(t, id, day+1, nil)
	}
	out, _ := plimsoll(t, exitOK, "show", "mon", "tue", "wed", "thu")
	contains(t, out, "48 of 48 trials done in 4 runs: mon, tue, wed, thu", "Sure: use ", "This is from 4 runs.")
	full, _ := plimsoll(t, exitOK, "show", "mon", "tue", "--full")
	contains(t, full, "This is from 2 runs.")
	alone, _ := plimsoll(t, exitOK, "show", "mon")
	if strings.Contains(alone, "This is from") {
		t.Errorf("a run alone says\n%s", alone)
	}
	text, _ := plimsoll(t, exitOK, "show", "mon", "tue", "--margin", "2%", "--json")
	var document struct {
		Run struct {
			ID         string             `json:"id"`
			Pooled     []result.PooledRun `json:"pooled"`
			Experiment struct {
				Margin float64 `json:"margin"`
			} `json:"experiment"`
			Trials []result.Trial `json:"trials"`
		} `json:"run"`
		Findings []struct {
			Recommendation *struct {
				Runs   int     `json:"runs"`
				Margin float64 `json:"margin"`
			} `json:"recommendation"`
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	r := document.Findings[0].Recommendation
	if document.Run.ID != "mon+tue" || len(document.Run.Pooled) != 2 || document.Run.Experiment.Margin != 0.02 ||
		r.Runs != 2 || r.Margin != 0.02 || document.Run.Trials[23].Run != 2 {
		t.Errorf("got %+v and %+v", document.Run, *r)
	}
}

// Runs that are no repeats are refused with all that differs, and so are flags that make no sense with several.
func TestSeveralRunsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	storeRepeat(t, "mon", 1, nil)
	storeRepeat(t, "tue", 2, nil)
	storeRepeat(t, "wed", 3, nil)
	storeRepeat(t, "quay", 4, func(run *result.Run) {
		run.Environment.Hostname, run.Environment.Kernel = "quay", "6.19.0\x1b[31m"
		run.Experiment.RuntimeSeconds = 9
	})
	for args, wants := range map[string][]string{
		"show mon quay": {"host: drydock in mon, quay in quay", "kernel: 6.18.0 in mon, 6.19.0",
			"runtime seconds: 1 in mon, 9 in quay"},
		"show mon tue mon":                  {"mon is named twice: a run is evidence once"},
		"show mon tue --report":             {"--report writes the page of one run"},
		"show mon nosuch none":              {"there is no run nosuch", "there is no run none"},
		"show mon --margin 60%":             {"--margin takes a share from 1% to 50%, not \"60%\""},
		"show mon --margin 0.1%":            {"--margin takes a share from 1% to 50%"},
		"advise settings --margin x":        {"--margin takes a share from 1% to 50%"},
		"run quick --margin 70%":            {"--margin takes a share from 1% to 50%, not \"70%\""},
		"compare mon tue wed":               {"plimsoll compare mon tue -- wed"},
		"compare mon --":                    {"compare takes runs on both sides of --, and was given 1 before it and 0"},
		"compare mon tue -- quay wed":       {"host: drydock in wed, quay in quay"},
		"compare mon tue -- wed mon":        {"mon is on both sides"},
		"compare mon mon -- tue wed":        {"mon is named twice"},
		"compare mon tue -- wed nosuch":     {"there is no run nosuch"},
		"compare mon tue --threshold 200%%": {"--threshold"},
	} {
		_, errs := plimsoll(t, exitUsage, strings.Fields(args)...)
		for _, want := range wants {
			if !strings.Contains(errs, want) {
				t.Errorf("%s says %q, not %q", args, errs, want)
			}
		}
		if strings.Contains(errs, "\x1b[31m") {
			t.Errorf("%s prints the colours of a file: %q", args, errs)
		}
	}
}

// Several runs on a side are compared by runs.
func TestCompareSeveralRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for day := 1; day <= 6; day++ {
		storeRepeat(t, fmt.Sprintf("day%d", day), day, nil)
	}
	out, _ := plimsoll(t, exitOK, "compare", "day1", "day2", "day3", "--", "day4", "day5", "day6")
	contains(t, out, "A  day1, day2 and day3: ", "12+12 in 3+3", "Student's t of runs", "Verdict: B is no worse than A")
	if strings.Contains(out, "one run on each side") {
		t.Errorf("three runs on each side are called one:\n%s", out)
	}
	out, _ = plimsoll(t, exitOK, "compare", "day1", "day2", "day3", "--threshold", "5%", "--", "day4")
	contains(t, out, "12+4 in 3+1")
	out, _ = plimsoll(t, exitTooFew, "compare", "day1", "day2", "--", "day3")
	contains(t, out, "2 runs and 1 do not show how much runs differ by themselves; it takes 4 in all")
	out, _ = plimsoll(t, exitTooFew, "compare", "day1", "day2") // each is of four rounds
	contains(t, out, "one run on each side does not show how much runs differ by themselves")
}

// Guidelines pool repeats, and take the same run once.
func TestGuidelinesPoolRepeats(t *testing.T) {
	t.Chdir(t.TempDir())
	storeRepeat(t, "mon", 1, nil)
	storeRepeat(t, "tue", 2, nil)
	storeRepeat(t, "other", 3, func(run *result.Run) { run.Experiment.RuntimeSeconds = 9 })
	out, _ := plimsoll(t, exitOK, "advise", "settings")
	contains(t, out, "1 guideline from 3 runs", ", in other; 1 other run is about it too")
	out, _ = plimsoll(t, exitOK, "advise", "settings", "mon", "tue")
	contains(t, out, "This is from 2 runs.", "in mon and tue")
}
