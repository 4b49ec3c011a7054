package watch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
)

// mostGroups is how many groups are watched. A host has hundreds; any number could be made on purpose.
const mostGroups = 2000

// containerGroups match the last element of a container's path, as engines make it.
var containerGroups = []struct {
	engine string
	name   *regexp.Regexp
}{
	{"docker", regexp.MustCompile(`^docker-([0-9a-f]{64})\.scope$`)},
	{"containerd", regexp.MustCompile(`^cri-containerd-([0-9a-f]{64})\.scope$`)},
	{"cri-o", regexp.MustCompile(`^crio-([0-9a-f]{64})(?:\.scope)?$`)},
	{"podman", regexp.MustCompile(`^libpod-([0-9a-f]{64})(?:\.scope)?$`)},
	{"", regexp.MustCompile(`^([0-9a-f]{64})$`)},
}

// engineAbove maps the group that containers stand in to their engine, where their own name does not say it.
var engineAbove = map[string]string{"docker": "docker", "kubepods": "containerd", "libpod_parent": "podman"}

// classify returns the group at a path, with its kind by its name. Its kind is "" if there is nothing to look at.
func classify(groupPath string, busy bool) Group {
	name := path.Base(groupPath)
	group := Group{Path: groupPath, Name: name}
	for _, c := range containerGroups {
		m := c.name.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		group.Kind, group.Engine, group.ID, group.Name = Container, c.engine, m[1], m[1][:12]
		for _, parent := range strings.Split(groupPath, "/") {
			if group.Engine == "" {
				group.Engine = engineAbove[parent]
			}
		}
		return group
	}
	for _, unit := range []Kind{Service, Scope, Slice} {
		if strings.HasSuffix(name, "."+string(unit)) {
			group.Kind, group.Engine = unit, "systemd"
			return group
		}
	}
	if busy {
		group.Kind, group.Name = Plain, groupPath
	}
	return group
}

// findGroups returns the groups of the host, by path. Groups below a container belong to the container. known has the
// groups of containers by path that only an engine knows. A group that ends meanwhile is left out.
func findGroups(roots hostfs.Roots, known map[string]Group) (groups []Group, unknown []string, err error) {
	trees, err := cgroup.Trees(roots)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]Group{}
	for _, tree := range trees {
		err := filepath.WalkDir(tree, func(file string, e fs.DirEntry, err error) error {
			groupPath := strings.TrimPrefix(file, tree)
			if err != nil || !e.IsDir() || groupPath == "" {
				return nil //nolint:nilerr // a group may end at any moment
			}
			g, seen := found[groupPath]
			if !seen {
				if len(found) >= mostGroups {
					return fs.SkipAll
				}
				var named bool
				if g, named = known[groupPath]; !named {
					procs, _ := os.ReadFile(filepath.Join(file, "cgroup.procs")) // a threaded group has none to read
					g = classify(groupPath, len(procs) > 0)
				}
				if g.Kind != "" {
					found[groupPath] = g
				}
			}
			if g.Kind == Container {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("look for cgroups below %s: %w", tree, err)
		}
	}
	if len(found) >= mostGroups {
		unknown = append(unknown, fmt.Sprintf("cgroups beyond the first %d: this host has more", mostGroups))
	}
	for _, g := range found {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.Path, b.Path) })
	return groups, unknown, nil
}

// groupOf returns the number of the group that a path is in, the deepest one; -1 for none.
func groupOf(groups []Group, groupPath string) int {
	deepest := -1
	for i, g := range groups {
		if (groupPath == g.Path || strings.HasPrefix(groupPath, g.Path+"/")) && g.Path != "" &&
			(deepest < 0 || len(g.Path) > len(groups[deepest].Path)) {
			deepest = i
		}
	}
	return deepest
}
