package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/iocost"
	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

// hostOfVersion2 is a host of plain files that has a loop device, cgroups of version 2 and these files in their root.
func hostOfVersion2(t *testing.T, e *Env, files ...string) {
	t.Helper()
	root := t.TempDir()
	e.Host.Roots.Proc, e.Host.Roots.Sys = filepath.Join(root, "proc"), filepath.Join(root, "sys")
	text := map[string]string{
		"proc/self/cgroup":                "0::/\n",
		"proc/self/mountinfo":             "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/block/loop0/queue/scheduler": "[none]\n",
	}
	for _, name := range files {
		text["sys/fs/cgroup/"+name] = ""
	}
	for name, content := range text {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostsWithoutIOCost(t *testing.T) {
	hosttest.Exclusive(t)
	old, bare, whole := newEnv(t), newEnv(t), newEnv(t)
	hostOfVersion2(t, bare)
	hostOfVersion2(t, whole, iocost.QoSFile, iocost.ModelFile)
	hostOfVersion2(t, old)
	err := os.WriteFile(old.Host.Roots.InProc("self/cgroup"), []byte("5:blkio:/\n0::/\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(old.Host.Roots.InProc("self/mountinfo"),
		[]byte("30 24 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env       *Env
		line, why string
		remedy    string
	}{
		{old, "loop > iocost", "cgroups of version 1", "another host"},
		{bare, "loop > iocost", "CONFIG_BLK_CGROUP_IOCOST", "another host"},
		{whole, "loop > iocost > scheduler:none > iocost(min=50)", "already", "keep one"},
		{whole, "loop > iocost(rbps=1GiB, wbps=1GiB)", "all six",
			"write rseqiops, rrandiops, wseqiops, wrandiops too"},
	} {
		err := c.env.Check(t.Context(), parse(t, c.line), 1<<20)
		if !isProblem(err, problem.Unsupported, c.why, c.remedy) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	joined := parse(t, "loop + loop > raid0 > iocost").Nodes
	_, err = whole.queueBelow(joined[:2], joined[2])
	if !isProblem(err, problem.Unsupported, "several devices", "leave the iocost out") {
		t.Errorf("several devices: %v", err)
	}
	_, err = whole.costDir(parse(t, "loop > iocost").Nodes[1])
	if err != nil {
		t.Error(err)
	}
}

func TestSettingsOfIOCost(t *testing.T) {
	for _, c := range []struct{ options, model, qos string }{
		{"", "ctrl=auto", "enable=1 ctrl=auto"},
		{"(min=50.5, max=100)", "ctrl=auto", "enable=1 ctrl=user rpct=0 rlat=25000 wpct=0 wlat=25000 min=50.5 max=100"},
		{"(rbps=1KiB, rseqiops=90, rrandiops=80, wbps=100, wseqiops=70, wrandiops=60)",
			"ctrl=user model=linear rbps=1024 rseqiops=90 rrandiops=80 wbps=100 wseqiops=70 wrandiops=60",
			"enable=1 ctrl=auto"},
	} {
		model, qos, err := costSettings(parse(t, "loop > iocost"+c.options).Nodes[1])
		if err != nil || model != c.model || qos != c.qos {
			t.Errorf("%s: %q, %q, %v", c.options, model, qos, err)
		}
		if strings.ContainsAny(model+qos, "\n") {
			t.Errorf("%s: several lines", c.options)
		}
	}
}
