package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Cgroup gives the id under which accounts know the control group of a process.
func Cgroup(pid int) (uint64, error) {
	groups := newCgroups()
	if groups.root == "" {
		return 0, errors.New("no hierarchy of control groups for block I/O is mounted")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // ID:CONTROLLERS:PATH
		if len(f) < 3 || groups.unified != (f[1] == "") || !groups.unified && !strings.Contains(","+f[1]+",", ",blkio,") {
			continue
		}
		info, err := os.Stat(filepath.Join(groups.root, f[2]))
		if err != nil {
			return 0, err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return stat.Ino, nil
		}
	}
	return 0, fmt.Errorf("process %d is in none of the hierarchy at %s", pid, groups.root)
}
