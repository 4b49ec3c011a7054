package stack

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"plimsoll/internal/cgroup"
	"plimsoll/internal/container"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
)

// dataDir is where a workload's files lie inside a container; scratchDir is
// where its steps leave outputs.
const (
	dataDir    = "/data"
	scratchDir = "/plimsoll"
)

var planEngine = []string{"start a private Docker engine, with directories and a cgroup of its own"}

// driverKinds are the storage drivers that are one layer each; devicemapper,
// which stands on a pool, has its own file.
var driverKinds = []struct{ name, summary string }{
	{"overlay2", "writable layer on overlayfs"},
	{"btrfs", "writable layer as a btrfs subvolume; needs btrfs below"},
	{"vfs", "writable layer as a plain copy of the image"},
	{"fuse-overlayfs", "writable layer on overlayfs in user space"},
	{"aufs", "writable layer on aufs; not in mainline kernels, gone from engine 24"},
	{"zfs", "writable layer as a ZFS clone; needs ZFS below"},
	{"overlay", "the predecessor of overlay2; gone from engine 24"},
}

// driverNames are all storage drivers that an engine can be started with.
func driverNames() []string {
	names := []string{"devicemapper"}
	for _, d := range driverKinds {
		names = append(names, d.name)
	}
	return names
}

// drivers are Docker's storage drivers: the workload writes to the writable
// layer of a container whose private engine keeps its data-root on the stack
// (MSST'17 section 4, options 1 and 2).
func drivers() []*layer {
	var out []*layer
	for _, d := range driverKinds {
		out = append(out, &layer{
			Def:    line.Def{Name: d.name, Summary: d.summary, Below: line.FileSystem, Gives: line.View},
			plan:   func(line.Node) []string { return append(planEngine, "start a container on storage driver "+d.name) },
			writes: func(s *sketch, n line.Node) { s.engine(n.Name, engineRoot(s.dir)) },
			check:  func(context.Context, *Env, line.Node, int64) error { return checkEngine() },
			up: func(ctx context.Context, b *build, _ line.Node) error {
				root := engineRoot(b.dir)
				if err := b.mkdir(ctx, root); err != nil {
					return err
				}
				err := b.contain(ctx, d.name, root)
				var start *container.StartError
				if errors.As(err, &start) && start.Refused {
					return &Unsupported{result.Problem{What: "storage driver " + d.name, Why: start.Reason, Remedy: start.Remedy}}
				}
				return err
			},
		})
	}
	return out
}

// checkEngine tells whether private engines can be started at all.
func checkEngine() error {
	if err := needRoot("private Docker engine"); err != nil {
		return err
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return &Unsupported{result.Problem{What: "private Docker engine", Why: "dockerd is not installed", Remedy: "apt-get install docker.io"}}
	}
	return nil
}

// contain starts a private engine with its data-root at root, and in it the
// container whose processes will see the stack at dataDir.
func (b *build) contain(ctx context.Context, driver, root string) error {
	engine, image, err := b.startEngine(ctx, driver, root)
	if engine != nil {
		b.undo = append(b.undo, engine.Entries()...)
	}
	if err != nil {
		return err
	}
	return b.runIn(ctx, engine, image)
}

// startEngine starts a private engine that has the image of the steps'
// programs. It returns the engine that is up also when the image failed.
func (b *build) startEngine(ctx context.Context, driver, root string) (*container.Engine, container.Image, error) {
	config := container.Config{Name: b.name, Run: b.RunID, Driver: driver, DataRoot: root}
	if b.pool != nil {
		config.Options = b.pool.options
	}
	engine, err := container.Start(ctx, b.Journal, config)
	if err != nil {
		return nil, container.Image{}, err
	}
	image, err := engine.Import(ctx, b.Programs, b.Work)
	return engine, image, err
}

// runIn starts the container of a stack in an engine.
func (b *build) runIn(ctx context.Context, engine *container.Engine, image container.Image, binds ...container.Bind) error {
	binds = append(binds, container.Bind{Host: b.Scratch, Inside: scratchDir})
	c, err := engine.Run(ctx, b.Journal, container.ContainerConfig{Name: "workload", Image: image, Binds: binds, WorkingDir: dataDir})
	if err != nil {
		return err
	}
	b.undo = append(b.undo, c.Entries()...)
	b.execute = &contained{container: c, scratch: b.Scratch, engine: engine}
	b.Target = workload.Target{Path: dataDir, Container: true}
	b.fact("Docker engine", engine.Version)
	b.fact("storage driver", engine.Driver)
	return nil
}

// contained runs steps in a container.
type contained struct {
	container *container.Container
	scratch   string // on the host
	engine    *container.Engine
}

func (c *contained) sees(scratch string) string {
	return scratchDir + strings.TrimPrefix(scratch, c.scratch)
}

func (c *contained) stepGroup() (*cgroup.Group, error) { return cgroup.Of(c.container.PID()) }

func (c *contained) ownGroup() (*cgroup.Group, error) { return c.engine.Group() }

func (c *contained) exec(ctx context.Context, p process) (workload.Exit, error) {
	return c.container.ExecUntil(ctx, p.enough, p.argv, p.dir)
}
