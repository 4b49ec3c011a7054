package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/hostfs"
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

// host has the kernel's files.
type host struct{ roots hostfs.Roots }

// thisHost is the one that this process runs on: only on it can groups be made.
func thisHost() host { return host{hostfs.Default()} }

// Of returns the group that a process is in, such as that of a container, with all
// that limits need.
func Of(pid int) (*Group, error) { return thisHost().of(strconv.Itoa(pid), limiting) }

// of returns the group that a process is in, in the hierarchies of the controllers.
func (h host) of(pid string, controllers []string) (*Group, error) {
	theirs, err := h.hierarchies(pid, controllers)
	if err != nil {
		return nil, err
	}
	ours := theirs
	if pid != "self" {
		if ours, err = h.hierarchies("self", controllers); err != nil {
			return nil, err
		}
	}
	g := &Group{missing: map[string]error{}}
	for i, c := range controllers {
		at := theirs[i]
		switch {
		case at.err != nil && slices.Contains(measuring, c):
			return nil, at.err
		case at.err != nil:
			g.missing[c] = at.err
			continue
		}
		same := slices.IndexFunc(g.places, func(p place) bool { return p.mount == at.mount })
		if same >= 0 {
			g.places[same].controllers = append(g.places[same].controllers, c)
			continue
		}
		g.places = append(g.places, place{
			hierarchy:   at.hierarchy,
			dir:         filepath.Join(at.mount, at.own),
			home:        filepath.Join(ours[i].mount, ours[i].own),
			controllers: []string{c},
		})
	}
	return g, nil
}

// found is the hierarchy of a controller, or why there is none.
type found struct {
	hierarchy
	err error
}

// hierarchies returns that of each controller, as a process is in it.
func (h host) hierarchies(pid string, controllers []string) ([]found, error) {
	text, err := os.ReadFile(h.roots.InProc(pid, "cgroup"))
	if err != nil {
		return nil, err
	}
	table, err := os.Open(h.roots.InProc("self/mountinfo"))
	if err != nil {
		return nil, err
	}
	defer table.Close()
	mounts, err := mountinfo.GetMountsFromReader(table, func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "cgroup" && m.FSType != "cgroup2", false
	})
	if err != nil {
		return nil, err
	}
	all := make([]found, len(controllers))
	for i, c := range controllers {
		all[i].hierarchy, all[i].err = find(string(text), mounts, c)
		all[i].mount = h.roots.Path(all[i].mount)
	}
	return all, nil
}

// find returns, from /proc/PID/cgroup and from what is mounted, the hierarchy in
// which a controller is, and where the process is in it.
func find(text string, mounts []*mountinfo.Info, controller string) (hierarchy, error) {
	path, unified, ok := pathOf(text, controller)
	switch {
	case !ok && strings.TrimSpace(text) == "":
		return hierarchy{}, errors.New("the kernel has no control groups")
	case !ok:
		return hierarchy{}, fmt.Errorf("the kernel has no control groups for %s", controller)
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
	return hierarchy{}, fmt.Errorf(
		"the hierarchy of control groups for %s, in which this is %s, is not mounted at %s, or its part with this is not",
		controller, path, root)
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
