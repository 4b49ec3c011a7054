package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSharesAreWrittenWhereSomethingGoesByThem has a group of version 2 whose files are plain ones, which keep what
// was written last.
func TestSharesAreWrittenWhereSomethingGoesByThem(t *testing.T) {
	const device = "259:0"
	for _, c := range []struct {
		name    string
		files   map[string]string // of the group, and of the root with a slash before
		weight  int64
		latency time.Duration
		says    string // "" where both are read back
	}{
		{"io.cost", map[string]string{weightFile: "default 100", "/io.cost.qos": "259:0 enable=1 ctrl=auto"}, 800, 0, ""},
		{"bfq", map[string]string{bfqWeightFile: "default 100"}, 800, 0, ""},
		{"a target", map[string]string{latencyFile: ""}, 0, 2 * time.Millisecond, ""},
		{"none of a kernel's", nil, 800, 0, "this device is not shared"},
		{"io.cost of another device", map[string]string{weightFile: "default 100",
			"/io.cost.qos": "8:0 enable=1\n259:0 enable=0"}, 800, 0, "io.cost.qos"},
		{"no io.latency", map[string]string{weightFile: "default 100"}, 0, time.Millisecond, "CONFIG_BLK_CGROUP_IOLATENCY"},
		{"no whole microseconds", map[string]string{latencyFile: ""}, 0, 1500 * time.Nanosecond, "the kernel holds"},
		{"nothing asked for", nil, 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "group")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				if strings.HasPrefix(name, "/") {
					path = filepath.Join(root, name)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := &Group{places: []place{{hierarchy: hierarchy{mount: root, unified: true}, dir: dir,
				controllers: []string{blkio}}}}
			weight, latency, err := g.shareDevices(c.weight, c.latency, []string{device})
			if c.says == "" && (err != nil || weight != c.weight || latency != c.latency) {
				t.Errorf("%d and %v were read back (%v)", weight, latency, err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error is %v, and does not say %s", err, c.says)
			}
		})
	}
}

func TestSharesNeedVersion2(t *testing.T) {
	g := &Group{places: []place{{hierarchy: hierarchy{mount: t.TempDir()}, controllers: []string{blkio}}}}
	if _, _, err := g.shareDevices(0, 0, []string{"8:0"}); err != nil {
		t.Error(err)
	}
	_, _, err := g.shareDevices(800, 0, []string{"8:0"})
	if err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("the error is %v", err)
	}
}
