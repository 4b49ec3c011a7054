package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// aRun keeps a run in a new directory beside a file of somebody's.
func aRun(t *testing.T) (dir, precious string) {
	t.Helper()
	parent := t.TempDir()
	dir, precious = filepath.Join(parent, "run"), filepath.Join(parent, "elsewhere", "precious")
	if err := os.Mkdir(filepath.Dir(precious), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Keep(t.Context(), dir, endedRun(3), artifactsOf); err != nil {
		t.Fatal(err)
	}
	return dir, precious
}

// A run is removed with all that it has, and what its links lead to stays.
func TestRemove(t *testing.T) {
	dir, precious := aRun(t)
	for _, link := range []string{"file", "dir"} {
		to := map[string]string{"file": precious, "dir": filepath.Dir(precious)}[link]
		if err := os.Symlink(to, filepath.Join(dir, ArtifactsDir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "."+ReportFile+"-123"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir + "/"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the run is there still: %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("what a link led to is gone: %v", err)
	}
}

// What is no run directory is refused, with nothing deleted.
func TestRemoveRefuses(t *testing.T) {
	type attack = func(t *testing.T, dir, precious string) (name string)
	link := func(t *testing.T, to, name string) string {
		t.Helper()
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, c := range map[string]struct {
		want string
		do   attack
	}{
		"a run under way": {"is under way", func(t *testing.T, dir, _ string) string {
			l, err := acquire(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.release)
			return dir
		}},
		"a link to a run": {"it is a link", func(t *testing.T, dir, _ string) string {
			return link(t, dir, dir+"-link")
		}},
		"dots": {"name its directory", func(_ *testing.T, dir, _ string) string { return dir + "/" + ArtifactsDir + "/.." }},
		"a link before dots": {"without one", func(t *testing.T, dir, precious string) string {
			twin := filepath.Join(filepath.Dir(precious), "run")
			if err := Keep(t.Context(), twin, endedRun(1), artifactsOf); err != nil {
				t.Fatal(err)
			}
			beside := twin + "-beside"
			if err := os.Mkdir(beside, 0o755); err != nil {
				t.Fatal(err)
			}
			return link(t, beside, dir+"-link") + "/../run" // the run for us, its twin for the kernel
		}},
		"no run": {"there is no run", func(_ *testing.T, _, precious string) string { return filepath.Dir(precious) }},
		"a file": {"not a directory", func(_ *testing.T, _, precious string) string { return precious }},
		"a file of somebody's": {"notes is no part of a run", func(t *testing.T, dir, _ string) string {
			if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		"a link for artifacts": {"artifacts is no part of a run", func(t *testing.T, dir, precious string) string {
			if err := os.RemoveAll(filepath.Join(dir, ArtifactsDir)); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Dir(precious), filepath.Join(dir, ArtifactsDir))
			return dir
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, precious := aRun(t)
			err := Remove(c.do(t, dir, precious))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ends with %v, not %q", err, c.want)
			}
			if _, err := Read(dir); err != nil {
				t.Errorf("the run was touched: %v", err)
			}
			if _, err := os.Stat(precious); err != nil {
				t.Errorf("what lies elsewhere was touched: %v", err)
			}
		})
	}
}
