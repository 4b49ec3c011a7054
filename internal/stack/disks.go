package stack

import (
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/stack/line"
)

// WholeDisks names the disks that a stack of that line would stand on, by their
// kernel names. work is where loop devices' files go unless the line says
// otherwise. What cannot be found is left out.
func (e *Env) WholeDisks(l line.Line, work string) []string {
	var all []string
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
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
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
