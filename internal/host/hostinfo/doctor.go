package hostinfo

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// Answer states whether the host has an item.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	Limited Answer = "limited" // it works, with a restriction
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Item is one thing that a host may have.
type Item struct {
	Name   string `json:"name"`
	OK     Answer `json:"ok"`
	Value  string `json:"value,omitempty"`  // value found on the host
	Why    string `json:"why,omitempty"`    // the reason why it is limited or missing
	Remedy string `json:"remedy,omitempty"` // what would change it

	part *feature // the part of the kernel that the item is about; nil for none
}

// Section is a group of items, in the order in which they are shown.
type Section struct {
	Name  string `json:"name"`
	Items []Item `json:"items"`
}

// item returns the item of that name, or one with the answer no.
func (s Section) item(name string) Item {
	if i := slices.IndexFunc(s.Items, func(i Item) bool { return i.Name == name }); i >= 0 {
		return s.Items[i]
	}
	return Item{Name: name, OK: No}
}

// Brief returns the items as people read them: where the kernel has nothing of a
// family, such as NVMe, for one and the same reason, one item says so for all of
// it.
func (s Section) Brief() []Item {
	var out []Item
	for i := 0; i < len(s.Items); {
		end := i + 1
		for end < len(s.Items) && s.Items[i].goesWith(s.Items[end]) {
			end++
		}
		out = append(out, mergeItems(s.Items[i:end]))
		i = end
	}
	return out
}

// goesWith reports whether two items say the same of one family.
func (i Item) goesWith(o Item) bool {
	return i.part != nil && o.part != nil && i.part.family == o.part.family && i.OK == No && o.OK == No &&
		i.Remedy == o.Remedy
}

// mergeItems combines related items into one.
func mergeItems(items []Item) Item {
	merged := items[0]
	if len(items) == 1 {
		return merged
	}
	var modules []string
	for _, i := range items {
		modules = append(modules, i.part.module)
	}
	merged.Name = merged.part.family
	merged.Why = "this kernel has none of " + list(modules)
	return merged
}

// Report lists the capabilities of a host, with the reason and the remedy for each missing one.
type Report struct {
	Quick       Quick              `json:"quick"`
	Environment result.Environment `json:"environment"`
	Sections    []Section          `json:"sections"`
	Devices     []Device           `json:"devices"` // null when they are not known, which a section says

	FileSystems []FileSystem `json:"-"` // that stacks can have, of which the sections say whether this host can
}

// Quick states whether `plimsoll run quick` can run on the host.
type Quick struct {
	CanRun  bool         `json:"can_run"`
	Missing problem.List `json:"missing,omitempty"` // needs that are not met
	// reasons why it skips trials, or why its results are limited
	Warnings problem.List `json:"warnings,omitempty"`
}

// Doctor examines the host. FileSystems are those that stacks can have.
func (h *Host) Doctor(ctx context.Context, fileSystems []FileSystem) Report {
	load := h.load(ctx) // before anything is done here
	found := h.findPrograms(ctx, true)
	k := h.kernel()
	devices, err := h.Devices()
	engines := found.engines
	r := Report{FileSystems: fileSystems, Devices: devices}
	r.Environment = h.environment(devices, err, found, h.runningDriver(ctx))

	rights := h.rights()
	fio := h.fioSection(found)
	loops := h.loops(k, devices, fileSystems)
	files := h.fileSystems(k, fileSystems)
	docker := h.docker(ctx, found)
	groups := h.cgroups()
	r.Sections = []Section{rights, fio, docker}
	var drivers Section // of the engine that runs would start
	for i, e := range engines {
		if e.err != nil {
			continue // one that does not start has no drivers
		}
		s := h.storageDrivers(e, k, files)
		if i == 0 {
			drivers = s
		}
		r.Sections = append(r.Sections, s)
	}
	r.Sections = append(r.Sections, files, h.atomicWrites(), loops, h.layers(k), groups, h.observation(k), load)
	if err != nil {
		r.Sections = append(r.Sections, Section{Name: "block devices", Items: []Item{{
			Name: "list", OK: Unknown, Why: err.Error(), Remedy: "mount proc and sysfs, or name their roots",
		}}})
	}
	r.Quick = quick(fileSystems, rights, fio, loops, files, docker, drivers, groups)
	for _, i := range load.Items {
		if i.OK == Limited {
			r.Quick.Warnings = append(r.Quick.Warnings, i.Problem("the host is not quiet: "+i.Name+": "+i.Value))
		}
	}
	return r
}

// quick decides whether `run quick` can run. Quick compares stacks on a loop device: without root, fio or a file
// system it cannot, while for a missing storage driver it skips a trial.
func quick(fileSystems []FileSystem, rights, fio, loops, files, docker, drivers, groups Section) Quick {
	var q Quick
	need := func(i Item) {
		switch i.OK {
		case No:
			q.Missing = append(q.Missing, i.Problem(i.Name))
		case Limited, Unknown:
			q.Warnings = append(q.Warnings, i.Problem(i.Name))
		}
	}
	want := func(i Item, what string) {
		if i.OK != Yes {
			q.Warnings = append(q.Warnings, i.Problem(what))
		}
	}
	need(rights.item("root"))
	need(fio.item("fio"))
	if fio.item("fio").OK != No {
		need(fio.item("libaio"))
	}
	need(loops.item("loop devices"))
	need(loops.item("space"))
	want(loops.item("direct I/O"), "loop devices with direct I/O may not work")

	var names []string
	var lacking []Item
	for _, f := range fileSystems {
		if f.External {
			continue // quick uses none
		}
		names = append(names, f.Name)
		if i := files.item(f.Name); i.OK != Yes {
			lacking = append(lacking, i)
		}
	}
	for _, i := range lacking {
		if p := i.Problem("any of " + strings.Join(names, ", ") + ": " + i.Name); len(lacking) == len(names) {
			q.Missing = append(q.Missing, p)
		} else {
			p.What = "trials on " + i.Name + " will be skipped"
			q.Warnings = append(q.Warnings, p)
		}
	}

	if engine := docker.item("private engines"); engine.OK != Yes {
		want(engine, "trials in containers will be skipped")
	} else if version := groups.item("version"); version.OK != Yes {
		want(version, "trials in containers will be skipped")
	} else {
		for _, name := range []string{"overlay2", "fuse-overlayfs"} {
			want(drivers.item(name), "trials on "+name+" will be skipped")
		}
	}
	q.CanRun = len(q.Missing) == 0
	return q
}

// outsidePath notes that a program exists outside of the directories where runs look.
func (h *Host) outsidePath(i *Item, path string) {
	i.OK = No
	if !h.isRoot() {
		i.OK = Limited // root's PATH may have it
	}
	i.Why = path + " is not in PATH"
	i.Remedy = "put " + filepath.Dir(path) + " into PATH"
}

// Problem is the item as what keeps something else from working, or limits it.
func (i Item) Problem(what string) problem.Problem {
	return problem.Problem{What: what, Why: i.Why, Remedy: i.Remedy}
}

// installing returns the command that installs packages on this host. The names are Debian's, which most
// distributions share.
func (h *Host) installing(packages string) string {
	os := h.osRelease()
	family := os["ID"] + " " + os["ID_LIKE"]
	switch {
	case strings.Contains(family, "debian"):
		return "apt-get install " + packages
	case strings.Contains(family, "fedora") || strings.Contains(family, "rhel"):
		return "dnf install " + packages
	}
	return "install the package " + packages
}
