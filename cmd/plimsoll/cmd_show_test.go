package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/result/store"
)

func storeRun(t *testing.T, dir, id string, started time.Time) {
	t.Helper()
	if err := makeRun(dir, id, started); err != nil {
		t.Fatal(err)
	}
}

// makeRun stores a run of two stacks, each tried twice.
func makeRun(dir, id string, started time.Time) error {
	run := result.Run{
		ID: id, Version: "test", Status: result.RunRunning, Seed: 7, Started: started,
		Command:     []string{"plimsoll", "run", "two.yaml"},
		Experiment:  result.Experiment{Name: "two", Question: "Which of the two?", Baseline: "raw", Repeat: 2},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0"},
		Stacks:      []result.Stack{{Name: "raw", Line: "loop(size=1GiB)"}, {Name: "xfs", Line: "loop(size=1GiB) > xfs"}},
		Workloads:   []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread"}},
	}
	for i := range 4 {
		run.Trials = append(run.Trials,
			result.Trial{Seq: i + 1, Block: i/2 + 1, Repeat: i/2 + 1, Stack: run.Stacks[i%2].Name, Mix: "RR",
				Status: result.TrialPlanned})
	}
	s, err := store.Create(dir, run)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, trial := range s.Run().Trials[:3] {
		trial.Status, trial.Started = result.TrialDone, started
		total := hist.Histogram{Count: 10, MeanNS: 1e6, MinNS: 1e6, MaxNS: 1e6,
			Bins: hist.Pack([]hist.Bin{{NS: 1e6, Count: 10}})}
		trial.Instances = result.One(&result.Measurement{Seconds: 1,
			Operations: result.ReadsWrites(result.Operation{Count: 10, Rate: 12345 + float64(i),
				Latency: map[result.Stage]hist.Histogram{result.Submission: total, result.Completion: total,
					result.Total: total}}, result.Operation{})})
		if err := s.SaveTrial(trial); err != nil {
			return err
		}
	}
	failed := s.Run().Trials[3]
	failed.Status, failed.Problem = result.TrialFailed,
		&problem.Problem{What: "fio on xfs", Why: "killed", Remedy: "more memory"}
	if err := s.SaveTrial(failed); err != nil {
		return err
	}
	return s.Finish(result.RunComplete)
}

// plimsoll runs a command line and gives what it printed.
func plimsoll(t *testing.T, wantCode int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), args, &out, &errs); code != wantCode {
		t.Errorf("plimsoll %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// runsHere makes a working directory with two runs below ./plimsoll-runs.
func runsHere(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	at := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	storeRun(t, filepath.Join(store.RunsDir, "two-20260513"), "two-20260513", at.Add(24*time.Hour))
	storeRun(t, filepath.Join(store.RunsDir, "old-20260512"), "old-20260512", at)
}

func TestShow(t *testing.T) {
	runsHere(t)
	for name, args := range map[string][]string{
		"nothing": {"show"}, "last": {"show", "last"}, "a prefix": {"show", "two"},
		"a directory": {"show", "plimsoll-runs/two-20260513"},
	} {
		out, _ := plimsoll(t, exitOK, args...)
		for _, want := range []string{"two on drydock, 13 May 2026", "3 of 4 trials done, 1 failed", "12,346",
			"fio on xfs: killed", "more memory", "plimsoll-runs/two-20260513/report.html"} {
			if !strings.Contains(out, want) {
				t.Errorf("show with %s lacks %q:\n%s", name, want, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("show with %s has colours without a terminal", name)
		}
	}
	short, _ := plimsoll(t, exitOK, "show")
	full, _ := plimsoll(t, exitOK, "show", "--full")
	for _, rest := range []string{"\nEnvironment\n", "\nBehind the verdict\n", "/artifacts\n"} {
		if strings.Contains(short, rest) || !strings.Contains(full, rest) {
			t.Errorf("%q stands in the short form, or is missing in the full one:\n%s\n%s", rest, short, full)
		}
	}
	if !strings.Contains(short, "plimsoll show --full plimsoll-runs/two-20260513\n") {
		t.Errorf("the short form does not say where the rest is:\n%s", short)
	}
	out, _ := plimsoll(t, exitOK, "show", "old", "--json")
	var doc struct {
		Run      result.Run
		Findings []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Run.ID != "old-20260512" || len(doc.Findings) == 0 {
		t.Errorf("show --json: %v, run %q, %d findings", err, doc.Run.ID, len(doc.Findings))
	}
	out, _ = plimsoll(t, exitOK, "show", "--report")
	page, err := os.ReadFile(strings.TrimSpace(out))
	if err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("show --report printed %q: %v", out, err)
	}
}

func TestShowRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"show"}, "no run in plimsoll-runs"},
		{exitUsage, []string{"show", "nosuch"}, "there is no run nosuch"},
		{exitUsage, []string{"show", "."}, "no run"},
		{exitUsage, []string{"show", "--json", "--report"}, "--json and --report do not go together"},
		{exitUsage, []string{"show", "a", "b"}, "there is no run b"},
		{exitUsage, []string{"export", "--format", "xml"}, `no export format "xml": --format takes ndjson or csv`},
		{exitUsage, []string{"export", "nosuch"}, "there is no run nosuch"},
	} {
		if _, errs := plimsoll(t, c.code, c.args...); !strings.Contains(errs, c.want) {
			t.Errorf("plimsoll %s says %q, not %q", strings.Join(c.args, " "), errs, c.want)
		}
	}
	if err := os.MkdirAll("damaged", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("damaged/results.db", bytes.Repeat([]byte("x"), 5000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs := plimsoll(t, exitFailure, "show", "damaged"); !strings.Contains(errs, "damaged") {
		t.Errorf("a damaged run gives %q", errs)
	}
}

func TestExport(t *testing.T) {
	runsHere(t)
	out, _ := plimsoll(t, exitOK, "export")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var row struct {
		Run      string
		Measured struct{ Rate float64 }
	}
	if err := json.Unmarshal([]byte(lines[0]), &row); err != nil || len(lines) != 4 || row.Run != "two-20260513" ||
		row.Measured.Rate != 12345 {
		t.Errorf("export gives %d lines, the first with %+v, %v", len(lines), row, err)
	}
	if out, _ := plimsoll(t, exitOK, "export", "old", "--format", "csv", "-o", "rows.csv"); out != "" {
		t.Errorf("export to a file prints %q", out)
	}
	f, err := os.Open("rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) != 5 || records[1][0] != "old-20260512" {
		t.Errorf("rows.csv: %v, %v", err, records)
	}
	if _, errs := plimsoll(t, exitFailure, "export", "-o", "no/such/dir"); !strings.Contains(errs, "no/such/dir") {
		t.Errorf("a file that cannot be written gives %q", errs)
	}
}
