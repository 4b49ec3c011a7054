// Package cgroup makes control groups of a run's own, starts processes in them,
// limits them, and reads what they used: so that a workload's block requests and
// processor time are told from those of its neighbours, whatever these are
// called, and so that a group of a run is a smaller host inside of this one.
//
// A group that only measures is made in the hierarchies that are needed for that,
// and in no other: the one whose groups block I/O is charged to (the controller
// blkio of version 1 where it is in use, else version 2), and the one that accounts
// for processor time (cpuacct of version 1, else version 2). It is below the group of
// this process, so that limits set on us limit the workload too; with version 2 every
// controller that is switched on for children of our group counts for it. Memory is
// not among them with version 1, so that a workload stays within whatever limit its
// caller set. A group that carries limits (Options.Limits) is made in the hierarchies
// of cpu, cpuset, memory and blkio as well, and by the same path in each, from their
// roots: an engine can then put containers below it. Limits set on us do not hold there.
//
// Hazards. Making a group is a change to the host, and journalled. With version 2 the
// controllers that limits need are switched on for the children of the root, and stay
// so, as every container's runtime leaves them. With version 1:
//   - limits on devices do not hold for groups below, so all processes that are to share
//     one have to be in ONE blkio group: see Options.ShareDevices and Gather;
//   - buffered writes are charged to whoever writes them back, mostly the root, and no
//     limit on devices holds them: see HoldsBufferedWrites;
//   - counters of block I/O stay 0 until there is a limit on the device;
//   - no child may have other processors than its parent, nor with some kernels more of
//     their time: limit the parent first, and make children then.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/state/journal"
)

// Controllers, as version 1 calls them.
const (
	blkio   = "blkio"
	cpuacct = "cpuacct"
	cpu     = "cpu"
	cpuset  = "cpuset"
	memory  = "memory"
)

var (
	measuring = []string{blkio, cpuacct}                      // what every group has
	limiting  = []string{blkio, cpuacct, cpu, cpuset, memory} // what one has that carries limits
)

// Group is a control group, in one hierarchy or in several.
type Group struct {
	places  []place          // one in each hierarchy
	missing map[string]error // why there is no place for a controller that limits need
	limits  bool             // it was made to carry limits
}

// place is a control group in one hierarchy.
type place struct {
	hierarchy
	dir         string   // of the group
	home        string   // of the group that this process is in
	controllers []string // that the group uses the hierarchy for
	shared      bool     // belongs to another group, and is neither made nor limited for this one
}

// Prefix begins the names of all groups that a run makes.
const Prefix = "plimsoll-"

// Options configure a new group.
type Options struct {
	// Limits makes a group that supports limits, and groups and containers below it.
	Limits bool
	// Below is the parent: a scaled-down host, made with Limits, whose limits the new group shares. The new one
	// supports limits too.
	Below *Group
	// ShareDevices puts the block I/O of the new group under the limits on devices of Below. With version 1
	// that means that it is charged as Below's own, and cannot be told from that of others there. With
	// version 2 such limits hold for groups below in any case.
	ShareDevices bool
}

// New journals and makes a group and reports, by starting a program in it, that it
// can be used. name must begin with Prefix. The error says why this host, or this
// user, can have none; nothing is left behind then.
func New(ctx context.Context, j *journal.Journal, name string, o Options) (_ *Group, made []*journal.Entry, err error) {
	if os.Getuid() != 0 {
		return nil, nil, errors.New("only root may make one")
	}
	g, err := thisHost().plan(name, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, j.UndoEach(context.WithoutCancel(ctx), made))
		made = nil
	}()
	var paths []string
	for _, p := range g.places {
		if !p.shared && !slices.Contains(paths, p.path()) {
			paths = append(paths, p.path())
		}
	}
	for _, path := range paths {
		e, err := j.Do(ctx, &journal.Cgroup{Path: path}, func(string) error { return g.make(path) })
		if err != nil {
			return nil, made, err
		}
		made = append(made, e)
	}
	if err := g.try(ctx); err != nil {
		return nil, made, fmt.Errorf("start a program in it: %w", err)
	}
	return g, made, nil
}

// plan returns the group that is to be made.
func (h host) plan(name string, o Options) (*Group, error) {
	controllers, limits := measuring, o.Limits || o.Below != nil
	if limits {
		controllers = limiting
	}
	g, err := h.groupOf("self", controllers)
	if err != nil {
		return nil, err
	}
	g.limits = limits
	for i := range g.places {
		p := &g.places[i]
		switch {
		case o.Below != nil:
			parent, err := o.Below.in(p.mount)
			if err != nil {
				return nil, err
			}
			p.dir = filepath.Join(parent.dir, name)
			if o.ShareDevices && !p.unified && slices.Equal(p.controllers, []string{blkio}) {
				p.dir, p.shared = parent.dir, true
			}
		case o.Limits:
			p.dir = filepath.Join(p.mount, name)
		default:
			p.dir = filepath.Join(p.home, name)
		}
		if o.ShareDevices && slices.Contains(p.controllers, blkio) && !p.unified && !p.shared {
			return nil, fmt.Errorf("limits on devices cannot be shared: there is no group to share them with, or %s "+
				"has other controllers than blkio", p.mount)
		}
	}
	return g, nil
}

// in returns the group's place in the hierarchy that is mounted there.
func (g *Group) in(mount string) (place, error) {
	for _, p := range g.places {
		if p.mount == mount {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("the cgroup above has no group in %s, so limits cannot be set there", mount)
}

// placeOf returns the place that serves a controller.
func (g *Group) placeOf(controller string) (place, bool) {
	for _, p := range g.places {
		if slices.Contains(p.controllers, controller) {
			return p, true
		}
	}
	return place{}, false
}

// ioPlace returns the place to which the group's block I/O is charged. Every group has it and cpuPlace, and often
// they are the same.
func (g *Group) ioPlace() place {
	p, _ := g.placeOf(blkio)
	return p
}

// cpuPlace returns the place that accounts for the group's processor time.
func (g *Group) cpuPlace() place {
	p, _ := g.placeOf(cpuacct)
	return p
}

// path returns the group's path from the root of the mounted hierarchy, as the journal stores it.
func (p place) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.dir, p.mount), "/") }

// Path returns where the group is, from the root of each hierarchy. It is the same in
// all of them for a group that was made with Options.Limits or Below.
func (g *Group) Path() string { return g.cpuPlace().path() }

// NewAt makes a group that measures at a path from the root of each hierarchy, as New
// does. It is the caller's to journal, and to undo where it fails.
func NewAt(ctx context.Context, path string) (*Group, error) {
	g, err := thisHost().groupOf("self", measuring)
	if err != nil {
		return nil, err
	}
	for i := range g.places {
		p := &g.places[i]
		p.dir = filepath.Join(p.mount, path)
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := g.try(ctx); err != nil {
		return nil, fmt.Errorf("start a program in it: %w", err)
	}
	return g, nil
}

// Parent returns the group that this one is in.
func (g *Group) Parent() *Group {
	up := &Group{places: slices.Clone(g.places), missing: g.missing}
	for i := range up.places {
		up.places[i].dir = filepath.Dir(up.places[i].dir)
	}
	return up
}

// make makes the group at that path, in each hierarchy that it needs. A missing controller is reported when a limit
// of it is set.
func (g *Group) make(path string) error {
	for _, p := range g.places {
		if p.shared || p.path() != path {
			continue
		}
		if p.unified && g.limits {
			g.switchOn(p)
		}
		if err := os.Mkdir(p.dir, 0o755); err != nil {
			return err
		}
		if !p.unified {
			if err := p.initialize(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unifiedName maps a controller to its name in version 2; "" for one that needs no switching on.
var unifiedName = map[string]string{blkio: "io", cpu: "cpu", cpuset: "cpuset", memory: "memory"}

// switchOn enables version 2's controllers for the group: every parent has to enable them.
func (g *Group) switchOn(p place) {
	parent, rest := p.mount, strings.Split(p.path(), "/")
	for _, name := range rest {
		on, _ := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control")) // else switching on says why
		for _, c := range p.controllers {
			name := unifiedName[c]
			if name == "" || g.missing[c] != nil || slices.Contains(strings.Fields(string(on)), name) {
				continue
			}
			if err := write(filepath.Join(parent, "cgroup.subtree_control"), "+"+name); err != nil {
				g.missing[c] = err
			}
		}
		parent = filepath.Join(parent, name)
	}
}

// initialize sets the files of a new group of version 1 that must be set before a process can enter it.
func (p place) initialize() error {
	if slices.Contains(p.controllers, cpuset) {
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := p.inherit(name); err != nil {
				return err
			}
		}
	}
	if slices.Contains(p.controllers, memory) {
		// Before Linux 5.11 a group's limit did not hold below it unless it said so.
		each, err := p.read("memory.use_hierarchy")
		if err == nil && each == "0" {
			return write(filepath.Join(p.dir, "memory.use_hierarchy"), "1")
		}
	}
	return nil
}

// inherit copies a file's value from the parent group.
func (p place) inherit(name string) error {
	above, err := os.ReadFile(filepath.Join(filepath.Dir(p.dir), name))
	if err != nil {
		return err
	}
	return write(filepath.Join(p.dir, name), strings.TrimSpace(string(above)))
}

// try starts a program in the group: kernels before 5.7 cannot with version 2,
// and some sandboxes forbid it.
func (g *Group) try(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "true")
	if err := g.Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// Start starts a command as a process of the group, from its first instruction
// on, as it never was in another. Of a nil group it is the command's own Start.
func (g *Group) Start(cmd *exec.Cmd) (err error) {
	if g == nil {
		return cmd.Start()
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A child begins in the groups of the thread that forks. With version 1 a
	// thread may be in others than its process; it is ours while it is locked.
	runtime.LockOSThread()
	moved := false
	defer func() {
		if moved {
			back := g.enter(func(p place) string { return p.home })
			if err = errors.Join(err, back); back != nil {
				return // the thread stays locked, and ends with its goroutine
			}
		}
		runtime.UnlockOSThread()
	}()
	for _, p := range g.places {
		if !p.unified {
			continue
		}
		dir, err := os.Open(p.dir)
		if err != nil {
			return err
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	moved = true
	if err := g.enter(func(p place) string { return p.dir }); err != nil {
		return err
	}
	return cmd.Start()
}

// enter moves the calling thread to a group of each hierarchy of version 1.
func (g *Group) enter(dir func(place) string) error {
	var errs []error
	for _, p := range g.places {
		if p.unified {
			continue
		}
		// By its number the kernel would stop the whole host for a moment.
		if err := os.WriteFile(filepath.Join(dir(p), "tasks"), []byte("0"), 0); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// ID returns the number under which accounts of block I/O know the group.
func (g *Group) ID() (uint64, error) {
	return inode(g.ioPlace().dir)
}

func inode(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s has no inode", path)
	}
	return stat.Ino, nil
}

// IDs returns the numbers of the group and of those below it.
func (g *Group) IDs() ([]uint64, error) {
	top := g.ioPlace().dir
	var ids []uint64
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != top:
			return nil // it ended meanwhile
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}
		id, err := inode(path)
		if err == nil {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// Above returns the numbers of the groups that hold this one, without the root. They are charged for this group if a
// controller is not enabled for it.
func (g *Group) Above() []uint64 {
	var ids []uint64
	charged := g.ioPlace()
	for dir := filepath.Dir(charged.dir); len(dir) > len(charged.mount); dir = filepath.Dir(dir) {
		if id, err := inode(dir); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
