// Package cgroup makes control groups of a run's own, starts processes in them,
// and reads what they used: so that a workload's block requests and processor
// time are told from those of its neighbours, whatever these are called.
//
// A group is made in the hierarchies that are needed for that, and in no other:
// the one whose groups block I/O is charged to (the controller blkio of version
// 1 where it is in use, else version 2), and the one that accounts for processor
// time (cpuacct of version 1, else version 2). Memory is not among them with
// version 1, so that a workload stays within whatever limit its caller set.
//
// Hazards. The group is below that of this process, so that limits set on us
// limit the workload too; with version 2 every controller that is switched on
// for children of our group counts for it. It has no limits of its own. Making
// one is a change to the host, and journalled.
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/journal"
)

// Group is a control group, in one hierarchy or in two.
type Group struct {
	charged place // where its block I/O is charged
	timed   place // where its processor time is accounted; often the same
}

// place is a control group in one hierarchy.
type place struct {
	hierarchy
	dir string // of the group
}

// Prefix is how the name of every group begins that a run makes.
const Prefix = "plimsoll-"

// New journals and makes a group below that of this process and reports, by
// starting a program in it, that it can be used. name must begin with Prefix. The error says why
// this host, or this user, can have none; nothing is left behind then.
func New(ctx context.Context, j *journal.Journal, name string) (_ *Group, made []*journal.Entry, err error) {
	if os.Getuid() != 0 {
		return nil, nil, errors.New("only root may make one")
	}
	charged, timed, err := own()
	if err != nil {
		return nil, nil, err
	}
	g := &Group{
		charged: place{charged, filepath.Join(charged.mount, charged.own, name)},
		timed:   place{timed, filepath.Join(timed.mount, timed.own, name)},
	}
	defer func() {
		if err == nil {
			return
		}
		for _, e := range slices.Backward(made) {
			err = errors.Join(err, j.Undo(context.WithoutCancel(ctx), e))
		}
		made = nil
	}()
	parents := []string{charged.own, timed.own}
	for _, parent := range slices.Compact(parents) {
		path := strings.TrimPrefix(filepath.Join(parent, name), "/")
		e, err := j.Do(ctx, &journal.Cgroup{Path: path}, func(string) error { return g.mkdir(parent) })
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

// NewAt makes a group at a path from the root of each hierarchy, as New does. It
// is the caller's to journal, and to undo where it fails.
func NewAt(ctx context.Context, path string) (*Group, error) {
	charged, timed, err := own()
	if err != nil {
		return nil, err
	}
	g := &Group{
		charged: place{charged, filepath.Join(charged.mount, path)},
		timed:   place{timed, filepath.Join(timed.mount, path)},
	}
	for _, p := range g.places() {
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
	up := *g
	up.charged.dir, up.timed.dir = filepath.Dir(g.charged.dir), filepath.Dir(g.timed.dir)
	return &up
}

// Of returns the group that a process is in.
func Of(pid int) (*Group, error) {
	charged, timed, err := groupsOf(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	return &Group{
		charged: place{charged, filepath.Join(charged.mount, charged.own)},
		timed:   place{timed, filepath.Join(timed.mount, timed.own)},
	}, nil
}

// places are the group's, each once.
func (g *Group) places() []place {
	if g.charged.dir == g.timed.dir {
		return []place{g.charged}
	}
	return []place{g.charged, g.timed}
}

// mkdir makes the group where it is to be right below parent.
func (g *Group) mkdir(parent string) error {
	for _, p := range g.places() {
		if p.own != parent {
			continue
		}
		if err := os.Mkdir(p.dir, 0o755); err != nil {
			return err
		}
	}
	return nil
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
			back := g.enter(func(p place) string { return filepath.Join(p.mount, p.own) })
			if err = errors.Join(err, back); back != nil {
				return // the thread stays locked, and ends with its goroutine
			}
		}
		runtime.UnlockOSThread()
	}()
	for _, p := range g.places() {
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
	var all []error
	for _, p := range g.places() {
		if p.unified {
			continue
		}
		// By its number the kernel would stop the whole host for a moment.
		if err := os.WriteFile(filepath.Join(dir(p), "tasks"), []byte("0"), 0); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// ID returns the number under which accounts of block I/O know the group.
func (g *Group) ID() (uint64, error) {
	return inode(g.charged.dir)
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
	var all []uint64
	err := filepath.WalkDir(g.charged.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != g.charged.dir:
			return nil // it ended meanwhile
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}
		id, err := inode(path)
		if err == nil {
			all = append(all, id)
		}
		return nil
	})
	return all, err
}

// Above returns the numbers of the groups that this one is in, but for the root:
// where a controller is not switched on for it, they are charged in its place.
func (g *Group) Above() []uint64 {
	var all []uint64
	for dir := filepath.Dir(g.charged.dir); len(dir) > len(g.charged.mount); dir = filepath.Dir(dir) {
		if id, err := inode(dir); err == nil {
			all = append(all, id)
		}
	}
	return all
}

// CPU returns the processor time that processes of the group, and of groups
// below it, have used.
func (g *Group) CPU() (time.Duration, error) {
	if !g.timed.unified {
		text, err := os.ReadFile(filepath.Join(g.timed.dir, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return time.Duration(ns), err
	}
	name := filepath.Join(g.timed.dir, "cpu.stat")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "usage_usec "); ok {
			us, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return time.Duration(us) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("%s does not tell usage_usec", name)
}
