package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/host/hostfs"
)

// root is the directory at or below which the hierarchies of a host are mounted. The journal looks for groups only
// there.
const root = "/sys/fs/cgroup"

// hierarchy is a tree of cgroups, and a process's place in the tree.
type hierarchy struct {
	mount   string
	group   string // the process's group, from the root of the mount: "/" for that root
	unified bool   // version 2
}

// host provides the kernel's files.
type host struct{ roots hostfs.Roots }

// thisHost is the one that this process runs on: only on it can groups be made.
func thisHost() host { return host{hostfs.Default()} }

// Of returns the group of a process, such as that of a container, with every controller that limits need.
func Of(pid int) (*Group, error) { return thisHost().groupOf(strconv.Itoa(pid), limiting) }

// At returns the group at a path from the root of each hierarchy in which it is there, to read what limits it and what
// it used.
func At(roots hostfs.Roots, path string) (*Group, error) {
	g, err := host{roots}.groupOf("self", limiting)
	if err != nil {
		return nil, err
	}
	g.places = slices.DeleteFunc(g.places, func(p place) bool {
		_, err := os.Stat(filepath.Join(p.mount, path, "cgroup.procs"))
		return err != nil
	})
	for i := range g.places {
		g.places[i].dir = filepath.Join(g.places[i].mount, path)
	}
	if len(g.places) == 0 {
		return nil, fmt.Errorf("cgroup %s: %w: it ended, or is in no hierarchy that is mounted below %s", path,
			fs.ErrNotExist, root)
	}
	return g, nil
}

// Trees returns where the hierarchies are mounted in which groups are limited and their I/O is counted.
func Trees(roots hostfs.Roots) ([]string, error) {
	g, err := host{roots}.groupOf("self", limiting)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range g.places {
		all = append(all, p.mount)
	}
	return all, nil
}

// groupOf returns the group of a process, in the hierarchies of the controllers.
func (h host) groupOf(pid string, controllers []string) (*Group, error) {
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
		found := theirs[i]
		switch {
		case found.err != nil && slices.Contains(measuring, c):
			return nil, found.err
		case found.err != nil:
			g.missing[c] = found.err
			continue
		}
		known := slices.IndexFunc(g.places, func(p place) bool { return p.mount == found.mount })
		if known >= 0 {
			g.places[known].controllers = append(g.places[known].controllers, c)
			continue
		}
		g.places = append(g.places, place{
			hierarchy:   found.hierarchy,
			dir:         filepath.Join(found.mount, found.group),
			home:        filepath.Join(ours[i].mount, ours[i].group),
			controllers: []string{c},
		})
	}
	return g, nil
}

// lookup is the hierarchy of a controller, or the error that explains its absence.
type lookup struct {
	hierarchy
	err error
}

// hierarchies returns the hierarchy of each controller, with the process's group.
func (h host) hierarchies(pid string, controllers []string) ([]lookup, error) {
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
	lookups := make([]lookup, len(controllers))
	for i, c := range controllers {
		lookups[i].hierarchy, lookups[i].err = findHierarchy(string(text), mounts, c)
		lookups[i].mount = h.roots.Path(lookups[i].mount)
	}
	return lookups, nil
}

// findHierarchy returns the hierarchy of a controller, with the process's group in it, from /proc/PID/cgroup and the
// mounts.
func findHierarchy(text string, mounts []*mountinfo.Info, controller string) (hierarchy, error) {
	path, unified, ok := pathOf(text, controller)
	switch {
	case !ok && strings.TrimSpace(text) == "":
		return hierarchy{}, errors.New("the kernel has no cgroups")
	case !ok:
		return hierarchy{}, fmt.Errorf("the kernel has no cgroups for %s", controller)
	case strings.HasPrefix(path, "/.."):
		return hierarchy{}, errors.New("it would be in a cgroup outside of what this container sees: " + path)
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
		return hierarchy{mount: m.Mountpoint, group: filepath.Join("/", below), unified: unified}, nil
	}
	return hierarchy{}, fmt.Errorf(
		"the hierarchy of cgroups for %s, in which this is %s, is not mounted at %s, or its part with this is not",
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
