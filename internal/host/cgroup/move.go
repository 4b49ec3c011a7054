package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

// procs is the file of a group that lists its processes, and takes others in.
const procs = "cgroup.procs"

// Move moves a process and its descendants into the group. Their memory stays charged to the old group.
func (g *Group) Move(pid int) error {
	moved := map[int]bool{}
	// A child that was forked before its parent was moved is found in the next round.
	for {
		var fresh []int
		// Parents first: the children that they have from then on are in the group.
		for _, p := range append([]int{pid}, descendants(pid)...) {
			if !moved[p] {
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		for _, p := range fresh {
			moved[p] = true
			err := g.move(p)
			if err != nil && (p == pid || !errors.Is(err, syscall.ESRCH)) {
				return fmt.Errorf("move process %d to %s: %w", p, g.Path(), err)
			}
		}
	}
}

func (g *Group) move(pid int) error {
	for _, p := range g.places {
		if err := p.set(procs, strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// descendants returns the processes that descend from one, parents before children.
func descendants(ancestor int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc") // without it, there is none to be found
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended meanwhile
		}
		// The name, in parentheses, may have blanks.
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) > 1 {
			parent, _ := strconv.Atoi(f[1])
			children[parent] = append(children[parent], pid)
		}
	}
	var pids []int
	for next := children[ancestor]; len(next) > 0; {
		pids = append(pids, next...)
		var after []int
		for _, pid := range next {
			after = append(after, children[pid]...)
		}
		next = after
	}
	return pids
}

// Gather applies the group's device limits to everything in the groups of the given processes: to all of a container,
// given any of its processes. With version 1 it moves them to the group's place for block I/O, and processes started
// later must be gathered again. With version 2 nothing can be moved, and the error is the reason why the limits do
// not apply to them.
func (g *Group) Gather(pids ...int) error {
	for _, pid := range pids {
		theirs, err := thisHost().groupOf(strconv.Itoa(pid), measuring)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = syscall.ESRCH
			}
			return fmt.Errorf("find the cgroup of process %d: %w", pid, err)
		}
		if err := g.gather(theirs); err != nil {
			return fmt.Errorf("put process %d under the limits on devices of %s: %w", pid, g.Path(), err)
		}
	}
	return nil
}

// Sharing returns the group with its block I/O charged to another group, as after Adopt. With version 2 the result is
// the same group.
func (g *Group) Sharing(sharer *Group) *Group {
	shared := &Group{places: slices.Clone(g.places), missing: g.missing, limits: g.limits}
	for i, p := range shared.places {
		if !p.unified && slices.Equal(p.controllers, []string{blkio}) {
			shared.places[i].dir, shared.places[i].shared = sharer.ioPlace().dir, true
		}
	}
	return shared
}

// Adopt is Gather that includes processes started later: with version 1 it mounts the group's place for block I/O
// over that of the container's group, so that an engine that enters it by path enters the group. The mount must be
// undone before the container is removed.
func (g *Group) Adopt(ctx context.Context, j *journal.Journal, theirs *Group) (made []*journal.Entry, err error) {
	from, to := g.ioPlace(), theirs.ioPlace()
	if err := to.separable(); err != nil {
		return nil, err
	}
	if !from.unified && from.dir != to.dir {
		mount := &journal.Mount{Source: from.dir, Target: to.dir, Type: "none", Options: "bind"}
		entry, err := j.Do(ctx, mount, func(string) error {
			if err := unix.Mount(from.dir, to.dir, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("mount %s on %s: %w", from.dir, to.dir, err)
			}
			// Else mounts of this kind would appear in each other.
			return unix.Mount("", to.dir, "", unix.MS_PRIVATE, "")
		})
		if entry != nil {
			made = append(made, entry)
		}
		if err != nil {
			return made, err
		}
	}
	if err := g.gather(theirs); err != nil {
		return made, fmt.Errorf("put %s under the limits on devices of %s: %w", theirs.Path(), g.Path(), err)
	}
	return made, nil
}

func (g *Group) gather(theirs *Group) error {
	target, source := g.ioPlace(), theirs.cpuPlace()
	if target.unified {
		relative, err := filepath.Rel(target.dir, theirs.ioPlace().dir)
		if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
			return fmt.Errorf("it is in %s, which is not below that", theirs.ioPlace().dir)
		}
		return nil
	}
	if err := target.separable(); err != nil {
		return err
	}
	// The group of processor time shows whose processes these are: their block I/O may be in our group already.
	if !strings.Contains(source.dir, "/"+Prefix) {
		return fmt.Errorf("it is in %s, which no run has made: others' processes are left alone", source.dir)
	}
	// A process that was not moved yet may fork meanwhile: the next round finds its children.
	for {
		present, err := target.direct()
		if err != nil {
			return err
		}
		candidates, err := source.pids()
		if err != nil {
			return err
		}
		moved := false
		for _, pid := range candidates {
			if slices.Contains(present, pid) {
				continue
			}
			err := target.set(procs, strconv.Itoa(pid))
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			moved = moved || err == nil
		}
		if !moved {
			return nil
		}
	}
}

// separable returns why processes of the place cannot be charged for block I/O elsewhere.
func (p place) separable() error {
	if p.unified || slices.Equal(p.controllers, []string{blkio}) {
		return nil
	}
	return fmt.Errorf("limits on devices cannot be shared: the hierarchy of blkio, %s, has other controllers too", p.mount)
}

// direct returns the processes of a group, without those of groups below it.
func (p place) direct() ([]int, error) { return pidsIn(filepath.Join(p.dir, procs)) }

func pidsIn(file string) (all []int, err error) {
	text, err := os.ReadFile(file)
	for _, word := range strings.Fields(string(text)) {
		pid, errPID := strconv.Atoi(word)
		if errPID == nil && pid > 0 {
			all = append(all, pid)
		}
	}
	return all, err
}

// pids returns the processes of a group and of those below it, in order.
func (p place) pids() ([]int, error) {
	var pids []int
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			return nil
		}
		if err == nil {
			var direct []int
			direct, err = pidsIn(filepath.Join(path, procs))
			pids = append(pids, direct...)
		}
		if path != p.dir && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)) {
			return nil // it ended meanwhile
		}
		return err
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}
