package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCgroupV2: a container is in a group of its own below its engine's, where
// its limit is set and its I/O is counted; both groups go with the engine.
func TestCgroupV2(t *testing.T) {
	const top = "/sys/fs/cgroup"
	var on unix.Statfs_t
	if err := unix.Statfs(top, &on); err != nil || on.Type != unix.CGROUP2_SUPER_MAGIC {
		t.Skip("NOT TESTED HERE: this host has cgroups of version 1; the lab has version 2 (make lab-test)")
	}
	b := newBench(t)
	const limit, written = 128 << 20, 4 << 20
	e, c := b.mustRun(t, "vfs", ContainerConfig{MemoryBytes: limit, Binds: []Bind{{Host: b.dir, Inside: "/data"}}})
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil {
		t.Fatal(err)
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "0::/"+e.change.Cgroup+"/")
	if !ok || path == "" || strings.Contains(path, "\n") {
		t.Fatalf("the container is in %q, and not in a group of its own in %s alone", text, e.change.Cgroup)
	}
	group := filepath.Join(top, e.change.Cgroup, path)
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(group, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if got := read("memory.max"); got != strconv.Itoa(limit) {
		t.Errorf("memory.max is %s, not %d", got, limit)
	}
	for _, controller := range []string{"cpu", "io", "memory"} {
		if got := read("cgroup.controllers"); !strings.Contains(got, controller) {
			t.Errorf("the group has the controllers %q, and not %s", got, controller)
		}
	}
	argv := []string{"fio", "--name=w", "--filename=/data/w", "--rw=write", "--direct=1", "--bs=256k",
		"--size=" + strconv.Itoa(written), "--output-format=terse"}
	if exit, err := c.Exec(t.Context(), argv, ""); err != nil || exit.Code != 0 {
		t.Fatalf("%v: %+v", err, exit)
	}
	counted := 0
	for _, m := range regexp.MustCompile(`wbytes=(\d+)`).FindAllStringSubmatch(read("io.stat"), -1) {
		n, _ := strconv.Atoi(m[1])
		counted = max(counted, n)
	}
	if counted < written {
		t.Errorf("%d bytes were written, and io.stat says %q", written, read("io.stat"))
	}
	if err := errors.Join(c.Remove(t.Context()), e.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(top, e.change.Cgroup)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the engine's group stays behind: %v", err)
	}
}
