package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"plimsoll/internal/problem"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/line"
)

// volumeDrivers are tried for the engine of a volume, in this order.
var volumeDrivers = []string{"overlay2", "vfs"}

// volume is a data volume: a directory of the stack, mounted into a container
// past its storage driver (MSST'17 section 4, option 3).
var volume = &layer{
	Def: line.Def{
		Name: "volume", Summary: "a container with a data volume on the stack", Below: line.FileSystem, Gives: line.View,
		Options: []line.OptionDef{
			{
				Key:     "driver",
				Value:   line.Text,
				Summary: "storage driver of the container's engine",
				Default: "overlay2, or vfs where that does not start",
				Check:   line.OneOf(driverNames()...),
			},
		},
	},
	plan: func(line.Node) []string { return append(planEngine, "start a container with a data volume on it") },
	writes: func(s *dryRun, n line.Node) {
		driver, ok := n.Option("driver")
		if !ok {
			driver = volumeDrivers[0]
		}
		s.engine(driver, volumeRoot(s.work, "N", driver))
	},
	check: func(ctx context.Context, e *Env, n line.Node, need int64) error {
		if named, _ := n.Option("driver"); named == deviceMapper.Name {
			return deviceMapper.check(ctx, e, n, need)
		}
		return checkEngine()
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		drivers := volumeDrivers
		if named, only := n.Option("driver"); only {
			drivers = []string{named}
		}
		return b.useVolumes(ctx, drivers)
	},
	place: func(ctx context.Context, p *Place) error {
		if err := p.mkdir(ctx); err != nil {
			return err
		}
		return p.contain(ctx, container.Bind{Host: p.dir, Inside: dataDir})
	},
}

// useVolumes runs places in containers of the engine for data volumes of the first of the storage drivers that starts.
func (b *build) useVolumes(ctx context.Context, drivers []string) error {
	var refused error
	for _, driver := range drivers {
		shared, err := b.volumeEngine(ctx, driver)
		if err == nil {
			b.base.shared = true
			b.useEngine(shared)
			return nil
		}
		switch {
		case problem.Of(err) == nil:
			return err
		case len(drivers) == 1 && errors.Is(err, problem.Unsupported):
			return ofDriver(driver, err)
		}
		refused = errors.Join(refused, err)
	}
	return fmt.Errorf("no storage driver starts below %s: %w", b.env.Work, refused)
}

// volumeEngine returns the engine of a storage driver for data volumes. The first call starts it, and it stays up
// until Release. Stacks share it: images and their storage play no part in a volume's I/O, and lie on the run's disk.
func (b *build) volumeEngine(ctx context.Context, driver string) (*engine, error) {
	if v := b.env.volumes[driver]; v != nil {
		return v, nil
	}
	// What is made here belongs to no stack.
	nobody := &Base{env: b.env}
	shared := &build{env: b.env, base: nobody, name: "volumes-" + driver}
	root := volumeRoot(b.env.Work, strconv.Itoa(b.env.engines), driver)
	b.env.engines++
	v, err := shared.startVolumeEngine(ctx, driver, root)
	if err != nil {
		return nil, errors.Join(err, nobody.Down(context.WithoutCancel(ctx)))
	}
	v.entries = nobody.undo
	if b.env.volumes == nil {
		b.env.volumes = map[string]*engine{}
	}
	b.env.volumes[driver] = v
	return v, nil
}

func (b *build) startVolumeEngine(ctx context.Context, driver, root string) (*engine, error) {
	makeRoot := b.mkdir
	if driver == deviceMapper.Name {
		makeRoot = b.loopPool
	}
	if err := makeRoot(ctx, root); err != nil {
		return nil, err
	}
	return b.startEngine(ctx, driver, root)
}

// Release takes down what stacks share. The stacks must all be down. Later stacks start a new engine: after a failure
// the state of the old one is unknown.
func (e *Env) Release(ctx context.Context) error {
	var all []error
	for _, v := range e.volumes {
		all = append(all, e.release(ctx, v))
	}
	return errors.Join(all...)
}

// release ends an engine with all its containers. The next stack that needs one
// of its storage driver starts another.
func (e *Env) release(ctx context.Context, v *engine) error {
	maps.DeleteFunc(e.volumes, func(_ string, other *engine) bool { return other == v })
	return e.Journal.UndoEach(ctx, v.entries)
}
