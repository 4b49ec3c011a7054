package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/state/datasets"
)

// clean --all removes what is kept for later runs, once it is not asked what it would do.
func TestCleanAll(t *testing.T) {
	t.Chdir(t.TempDir())
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("PLIMSOLL_STATE_DIR", state)
	from := t.TempDir()
	if err := os.Mkdir(filepath.Join(from, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "data", "table"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	kept := datasets.In(filepath.Join(state, "golden"), 1<<30)
	why, err := kept.Keep(t.Context(), "pebble, 1000 records", root, "data", time.Second)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	for _, c := range []struct {
		args, says string
		left       int
	}{
		{"clean", "Nothing to clean", 1},
		{"clean --all --dry-run", "data pebble, 1000 records, 4 KiB: would be removed", 1},
		{"clean --all --json", `"removed": [`, 0},
		{"clean --all", "Nothing to clean", 0},
	} {
		out, _ := plimsoll(t, exitOK, strings.Fields(c.args)...)
		all, _, err := kept.List()
		if err != nil || len(all) != c.left || !strings.Contains(out, c.says) {
			t.Errorf("plimsoll %s leaves %d of the data, %v, and prints %s", c.args, len(all), err, out)
		}
	}
}
