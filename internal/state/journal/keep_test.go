package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keptJournal makes a journal with one directory in it, which is to stay.
func keptJournal(t *testing.T) (state, dir string) {
	t.Helper()
	state, dir = t.TempDir(), filepath.Join(t.TempDir(), "plimsoll-export-a-made")
	j, err := Create(state, "export-a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Do(t.Context(), &Dir{Path: dir}, func(string) error { return os.Mkdir(dir, 0o755) }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Keep(), j.Close()); err != nil {
		t.Fatal(err)
	}
	return state, dir
}

func exists(dir string) bool { _, err := os.Stat(dir); return err == nil }

func TestWhatIsKeptStaysUntilItIsReleased(t *testing.T) {
	state, dir := keptJournal(t)
	reports, err := Clean(t.Context(), state)
	if err != nil || len(reports) != 1 || !reports[0].Kept || len(reports[0].Undone) > 0 || !exists(dir) {
		t.Fatalf("clean: %+v, %v, there %t", reports, err, exists(dir))
	}
	j, err := Open(state, "export-a")
	if err != nil || !j.Kept() {
		t.Fatalf("open: %v", err)
	}
	if err := errors.Join(j.Release(), j.Close()); err != nil { // as a crash right after
		t.Fatal(err)
	}
	reports, err = Clean(t.Context(), state)
	if err != nil || len(reports) != 1 || reports[0].Kept || exists(dir) {
		t.Errorf("clean after release: %+v, %v, there %t", reports, err, exists(dir))
	}
	if _, err := Open(state, "export-a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestWhatIsKeptCanBeCleaned(t *testing.T) {
	state, dir := keptJournal(t)
	reports, err := CleanKept(t.Context(), state)
	if err != nil || len(reports) != 1 || len(reports[0].Undone) != 1 || exists(dir) {
		t.Errorf("clean: %+v, %v, there %t", reports, err, exists(dir))
	}
}

// What the kernel held is gone after a reboot, and nothing is kept any more.
func TestNothingIsKeptBeyondTheKernel(t *testing.T) {
	state, dir := keptJournal(t)
	file := filepath.Join(state, "journal/export-a.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := BootID()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), boot, "another")), 0o600); err != nil {
		t.Fatal(err)
	}
	if reports, err := Clean(t.Context(), state); err != nil || reports[0].Kept || exists(dir) {
		t.Errorf("clean: %+v, %v, there %t", reports, err, exists(dir))
	}
}

// Look reads a journal that its process is writing to.
func TestLookAtAJournalThatIsInUse(t *testing.T) {
	state, dir := keptJournal(t)
	j, err := Open(state, "export-a")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	file := filepath.Join(state, "journal/export-a.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":2,"state":"int`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	before, _ := os.ReadFile(file)
	found, err := Look(state, func(string) bool { return true })
	if err != nil || len(found["export-a"]) != 1 || found["export-a"][0].What() != "make directory "+dir {
		t.Errorf("look: %v, %v", found, err)
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("looking changed the journal")
	}
	if found, err := Look(state, func(string) bool { return false }); err != nil || len(found) != 0 {
		t.Errorf("look at none: %v, %v", found, err)
	}
}
