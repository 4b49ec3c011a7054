package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What would be undone is said, newest first, and neither it nor the journal is touched.
func TestPreviewChangesNothing(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	j, err := Create(state, "crashed")
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, name := range []string{"plimsoll-crashed-one", "plimsoll-crashed-two"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := j.Do(t.Context(), &Dir{Path: path}, func(string) error { return os.Mkdir(path, 0o755) }); err != nil {
			t.Fatal(err)
		}
		made = append(made, path)
	}
	if live, err := Preview(state, false); err != nil || len(live) != 1 || !live[0].Live {
		t.Errorf("of a run under way: %+v, %v", live, err)
	}
	if err := j.Close(); err != nil { // as a crash does
		t.Fatal(err)
	}
	file := filepath.Join(journalDir(state), "crashed"+suffix)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := slices.Concat(before, []byte(`{"torn`))
	if err := os.WriteFile(file, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	reports, err := Preview(state, false)
	if err != nil || len(reports) != 1 || len(reports[0].Left) != 2 || len(reports[0].Undone) > 0 {
		t.Fatalf("%+v, %v", reports, err)
	}
	if first := (&Dir{Path: made[1]}).What(); reports[0].Left[0] != first {
		t.Errorf("the newest is not first: %q", reports[0].Left)
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(torn) {
		t.Errorf("the journal was changed: %v", err)
	}
	for _, path := range made {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if cleaned, err := Clean(t.Context(), state); err != nil || len(cleaned[0].Undone) != 2 {
		t.Errorf("then it cleans %+v, %v", cleaned, err)
	}
}
