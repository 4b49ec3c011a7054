package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

// overlayfs is the writable layer that containerd's snapshotter of this name makes. Where the host's Docker keeps
// containers in containerd's store, a private engine of it makes one. Elsewhere, and with the option that Docker does not
// take, the layer is mounted in its way into a container.
var overlayfs = &layer{
	Def: line.Def{
		Name: "overlayfs", Summary: "a writable layer of containerd's overlayfs snapshotter",
		Below: line.FileSystem, Gives: line.View,
		Options: []line.OptionDef{
			{Key: volatile, Value: line.Flag, Summary: "fsync and sync write nothing back; a crash loses the layer"},
		},
	},
	plan: func(n line.Node) []string {
		if inContainerdStore(n) {
			return append(planEngine, "start a container in containerd's store")
		}
		return append(planEngine, "mount an overlayfs whose layers are on it", "start a container with that mount")
	},
	writes: func(s *dryRun, n line.Node) {
		if inContainerdStore(n) {
			s.engine(hostinfo.ContainerdStore, engineRoot(s.dir))
			return
		}
		s.makes(overlayDir(s.dir))
		s.starts(overlayArgv(overlayDir(s.dir), n)...)
		s.engine(volumeDrivers[0], volumeRoot(s.work, "N", volumeDrivers[0]))
	},
	check:   func(context.Context, *Env, line.Node, int64) error { return checkEngine() },
	checkOn: checkOverlay,
	up: func(ctx context.Context, b *build, n line.Node) error {
		if strings.ContainsAny(b.base.dir, `,:\`) {
			return problem.New(problem.Unsupported, "overlayfs in "+b.base.dir,
				"a mount of overlayfs takes a comma or a colon in a path for a separator",
				"name a state directory (--state-dir), or a directory of the stack, without")
		}
		if inContainerdStore(n) {
			b.fact("writable layer", "made by containerd")
			return b.containOnStack(ctx, hostinfo.ContainerdStore)
		}
		b.fact("writable layer", "mounted as containerd does")
		return b.useVolumes(ctx, volumeDrivers)
	},
	place: func(ctx context.Context, p *Place) error {
		if !p.base.shared {
			return p.contain(ctx)
		}
		if err := p.mkdir(ctx); err != nil {
			return err
		}
		if err := p.mountOverlay(ctx); err != nil {
			return err
		}
		return p.contain(ctx, container.Bind{Host: p.dir, Inside: dataDir})
	},
}

// inContainerdStore reports whether an engine of this host makes the layer.
func inContainerdStore(n line.Node) bool {
	_, direct := n.Option(volatile)
	return !direct && container.CheckContainerdStore() == nil
}

const volatile = "volatile"

// Parts of an overlay's directory.
const (
	overlayLower  = "lower"
	overlayUpper  = "upper"
	overlayWork   = "work"
	overlayMerged = "merged"
)

func overlayDir(dir string) string { return filepath.Join(dir, "overlay") }

// overlayOptions are the mount options of the overlay in dir.
func overlayOptions(dir string, n line.Node) string {
	pathOf := func(part string) string { return filepath.Join(dir, part) }
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s",
		pathOf(overlayLower), pathOf(overlayUpper), pathOf(overlayWork))
	if _, ok := n.Option(volatile); ok {
		options += "," + volatile
	}
	return options
}

func overlayArgv(dir string, n line.Node) []string {
	return mountArgv("overlay", "overlay", overlayOptions(dir, n), filepath.Join(dir, overlayMerged))
}

// checkOverlay refuses a directory of the host on a file system that cannot hold a writable layer.
func checkOverlay(e *Env, nodesBelow []line.Node, n line.Node) error {
	source := nodesBelow[0]
	if source.Name != dirSource.Name {
		return nil
	}
	m, err := blockdev.MountOf(e.Host.Roots, source.Arg)
	if err != nil {
		return nil //nolint:nilerr // the source's own check says why
	}
	if m.FSType == "overlay" || strings.HasPrefix(m.FSType, "nfs") || strings.HasPrefix(m.FSType, "fuse") {
		return problem.New(problem.Unsupported, n.String()+" in "+source.Arg,
			"the kernel takes no writable layer on "+m.FSType, overlayRemedy)
	}
	return nil
}

const overlayRemedy = "put it on ext4, xfs, btrfs or tmpfs"

// mountOverlay mounts an overlay in the place's directory, and makes the place's files lie in a directory of it: one
// that is in the writable layer alone, as those that a container makes.
func (p *Place) mountOverlay(ctx context.Context) error {
	dir := overlayDir(p.dir)
	merged := filepath.Join(dir, overlayMerged)
	for _, path := range []string{
		dir, filepath.Join(dir, overlayLower), filepath.Join(dir, overlayUpper), filepath.Join(dir, overlayWork), merged,
	} {
		if err := p.makeDir(ctx, path); err != nil {
			return err
		}
	}
	n := p.base.line.Nodes[len(p.base.line.Nodes)-1]
	change := &journal.Mount{Source: "overlay", Target: merged, Type: "overlay", Options: overlayOptions(dir, n)}
	err := p.do(ctx, change, func(mark string) error { return command(ctx, mark, overlayArgv(dir, n)...) })
	if err != nil {
		return refusedOverlay(ctx, n, err)
	}
	m, err := blockdev.MountOf(p.base.env.Host.Roots, merged)
	if err != nil {
		return err
	}
	options := strings.Split(m.VFSOptions, ",")
	isVolatile := slices.Contains(options, volatile) || slices.Contains(options, "fsync="+volatile) // Linux 6.18
	if _, asked := n.Option(volatile); asked != isVolatile {
		return fmt.Errorf("mount of overlayfs on %s: asked for %s, and the kernel has it %s", merged, n, m.VFSOptions)
	}
	p.fact("overlayfs options", strings.Join(slices.DeleteFunc(options, func(o string) bool {
		return strings.Contains(o, "dir=/") // paths of this run
	}), ","))
	p.dir = filepath.Join(merged, "data")
	return p.makeDir(ctx, p.dir)
}

// refusedOverlay explains why the kernel refused to mount an overlay.
func refusedOverlay(ctx context.Context, n line.Node, err error) error {
	if ctx.Err() != nil {
		return err
	}
	remedy := overlayRemedy
	_, asked := n.Option(volatile)
	switch {
	case !kernelHas("overlay"):
		remedy = "modprobe overlay, or take another kernel"
	case asked:
		remedy += "; volatile needs Linux 5.10"
	}
	return problem.New(problem.Unsupported, n.String(), "this kernel does not mount it: "+err.Error(), remedy).CausedBy(err)
}

func (p *Place) makeDir(ctx context.Context, path string) error {
	return p.do(ctx, &journal.Dir{Path: path}, func(string) error { return os.Mkdir(path, 0o755) })
}

// do journals a change, makes it, and keeps it for Down.
func (p *Place) do(ctx context.Context, c journal.Change, make func(mark string) error) error {
	entry, err := p.base.env.Journal.Do(ctx, c, make)
	if entry != nil {
		p.undo = append(p.undo, entry)
	}
	return err
}
