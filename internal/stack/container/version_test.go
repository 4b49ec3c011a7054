package container

import (
	"os"
	"path/filepath"
	"testing"
)

// A program is run once for its version. One that was exchanged is run again, and one that fails each time.
func TestVersionIsAskedOnce(t *testing.T) {
	dir := t.TempDir()
	path, runs := filepath.Join(dir, "dockerd"), filepath.Join(dir, "runs")
	install := func(script string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho >>"+runs+"\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		script, version string
		runs            int
	}{{"exit 1 # fails", "", 2}, {"echo Docker version 28.5.2", "Docker version 28.5.2\n", 3},
		{"echo Docker version 29.0", "Docker version 29.0\n", 4}} {
		install(c.script)
		for range 2 {
			version, err := askVersion(path)
			if string(version) != c.version || (err == nil) != (c.version != "") {
				t.Errorf("%s: %q, %v", c.script, version, err)
			}
		}
		if text, err := os.ReadFile(runs); err != nil || len(text) != c.runs {
			t.Errorf("%s: it ran %d times, and not %d: %v", c.script, len(text), c.runs, err)
		}
	}
}
