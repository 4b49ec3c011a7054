package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/result/store"
)

// storeRates stores a run of xfs under RR with a trial of each rate.
func storeRates(t *testing.T, id string, rates ...float64) {
	t.Helper()
	run := result.Run{
		ID: id, Version: "test", Status: result.RunRunning, Started: time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC),
		Experiment:  result.Experiment{Name: "one", Repeat: len(rates), RuntimeSeconds: 1},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0"},
		Stacks:      []result.Stack{{Name: "xfs", Line: "loop(size=1GiB) > xfs"}},
		Workloads:   []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread", Summary: "randread 4 KiB"}},
	}
	for i := range rates {
		run.Trials = append(run.Trials,
			result.Trial{Seq: i + 1, Block: i + 1, Repeat: i + 1, Stack: "xfs", Mix: "RR", Status: result.TrialPlanned})
	}
	s, err := store.Create(filepath.Join(store.RunsDir, id), run)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, trial := range s.Run().Trials {
		ns := uint64(32e9 / rates[i])
		total := hist.Histogram{Count: 1000, MeanNS: float64(ns), MinNS: ns, MaxNS: ns,
			Bins: hist.Pack([]hist.Bin{{NS: ns, Count: 1000}})}
		trial.Status, trial.Started = result.TrialDone, run.Started
		trial.Checks = []result.Honesty{{Source: result.SourceDevice}}
		trial.Instances = result.One(&result.Measurement{Seconds: 1,
			Operations: result.ReadsWrites(result.Operation{Count: 1000, Rate: rates[i], BytesPerSecond: 4096 * rates[i],
				Latency: map[result.Stage]hist.Histogram{result.Total: total}}, result.Operation{})})
		if err := s.SaveTrial(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(result.RunComplete); err != nil {
		t.Fatal(err)
	}
}

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	storeRates(t, "before", 1000, 1002, 1004, 1006, 1008, 1010)
	storeRates(t, "again", 1001, 1003, 1004, 1005, 1009, 1012)
	storeRates(t, "slowed", 900, 902, 904, 906, 908, 910)
	storeRates(t, "noisy", 600, 1400, 1000, 1100, 900, 1004)
	storeRates(t, "short", 1000, 1001, 1002)
	for _, c := range []struct {
		code int
		args string
		want string // the last line
	}{
		{exitOK, "before again", "no regression beyond 5% in 1 row"},
		{exitOK, "slowed before", "no regression beyond 5% in 1 row, and 1 is better"},
		{exitRegression, "before slowed", "B is worse than A: IOPS of xfs under RR fell by 10%, beyond the 5% " +
			"allowed, in 1 of 1 row"},
		{exitRegression, "before slowed --metric p99", "p99 latency of xfs under RR rose by 11%"},
		{exitRegression, "before slowed --metric p95", "p95 latency of xfs under RR rose by 11%"},
		{exitOK, "before slowed --threshold 15%", "no regression beyond 15%"},
		{exitOK, "before slowed --threshold 0.15", "no regression beyond 15%"},
		{exitTooNoisy, "before noisy", "Too noisy to say whether B is worse: a regression beyond 5% could hide in 1 " +
			"of 1 row"},
		{exitTooNoisy, "before noisy --all", "Too noisy to say whether B is worse: a regression beyond 5% could hide " +
			"in 1 of 1 row"},
		{exitTooFew, "before short", "Too early to say whether B is worse, in 1 of 1 row: 6 trials against 3 cannot decide"},
		{exitTooFew, "before short --alpha 5%", "Too early to say whether B is worse, in 1 of 1 row: 6 trials " +
			"against 3 have no interval; repeat each 4 times or more"},
	} {
		out, _ := plimsoll(t, c.code, append([]string{"compare"}, strings.Fields(c.args)...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "Verdict: ") || !strings.Contains(last, c.want) {
			t.Errorf("compare %s ends with %q, not with %q", c.args, last, c.want)
		}
		quiet, errs := plimsoll(t, c.code, append([]string{"compare", "-q"}, strings.Fields(c.args)...)...)
		if "Verdict: "+quiet != lines[len(lines)-1]+"\n" || errs != "" {
			t.Errorf("compare -q %s prints %q and %q", c.args, quiet, errs)
		}
		if strings.Contains(out, "p99.9 latency") != strings.Contains(c.args, "--all") {
			t.Errorf("compare %s shows the wrong metrics:\n%s", c.args, out)
		}
	}

	out, _ := plimsoll(t, exitRegression, "compare", "before", "slowed", "--json")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if c.A.ID != "before" || c.B.ID != "slowed" || c.Verdict != compare.Regression || len(c.Rows) != 6 ||
		!c.Rows[0].Differs || c.Rows[0].A.Median != 1005 {
		t.Errorf("compare --json gives %s", out)
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	storeRates(t, "before", 1000)
	for args, want := range map[string]string{
		"before":                      "compare takes two runs, the one before and the one after, but was given before",
		"before nosuch":               "there is no run nosuch",
		"before before --threshold 5": "--threshold 5: it takes a share above 0% and below 100%: write 5%, or 1/5",
		"before before --alpha 0":     "--alpha 0: it takes a share",
		"before before --alpha NaN":   "--alpha NaN: it takes a share",
		"before before --metric clat": "--metric clat: there is no metric clat: did you mean p99? there are iops, " +
			"bandwidth, p50, " +
			"p95, p99, p99.9",
		"before before --json --quiet":     "--json and --quiet do not go together",
		"before before --alpha x --metric": "--metric takes a value",
	} {
		if _, errs := plimsoll(t, exitUsage,
			append([]string{"compare"}, strings.Fields(args)...)...); !strings.Contains(errs, want) {
			t.Errorf("compare %s says %q, not %q", args, errs, want)
		}
	}
	_, errs := plimsoll(t, exitUsage, "compare", "before", "before", "--threshold", "2", "--alpha", "x", "--metric", "y")
	contains(t, errs, "--threshold 2", "--alpha x", "--metric y")
}
