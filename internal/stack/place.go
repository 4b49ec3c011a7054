package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// PlaceConfig describes the place of an instance on a base.
type PlaceConfig struct {
	Number int // from 0
	Of     int // number of places that the base will have; 0 is 1
	// Group is a scaled-down host that the instance is in, made with cgroup.Options.Limits; nil for none.
	Group *cgroup.Group
	// ShareDevices puts the instance's block I/O under the scaled-down host's limits on devices. With version 1 of
	// cgroups it can then have none of its own.
	ShareDevices bool
	// Limits asks for a place that can carry limits. In a scaled-down host, and in a container, it can in any case.
	Limits bool
	// Root has the container's programs; nil for those of this host. A place of each root can have the same number.
	Root *container.Root
}

// label returns the name of the place among those of its base.
func (c PlaceConfig) label() string {
	if c.Root == nil {
		return fmt.Sprint(c.Number)
	}
	return fmt.Sprintf("%d-%.12s", c.Number, c.Root.Key)
}

// Place is an instance's own spot on a base: a directory, a volume, a writable layer,
// or all of a device. A base of one place is all that place's.
type Place struct {
	Target  workload.Target
	Devices []result.Device // that its files are on, top first: those of the base, or its own above these
	Disks   []blockdev.Disk // that hold its bytes; none where they cannot be told
	Facts   []result.Fact   // read back from the host, besides those of the base

	base    *Base
	config  PlaceConfig
	group   *cgroup.Group // in the scaled-down host; nil for none
	dir     string        // of its files on the host, where it has one
	holds   string        // block device that holds the workload's files, when it is not the one below the base
	files   string        // where the host finds these files then
	name    string        // of its container
	execute executor      // where steps run
	undo    []*journal.Entry
	commits int // of its files so far
}

// executor runs a step's process and waits for it.
type executor interface {
	// stepGroup is the cgroup that steps run in, and nothing else; the
	// error is why they have none of their own.
	stepGroup() (*cgroup.Group, error)
	// ownGroup returns the cgroup of all processes of the steps: stepGroup or a parent of it.
	ownGroup() (*cgroup.Group, error)
	exec(ctx context.Context, p process) (workload.Exit, error)
	// pathInside returns the path of a scratch directory as the process sees it.
	pathInside(scratch string) string
}

// process describes a process for an executor.
type process struct {
	argv   []string
	dir    string          // as the process sees it
	lent   string          // scratch directory on the host, which a process of another user may write to
	enough <-chan struct{} // closed to ask the process to end; nil for never
	signal unix.Signal     // sent to ask it to end
	stdin  string          // that it reads; "" for nothing
}

// Place makes a place on the base. All places of a base are of as many.
func (b *Base) Place(ctx context.Context, config PlaceConfig) (*Place, error) {
	config.Of = max(1, config.Of)
	p, err := b.newPlace(config)
	if err != nil {
		return nil, err
	}
	if err := p.up(ctx); err != nil {
		return nil, errors.Join(err, p.Down(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// newPlace enters a place among those of the base.
func (b *Base) newPlace(config PlaceConfig) (*Place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.checkPlace(config)
	if err != nil {
		return nil, err
	}
	p := &Place{base: b, config: config, Devices: b.Devices, Disks: b.Disks}
	b.places = append(b.places, p)
	return p, nil
}

// checkPlace returns why the base cannot have the place.
func (b *Base) checkPlace(config PlaceConfig) error {
	if config.Number < 0 || config.Number >= config.Of {
		return fmt.Errorf("place %d of stack %s: it is to have %d, from 0", config.Number, b.line, config.Of)
	}
	for _, other := range b.places {
		if other.config.label() == config.label() || other.config.Of != config.Of {
			return fmt.Errorf("place %d of %d of stack %s: it has place %d of %d already", config.Number, config.Of, b.line,
				other.config.Number, other.config.Of)
		}
	}
	if config.Root != nil && b.view == nil {
		return problem.New(problem.Unsupported, "a database from an image on stack "+b.line.String(), "it has no containers",
			"let the stack end in a volume, or in a storage driver: > volume")
	}
	if config.Of > 1 && b.dir == "" && b.pool == nil {
		return problem.New(problem.Unsupported, fmt.Sprintf("%d instances on stack %s", config.Of, b.line),
			"it ends in a block device, which an instance takes as a whole",
			"put a file system on it, such as xfs, or name as many stacks, each with a device of its own")
	}
	return nil
}

func (p *Place) up(ctx context.Context) error {
	b := p.base
	if p.config.Group != nil {
		if err := p.join(ctx); err != nil {
			return err
		}
	}
	var err error
	if b.view == nil {
		err = p.onHost(ctx)
	} else {
		err = b.view.place(ctx, p)
	}
	if err != nil {
		return err
	}
	if p.holds != "" {
		p.Devices, err = blockdev.Chain(p.base.env.Host.Roots, p.holds)
		if err != nil {
			return fmt.Errorf("find the devices under %s: %w", p.holds, err)
		}
		p.Disks = b.disks(p.Devices)
		p.Facts = append(p.Facts, schedulers(p.Devices, b.Devices)...)
	}
	return p.size()
}

// join makes the group of the place in the scaled-down host.
func (p *Place) join(ctx context.Context) error {
	o := cgroup.Options{Limits: true, Below: p.config.Group}
	if p.base.view == nil { // else the container has a group of its own, and is moved
		o.ShareDevices = p.config.ShareDevices
	}
	group, made, err := cgroup.New(ctx, p.base.env.Journal, p.base.env.GroupName(), o)
	p.undo = append(p.undo, made...)
	if err != nil {
		return fmt.Errorf("make a cgroup below %s: %w", p.config.Group.Path(), err)
	}
	p.group = group
	return nil
}

// onHost makes a place for processes of the host.
func (p *Place) onHost(ctx context.Context) error {
	b := p.base
	p.Target = workload.Target{Path: b.block, Block: true}
	if b.dir != "" {
		if err := p.mkdir(ctx); err != nil {
			return err
		}
		p.Target = workload.Target{Path: p.dir, Elsewhere: b.elsewhere}
	}
	var err error
	p.execute, err = p.newHost(ctx)
	return err
}

// mkdir makes the directory of the place; that of the base is the place's where it is
// the only one.
func (p *Place) mkdir(ctx context.Context) error {
	p.dir = p.base.dir
	if p.config.Of == 1 {
		return nil
	}
	p.dir = filepath.Join(p.base.dir, "instance-"+p.config.label())
	make := func(string) error { return p.base.mkdir(p.dir) }
	entry, err := p.base.env.Journal.Do(ctx, &journal.Dir{Path: p.dir}, make)
	if entry != nil {
		p.undo = append(p.undo, entry)
	}
	return err
}

// free returns the free space of the base's file system; 0 where it has none.
func (b *Base) free() (int64, error) {
	if b.dir == "" {
		return 0, nil
	}
	return freeBytes(b.dir)
}

// size sets how much may be written to the place: the free space when it is made, which the places of a base share.
// Env.Check has already checked that the workloads fit.
func (p *Place) size() error {
	b := p.base
	switch {
	case p.Target.Block:
		p.Target.SizeBytes = b.sizeBytes
		return nil
	case p.files != "":
		free, err := freeBytes(p.files)
		p.Target.SizeBytes = free / int64(p.config.Of) // a pool promises all of it to each
		return err
	}
	free, err := b.free()
	p.Target.SizeBytes = free
	return err
}

func (p *Place) fact(name, value string) {
	p.Facts = append(p.Facts, result.Fact{Name: name, Value: strings.TrimSpace(value)})
}

// Down takes the place away, with what its workloads wrote; what is written to the only
// place of a base goes with the base.
func (p *Place) Down(ctx context.Context) error {
	err := p.takeDown(ctx)
	p.forget()
	return err
}

// takeDown undoes what was made for the place alone: others may be taken down meanwhile.
func (p *Place) takeDown(ctx context.Context) error {
	err := p.base.env.Journal.UndoEach(ctx, p.undo)
	p.undo = nil
	return err
}

// forget has the base know nothing of the place.
func (p *Place) forget() {
	if in, ok := p.execute.(*containerExecutor); ok {
		in.container.Forget()
	}
	if p.name != "" {
		p.base.engine.giveBack(p.name)
	}
	p.base.mu.Lock()
	defer p.base.mu.Unlock()
	p.base.places = slices.DeleteFunc(p.base.places, func(other *Place) bool { return other == p })
}

// StepGroup returns the cgroup that the place's steps run in, and nothing
// else. The error is why they have none of their own, and run where we do.
func (p *Place) StepGroup() (*cgroup.Group, error) { return p.execute.stepGroup() }

// OwnGroup returns the cgroup of all that runs for the place's steps: the steps
// themselves, and a container's engine with all its containers. Of a container in a
// scaled-down host it has the engine alone; the container is below the scaled-down host's group. The
// error is why there is none.
func (p *Place) OwnGroup() (*cgroup.Group, error) { return p.execute.ownGroup() }

// Limit sets all limits of the place's steps, and removes those that are 0. It returns the limits as the kernel
// reports them.
func (p *Place) Limit(l result.Limits) (readBack result.Limits, err error) {
	group, groupErr := p.StepGroup()
	if groupErr != nil {
		return readBack, fmt.Errorf("limit place %d of stack %s: its steps have no cgroup: %w",
			p.config.Number, p.base.line, groupErr)
	}
	readBack, err = group.Limit(l, p.LimitDevices())
	if err != nil {
		err = fmt.Errorf("limit place %d of stack %s: %w", p.config.Number, p.base.line, err)
	}
	return readBack, err
}

// ReadBack returns the limits that the kernel holds for the place's steps.
func (p *Place) ReadBack() (result.Limits, error) {
	group, none := p.StepGroup()
	if none != nil {
		return result.Limits{}, none
	}
	return group.Limits(p.LimitDevices())
}

// Network returns the path of a file of the network namespace that the place's steps run in, apart
// from this host's. It stands for that namespace as long as the place is there, whatever becomes
// of the processes in it.
func (p *Place) Network() (string, error) {
	in, ok := p.execute.(*containerExecutor)
	if !ok {
		return "", fmt.Errorf("place %d of stack %s has no network of its own: it has no container", p.config.Number,
			p.base.line)
	}
	return in.container.Network()
}

// InMemory reports whether the base stands in memory, and on no device.
func (b *Base) InMemory() bool { return slices.Contains(Marks(b.line), result.MarkMemory) }

// LimitDevices returns the MAJ:MIN of the devices that limits on the base's devices are
// set for, as on those of a scaled-down host that its places share: the topmost one. It is
// empty for a stack in memory.
func (b *Base) LimitDevices() []string { return b.limitDevices(b.Devices) }

// LimitDevices returns the same of the place, which may have a device of its own.
func (p *Place) LimitDevices() []string { return p.base.limitDevices(p.Devices) }

// limitDevices returns the MAJ:MIN of the topmost device, of a partition that of its
// disk: limits are for whole disks.
func (b *Base) limitDevices(devices []result.Device) []string {
	if len(devices) == 0 || devices[0].MajMin == "" {
		return nil
	}
	disk, err := blockdev.WholeDisk(b.env.Host.Roots, devices[0])
	if err != nil {
		disk = devices[0] // setting a limit says why it cannot be had
	}
	return []string{disk.MajMin}
}
