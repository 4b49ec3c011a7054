package hostinfo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/hostfs"
)

// limitsOf returns what /proc/PID/limits has, with a soft limit of open files and of locked memory.
func limitsOf(files, locked string) string {
	const line = "%-26s%-21s%-21s%s\n"
	return fmt.Sprintf(line+line+line, "Limit", "Soft Limit", "Hard Limit", "Units",
		"Max locked memory", locked, "unlimited", "bytes", "Max open files", files, "1048576", "files")
}

// Rings count against memlock on kernels before 5.12 alone, and each is an open file on all.
func TestLimitsOfRings(t *testing.T) {
	for name, c := range map[string]struct {
		kernel, limits string
		rings          int
		ok             Answer
		why, remedy    string
	}{
		"of today":         {"6.18.44", limitsOf("1024", "65536"), 342, Yes, "", ""},
		"unlimited":        {"5.10.0-30", limitsOf("unlimited", "unlimited"), 9999, Yes, "", ""},
		"memory is enough": {"5.10.0-30", limitsOf("1024", "8388608"), 342, Yes, "", ""},
		"too little memory": {"5.10.0-30", limitsOf("1024", "65536"), 342, No, "342 need 2736KiB, and 64KiB is permitted",
			"--ulimit memlock=2801664"},
		"too few files": {"6.1.0-50", limitsOf("1024", "0"), 1000, No, "each of 1000 rings is an open file", "-n 2048"},
		"just files":    {"6.1.0-50", limitsOf("1024", "0"), 960, Yes, "", ""},
		"unreadable":    {"6.1.0-50", "", 342, Unknown, "cannot be read", "mount /proc"},
		"malformed":     {"6.1.0-50", "Max open files\nMax open files -7 -7\n", 342, Yes, "", ""},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "sys/kernel"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sys/kernel/osrelease"), []byte(c.kernel+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := &Host{Roots: hostfs.Roots{Proc: dir}, calls: recorded{limit: c.limits}}
		i := h.Rings(c.rings)
		if i.OK != c.ok || !strings.Contains(i.Why, c.why) || !strings.Contains(i.Remedy, c.remedy) ||
			(i.Why == "") != (c.ok == Yes) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// The limit that programs have is printed: Go raises that of its own process.
func TestLimitsAreThoseOfPrograms(t *testing.T) {
	out, err := exec.Command("sh", "-c", "ulimit -n").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "open files " + strings.TrimSpace(string(out)) + ","; !strings.Contains(New().Rings(1).Value, want) {
		t.Errorf("%q lacks %q", New().Rings(1).Value, want)
	}
}
