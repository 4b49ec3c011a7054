package stack

import (
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/stack/line"
)

// WholeDisks returns the kernel names of the disks under a stack. work is the directory of loop devices' files unless
// the line names one. Disks that cannot be found are left out.
func (e *Env) WholeDisks(l line.Line, work string) []string {
	var names []string
	for _, n := range l.Sources() {
		path := work
		switch {
		case n.Name == loopSource.Name:
			if dir, ok := n.Option("dir"); ok {
				path = dir
			}
		case n.Name == dirSource.Name:
			path = n.Arg
		case namesDevice(n):
			d, err := e.device(n)
			if err != nil {
				continue
			}
			path = d.Path
		default: // another host's, or memory
			continue
		}
		for _, name := range disksOf(e.Host.Roots, path) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// disksOf names the disks under a path, or under where it will be made.
func disksOf(roots hostfs.Roots, path string) (names []string) {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	chain, err := blockdev.Chain(roots, path)
	if err != nil {
		return nil
	}
	disks, err := blockdev.Disks(roots, chain, nil, "")
	if err != nil {
		return nil
	}
	for _, d := range disks {
		names = append(names, d.Name)
	}
	return names
}
