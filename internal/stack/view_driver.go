package stack

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// dataDir is where a workload's files lie inside a container; scratchDir is
// where its steps leave outputs.
const (
	dataDir    = "/data"
	scratchDir = "/plimsoll"
)

var planEngine = []string{"start a private Docker engine, with separate directories and a separate cgroup"}

// driverKinds are the storage drivers that are one layer each; devicemapper,
// which stands on a pool, has its own file.
var driverKinds = []struct{ name, summary string }{
	{"overlay2", "writable layer on overlayfs, in the store that Docker had before 29"},
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
			Def: line.Def{Name: d.name, Summary: d.summary, Below: line.FileSystem, Gives: line.View,
				Options: []line.OptionDef{committed}},
			plan:   func(line.Node) []string { return append(planEngine, "start a container on storage driver "+d.name) },
			writes: func(s *dryRun, n line.Node) { s.engine(n.Name, engineRoot(s.dir)) },
			check:  func(context.Context, *Env, line.Node, int64) error { return checkEngine() },
			up:     func(ctx context.Context, b *build, _ line.Node) error { return b.containOnStack(ctx, d.name) },
			place:  func(ctx context.Context, p *Place) error { return p.contain(ctx) },
		})
	}
	return out
}

// ofDriver is an error of starting an engine, named after the storage driver where
// this host cannot have that.
func ofDriver(driver string, err error) error {
	if p := problem.Of(err, problem.Unsupported); p != nil {
		return problem.New(p.Kind, "storage driver "+driver, p.Why, p.Remedy).CausedBy(err)
	}
	return err
}

// checkEngine returns an error if private engines cannot be started on this host.
func checkEngine() error {
	if err := needRoot("private Docker engine"); err != nil {
		return err
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return problem.New(problem.Unsupported, "private Docker engine", "dockerd is not installed",
			"apt-get install docker.io")
	}
	return nil
}

// engine is a private Docker engine that containers of places run in.
type engine struct {
	docker  *container.Engine
	mu      sync.Mutex                 // guards roots and taken, which the goroutines of places share
	image   container.Image            // of the steps' programs
	roots   map[string]container.Image // by key of the root that they are of
	entries []*journal.Entry           // of one that bases share
	taken   map[string]bool            // names of containers
}

// containOnStack starts a private engine with its data-root on the stack.
func (b *build) containOnStack(ctx context.Context, driver string) error {
	root := engineRoot(b.base.dir)
	if err := b.mkdir(ctx, root); err != nil {
		return err
	}
	return ofDriver(driver, b.contain(ctx, driver, root))
}

// contain starts a private engine with its data-root at root, whose containers'
// processes will see the stack at dataDir.
func (b *build) contain(ctx context.Context, driver, root string) error {
	e, err := b.startEngine(ctx, driver, root)
	if err != nil {
		return err
	}
	b.useEngine(e)
	return nil
}

// useEngine runs places in containers of an engine.
func (b *build) useEngine(e *engine) {
	b.base.engine = e
	b.fact("Docker engine", e.docker.Version)
	b.fact("storage driver", e.docker.Driver)
}

// startEngine starts a private engine that has the image of the steps'
// programs. It goes with the base.
func (b *build) startEngine(ctx context.Context, driver, root string) (*engine, error) {
	config := container.Config{Name: b.name, Run: b.env.RunID, Driver: driver, DataRoot: root}
	if b.base.pool != nil {
		config.Options = b.base.pool.options
	}
	docker, err := container.Start(ctx, b.env.Journal, config)
	if err != nil {
		return nil, err
	}
	b.base.undo = append(b.base.undo, docker.Entries()...)
	image, err := docker.Import(ctx, b.env.Programs, b.env.Work)
	if err != nil {
		return nil, err
	}
	return &engine{docker: docker, image: image, roots: map[string]container.Image{}, taken: map[string]bool{}}, nil
}

// imageOf returns the image of a root, which it loads into the engine once, or of the steps' programs for nil.
func (e *engine) imageOf(ctx context.Context, env *Env, root *container.Root) (container.Image, error) {
	if root == nil {
		return e.image, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known, ok := e.roots[root.Key]
	if ok {
		return known, nil
	}
	imported := *root
	imported.Self = env.Self
	made, err := e.docker.ImportRoot(ctx, imported, env.Work)
	if err == nil {
		e.roots[root.Key] = made
	}
	return made, err
}

// take returns a name that no container of the engine has.
func (e *engine) take(config PlaceConfig) string {
	name := "workload"
	if config.Of > 1 {
		name = fmt.Sprintf("workload-%d", config.Number)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	free := name
	for n := 2; e.taken[free]; n++ { // another base has places in this engine too
		free = fmt.Sprintf("%s.%d", name, n)
	}
	e.taken[free] = true
	return free
}

// giveBack lets another container have a name.
func (e *engine) giveBack(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.taken, name)
}

// contain starts the container of the place in the base's engine.
func (p *Place) contain(ctx context.Context, binds ...container.Bind) error {
	image, err := p.base.engine.imageOf(ctx, p.base.env, p.config.Root)
	if err != nil {
		return err
	}
	return p.containOf(ctx, image, binds...)
}

// containOf starts a container of an image.
func (p *Place) containOf(ctx context.Context, image container.Image, binds ...container.Bind) error {
	env, e := p.base.env, p.base.engine
	p.name = e.take(p.config)
	config := container.ContainerConfig{
		Name: p.name, Image: image, WorkingDir: dataDir,
		Binds: append(binds, container.Bind{Host: env.Scratch, Inside: scratchDir}),
	}
	in := &containerExecutor{scratch: env.Scratch, engine: e.docker}
	if p.config.Root != nil {
		config.User, in.self = p.config.Root.User, env.Self
		if p.config.Root.Ring {
			config.Ring = true
			p.setFact("seccomp profile", "Docker's, with io_uring for the server")
		}
	}
	if p.group != nil {
		config.CgroupParent = p.group.Path()
	}
	c, err := e.docker.Run(ctx, env.Journal, config)
	if err != nil {
		return err
	}
	p.undo = append(p.undo, c.Entries()...)
	p.Target = workload.Target{Path: dataDir, Container: true}
	in.container = c
	p.execute = in
	if p.config.Group == nil || !p.config.ShareDevices {
		return nil
	}
	containerGroup, err := cgroup.Of(c.PID())
	if err != nil {
		return err
	}
	made, err := p.config.Group.Adopt(ctx, env.Journal, containerGroup)
	p.undo = append(p.undo, made...)
	in.sharing = containerGroup.Sharing(p.config.Group)
	return err
}

// containerExecutor runs steps in a container.
type containerExecutor struct {
	container *container.Container
	scratch   string // on the host
	engine    *container.Engine
	self      string        // path of this program on the host, where the container sees it elsewhere; "" else
	sharing   *cgroup.Group // that steps run in where it shares limits on devices; nil where it does not
}

func (c *containerExecutor) pathInside(scratch string) string {
	return scratchDir + strings.TrimPrefix(scratch, c.scratch)
}

func (c *containerExecutor) stepGroup() (*cgroup.Group, error) {
	if c.sharing != nil {
		return c.sharing, nil
	}
	return cgroup.Of(c.container.PID())
}

func (c *containerExecutor) ownGroup() (*cgroup.Group, error) { return c.engine.Group() }

func (c *containerExecutor) exec(ctx context.Context, p process) (workload.Exit, error) {
	argv := p.argv
	if c.self != "" && argv[0] == c.self {
		argv = slices.Concat([]string{container.SelfPath}, argv[1:])
	}
	return c.container.ExecUntil(ctx, p.enough, p.signal, argv, p.dir)
}
