package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/iocost"
)

// costFile is a file of io.cost with that text, where no kernel reads along.
func costFile(t *testing.T, text string) (path string, now func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), iocost.QoSFile)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestCostIsWrittenBack(t *testing.T) {
	const user = "8:0 enable=1 ctrl=user rpct=0.00 rlat=1 wpct=0.00 wlat=1 min=100.00 max=100.00"
	for _, c := range []struct{ was, changed, left string }{
		{"", "", "8:0 enable=0 ctrl=auto"},
		{user, "", user},
		{user, "8:0 enable=0 ctrl=auto", "8:0 enable=0 ctrl=auto"}, // by someone else
	} {
		path, now := costFile(t, c.was)
		change := &Cost{Path: path, Device: "8:0", Settings: iocost.QoS(map[string]string{"min": "50"})}
		if err := change.Prepare(); err != nil {
			t.Fatal(err)
		}
		if err := change.Make(); err != nil {
			t.Fatal(err)
		}
		if !iocost.Hold(now(), "min=50 ctrl=user") {
			t.Errorf("it is %q", now())
		}
		if c.changed != "" {
			if err := os.WriteFile(path, []byte(c.changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := change.Undo(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if now() != c.left {
			t.Errorf("%q is left as %q, not %q", c.was, now(), c.left)
		}
	}
}

func TestCostStaysWhereItIsNotTheRuns(t *testing.T) {
	path, now := costFile(t, "8:0 enable=1 ctrl=auto")
	change := &Cost{Path: path, Device: "8:0", Settings: "enable=1 ctrl=auto", Boot: "another"}
	if err := change.Undo(t.Context(), ""); err != nil || now() != "8:0 enable=1 ctrl=auto" {
		t.Errorf("after a reboot: %v, %q", err, now())
	}
	if err := change.Prepare(); err != nil {
		t.Fatal(err)
	}
	change.Path = filepath.Join(filepath.Dir(path), "gone")
	if err := change.Undo(t.Context(), ""); err != nil {
		t.Errorf("without the file: %v", err)
	}
}

func TestCostThatIsNotReadBack(t *testing.T) {
	change := &Cost{Path: "/dev/null", Device: "8:0", Settings: "enable=1 ctrl=auto"}
	if err := change.Make(); err == nil || !strings.Contains(err.Error(), `the kernel reads "" back`) {
		t.Errorf("got %v", err)
	}
}
