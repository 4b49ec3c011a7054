package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"github.com/prometheus/procfs"

	"plimsoll/internal/host/hostfs"
)

// Group is where the files of a cgroup are: a directory for each controller of version 1, and one of version 2;
// "" for none. What a controller of version 1 has no directory for is read from version 2.
type Group struct {
	CPU     string // cpu of version 1
	Account string // cpuacct of version 1, often the same directory
	Memory  string // memory of version 1
	IO      string // blkio of version 1
	Unified string // version 2, which alone has pressure
}

// GroupOf returns the group that a process is in. A hierarchy in which it is in no group but the root is left out: what
// is counted there is the host's.
func GroupOf(roots hostfs.Roots, pid int) (Group, error) {
	fs, err := procfs.NewFS(roots.Proc)
	if err != nil {
		return Group{}, fmt.Errorf("cgroup of process %d: %w", pid, err)
	}
	process, err := fs.Proc(pid)
	if err != nil {
		return Group{}, fmt.Errorf("cgroup of process %d: %w", pid, err)
	}
	in, err := process.Cgroups()
	if err != nil {
		return Group{}, fmt.Errorf("cgroup of process %d: %w", pid, err)
	}
	mounts, err := hierarchies(roots)
	if err != nil {
		return Group{}, fmt.Errorf("cgroup of process %d: where cgroups are mounted: %w", pid, err)
	}
	var g Group
	for _, c := range in {
		for _, to := range g.hierarchies() {
			if c.HierarchyID == 0 && to.controller == unified || slices.Contains(c.Controllers, to.controller) {
				*to.dir = directory(roots, mounts, to.controller, c.Path)
			}
		}
	}
	return g, nil
}

// GroupAt returns the group at a path from the root of each hierarchy in which it is there, such as a scaled-down host
// that no process is in itself.
func GroupAt(roots hostfs.Roots, path string) (Group, error) {
	mounts, err := hierarchies(roots)
	if err != nil {
		return Group{}, fmt.Errorf("cgroup %s: where cgroups are mounted: %w", path, err)
	}
	var g Group
	for _, to := range g.hierarchies() {
		dir := directory(roots, mounts, to.controller, filepath.Join("/", path))
		if dir != "" && exists(dir, "cgroup.procs") {
			*to.dir = dir
		}
	}
	if g == (Group{}) {
		return g, fmt.Errorf("cgroup %s: it is in no hierarchy that is mounted here; make it first", path)
	}
	return g, nil
}

// hierarchy is one that a group can have a directory in.
type hierarchy struct {
	controller string // of version 1, or unified
	dir        *string
}

// unified stands for version 2, which has all controllers in one hierarchy.
const unified = ""

func (g *Group) hierarchies() []hierarchy {
	return []hierarchy{
		{"cpu", &g.CPU}, {"cpuacct", &g.Account}, {"memory", &g.Memory}, {"blkio", &g.IO}, {unified, &g.Unified},
	}
}

// Types of file systems that are hierarchies of cgroups.
const (
	version1 = "cgroup"
	version2 = "cgroup2"
)

// hierarchies lists where cgroups are mounted.
func hierarchies(roots hostfs.Roots) ([]*mountinfo.Info, error) {
	f, err := os.Open(roots.InProc("self/mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountinfo.GetMountsFromReader(f, mountinfo.FSTypeFilter(version1, version2))
}

// directory returns where the files of a group are in the hierarchy of a controller, or in the unified one;
// "" where that is not mounted, the group cannot be seen from here, or it is the root.
func directory(roots hostfs.Roots, mounts []*mountinfo.Info, controller, group string) string {
	if group == "/" {
		return ""
	}
	for _, m := range mounts {
		if controller == unified && m.FSType != version2 {
			continue
		}
		if controller != unified && (m.FSType != version1 || !slices.Contains(strings.Split(m.VFSOptions, ","), controller)) {
			continue
		}
		below, err := filepath.Rel(m.Root, group)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		return roots.Path(filepath.Join(m.Mountpoint, below))
	}
	return ""
}

// ownDirectories returns the groups of instances without the directories that several of them share. With version 1,
// instances that share a limit on a device are in one group of blkio.
func ownDirectories(instances []Instance) []Group {
	groups := make([]Group, len(instances))
	for n, i := range instances {
		groups[n] = i.Group
	}
	for hierarchy := range (&Group{}).hierarchies() {
		users := map[string]int{}
		for n := range groups {
			users[identity(*groups[n].hierarchies()[hierarchy].dir)]++
		}
		for n := range groups {
			dir := groups[n].hierarchies()[hierarchy].dir
			if *dir != "" && users[identity(*dir)] > 1 {
				*dir = ""
			}
		}
	}
	return groups
}

// identity is the same for paths of one directory: a group's can be mounted over those of containers.
func identity(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return dir
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return dir
	}
	return fmt.Sprint(of.Dev, ":", of.Ino)
}

// directories lists those that the group has, those first that it is most likely to be alone in.
func (g Group) directories() []string {
	all := []string{g.IO, g.Memory, g.Account, g.CPU, g.Unified}
	return slices.DeleteFunc(all, func(dir string) bool { return dir == "" })
}
