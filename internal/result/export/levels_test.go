package export

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"slices"
	"testing"

	"plimsoll/internal/result"
)

// TestLevelsHaveColumns: each factor is a column, whichever of stack and
// workload depends on it, and empty where neither does.
func TestLevelsHaveColumns(t *testing.T) {
	r := &result.Run{
		Stacks: []result.Stack{{Name: "raw"}, {Name: "xfs-4KiB", Levels: map[string]string{"fs": "xfs", "bs": "4KiB"}}},
		Workloads: []result.Workload{{Name: "once"},
			{Name: "RR-4KiB-8", Levels: map[string]string{"bs": "4KiB", "jobs": "8"}}},
	}
	for _, s := range r.Stacks {
		for _, w := range r.Workloads {
			r.Trials = append(r.Trials, result.Trial{Stack: s.Name, Mix: w.Name, Status: result.TrialPlanned})
		}
	}
	want := []map[string]string{
		nil,
		{"bs": "4KiB", "jobs": "8"},
		{"bs": "4KiB", "fs": "xfs"},
		{"bs": "4KiB", "fs": "xfs", "jobs": "8"},
	}
	for i, row := range Rows(r) {
		if !reflect.DeepEqual(row.Levels, want[i]) {
			t.Errorf("trial %d has levels %v, want %v", i, row.Levels, want[i])
		}
	}
	if r.Stacks[1].Levels["jobs"] != "" {
		t.Error("the run was changed")
	}
	var text bytes.Buffer
	if err := CSV(&text, r); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(records[0], "workload")
	if got := records[0][column : column+5]; !slices.Equal(got,
		[]string{"workload", "level_bs", "level_fs", "level_jobs", "status"}) {
		t.Fatalf("columns %v", got)
	}
	for i, levels := range want {
		got := records[i+1][column+1 : column+4]
		if !slices.Equal(got, []string{levels["bs"], levels["fs"], levels["jobs"]}) {
			t.Errorf("trial %d has levels %v, want %v", i, got, levels)
		}
	}
}
