package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// endedRun is a run of n trials that are over.
func endedRun(n int) result.Run {
	run := plannedRun(n)
	run.Status = result.RunComplete
	for i, t := range run.Trials {
		run.Trials[i] = done(t, 20)
	}
	run.Imported = []result.InputFile{{Name: "fio.json", Bytes: 7, SHA256: "0"}}
	reads := run.Trials[0].Measured().Operation(result.Read)
	total := reads.Latency[result.Total]
	total.Printed = []hist.Quantile{{Percent: 99.9, NS: 5}}
	reads.SetLatency(result.Total, total)
	run.Trials[0].Measured().SetOperation(reads)
	return run
}

func artifactsOf(t result.Trial) map[string][]byte {
	if t.Seq == 2 {
		return nil
	}
	return map[string][]byte{"fio.json": []byte("{}"), "job_lat.1.log": []byte("1, 2, 0, 512\n")}
}

// What is kept is read back as it was, with its artifacts.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "runs", "run")
	want := endedRun(3)
	if err := Keep(t.Context(), dir, want, artifactsOf); err != nil {
		t.Fatal(err)
	}
	got := read(t, dir)
	if got.Finished.IsZero() || got.Finished.After(time.Now()) {
		t.Errorf("finished %v", got.Finished)
	}
	got.Finished = time.Time{}
	for i := range want.Trials {
		if want.Trials[i].Seq != 2 {
			want.Trials[i].Artifacts = filepath.Join(ArtifactsDir, ArtifactsOf(want.Trials[i]))
		}
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", *got, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, got.Trials[2].Artifacts, "job_lat.1.log")); err != nil ||
		len(text) == 0 {
		t.Errorf("artifact: %q, %v", text, err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the run lie %v, %v", entries, err)
	}
}

// When it fails, nothing is there that was not.
func TestKeepIsAllOrNothing(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "runs", "run")
	run := endedRun(3)
	run.Trials[2].Status = result.TrialPlanned // it cannot be stored
	if err := Keep(t.Context(), dir, run, artifactsOf); err == nil {
		t.Fatal("a trial that has not ended was kept")
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mustFail(t, Keep(t.Context(), dir, endedRun(1), artifactsOf), dir, "exists already")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("in a directory that was there: %v, %v", entries, err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mustFail(t, Keep(t.Context(), filepath.Join(file, "run"), endedRun(1), artifactsOf), "making the run directory", file)
}

// An interrupt leaves all of a run, or nothing.
func TestKeepIsInterrupted(t *testing.T) {
	runs := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := Keep(ctx, filepath.Join(runs, "run"), endedRun(3), func(result.Trial) map[string][]byte {
		cancel() // while the first trial is stored
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(runs); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
