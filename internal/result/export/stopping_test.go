package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/result"
)

// Why a trial ended and what was done before it has columns where a trial
// tells of it, and none in other runs.
func TestStoppingAndPreconditioning(t *testing.T) {
	names := func(r *result.Run) (header []string, rows [][]string) {
		var out bytes.Buffer
		if err := CSV(&out, r); err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all[0], all[1:]
	}
	plain, _ := names(run())
	if text := strings.Join(plain, " "); strings.Contains(text, "stop_") || strings.Contains(text, "preconditioning_") {
		t.Errorf("columns of a run that has nothing of the kind: %s", text)
	}

	r := run()
	first := &r.Trials[0]
	first.Rates = &result.Rates{IntervalSeconds: 0.25, IOPS: []float64{1, 2, 3}, Warmup: 10}
	first.Stop = &result.Stop{Reason: result.StopPrecise, Why: "the mean is known", MeanIOPS: 500.5, LowIOPS: 490,
		HighIOPS: 511, Confidence: 0.95}
	first.Preconditioning = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 2, Bytes: 4096,
		Rounds: &result.Rounds{IOPS: []float64{5, 5, 5, 5, 5}, Settled: true}}
	r.Trials[1].Stop = &result.Stop{Reason: result.StopNever, Why: "there are too few samples"}
	r.Trials[1].Preconditioning = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 1, Bytes: 4096}
	header, rows := names(r)
	cell := func(row int, column string) string {
		for i, name := range header {
			if name == column {
				return rows[row][i]
			}
		}
		t.Fatalf("no column %s", column)
		return ""
	}
	for column, want := range map[string][3]string{
		"stop_reason": {"precise", "never settled", ""}, "stop_why": {"the mean is known", "there are too few samples", ""},
		"stop_mean_iops": {"500.5", "", ""}, "stop_low_iops": {"490", "", ""}, "stop_high_iops": {"511", "", ""},
		"warmup_seconds":       {"2.5", "0", ""},
		"preconditioning_kind": {"file written", "file written", ""}, "preconditioning_bytes": {"4096", "4096", ""},
		"preconditioning_passes": {"2", "1", ""},
		"preconditioning_rounds": {"5", "", ""}, "preconditioning_settled": {"true", "", ""},
	} {
		for row := range want {
			if got := cell(row, column); got != want[row] {
				t.Errorf("%s of trial %d is %q, want %q", column, row+1, got, want[row])
			}
		}
	}

	var out bytes.Buffer
	if err := NDJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var row struct {
		Stop            *result.Stop            `json:"stop"`
		WarmupSeconds   float64                 `json:"warmup_seconds"`
		Preconditioning *result.Preconditioning `json:"preconditioning"`
		Series          any                     `json:"series"`
	}
	if err := json.NewDecoder(&out).Decode(&row); err != nil {
		t.Fatal(err)
	}
	if row.Stop == nil || *row.Stop != *first.Stop || row.WarmupSeconds != 2.5 || row.Preconditioning == nil ||
		!row.Preconditioning.Rounds.Settled || row.Series != nil {
		t.Errorf("%+v", row)
	}
}
