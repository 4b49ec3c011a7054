package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// root is where the hierarchies of a host are mounted, or right below. The
// journal looks for groups there and nowhere else.
const root = "/sys/fs/cgroup"

// hierarchy is a tree of control groups, and where a process is in it.
type hierarchy struct {
	mount   string
	own     string // the process's group, from the root of what is mounted: "/" for that root
	unified bool   // version 2
}

// own returns the hierarchies in which block I/O is charged and processor time
// is accounted, and where this process is in them.
func own() (charged, timed hierarchy, err error) { return groupsOf("self") }

func groupsOf(pid string) (charged, timed hierarchy, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
	if err != nil {
		return charged, timed, err
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "cgroup" && m.FSType != "cgroup2", false
	})
	if err != nil {
		return charged, timed, err
	}
	return find(string(text), mounts)
}

// find tells from /proc/PID/cgroup, and from what is mounted, where the groups
// of a process are.
func find(text string, mounts []*mountinfo.Info) (charged, timed hierarchy, err error) {
	of := func(controller string) (hierarchy, error) {
		path, unified, ok := pathOf(text, controller)
		switch {
		case !ok:
			return hierarchy{}, errors.New("the kernel has no control groups")
		case strings.HasPrefix(path, "/.."):
			return hierarchy{}, errors.New("it would be in a control group outside of what this container sees: " + path)
		}
		for _, m := range mounts {
			if (m.FSType == "cgroup2") != unified || !unified && !slices.Contains(strings.Split(m.VFSOptions, ","), controller) {
				continue
			}
			if m.Mountpoint != root && filepath.Dir(m.Mountpoint) != root {
				continue
			}
			// What is mounted may be a part of the hierarchy: in a container, its own.
			below, err := filepath.Rel(m.Root, path)
			if err != nil || below == ".." || strings.HasPrefix(below, "../") {
				continue
			}
			return hierarchy{mount: m.Mountpoint, own: filepath.Join("/", below), unified: unified}, nil
		}
		return hierarchy{}, fmt.Errorf("the hierarchy of control groups for %s, in which this is %s, is not mounted at %s, or its part with this is not", controller, path, root)
	}
	if charged, err = of("blkio"); err != nil {
		return charged, timed, err
	}
	timed, err = of("cpuacct")
	return charged, timed, err
}

// pathOf returns the group of a controller of version 1, or that of version 2
// where no hierarchy of version 1 has the controller.
func pathOf(text, controller string) (path string, unified, ok bool) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // ID:CONTROLLERS:PATH
		if len(f) < 3 {
			continue
		}
		if slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], false, true
		}
		if f[1] == "" {
			path, unified, ok = f[2], true, true
		}
	}
	return path, unified, ok
}
