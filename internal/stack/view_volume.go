package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"plimsoll/internal/container"
	"plimsoll/internal/journal"
	"plimsoll/internal/result"
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
			{Key: "driver", Value: line.Text, Summary: "storage driver of the container's engine", Default: "overlay2, or vfs where that does not start", Check: line.OneOf(driverNames()...)},
		},
	},
	plan: func(line.Node) []string { return append(planEngine, "start a container with a data volume on it") },
	writes: func(s *sketch, n line.Node) {
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
		named, only := n.Option("driver")
		if only {
			drivers = []string{named}
		}
		var refused error
		for _, driver := range drivers {
			shared, err := b.volumeEngine(ctx, driver)
			if err == nil {
				b.shared = shared
				return b.runIn(ctx, shared.engine, shared.image, container.Bind{Host: b.dir, Inside: dataDir})
			}
			var start *container.StartError
			switch {
			case !errors.As(err, &start):
				return err
			case only && start.Refused:
				return &Unsupported{result.Problem{What: "storage driver " + driver, Why: start.Reason, Remedy: start.Remedy}}
			}
			refused = errors.Join(refused, err)
		}
		return fmt.Errorf("no storage driver starts below %s: %w", b.Work, refused)
	},
}

// volumeEngine is an engine that stacks with a data volume share, one after
// the other: images and their storage play no part in a volume's I/O, and lie
// on the run's disk.
type volumeEngine struct {
	engine  *container.Engine
	image   container.Image
	entries []*journal.Entry
}

// volumeEngine returns the engine of a storage driver, and starts it when it
// is asked for first. It stays up until Release.
func (b *build) volumeEngine(ctx context.Context, driver string) (*volumeEngine, error) {
	if v := b.volumes[driver]; v != nil {
		return v, nil
	}
	// What is made here belongs to no stack.
	shared := &build{Env: b.Env, Stack: &Stack{env: b.Env}, name: "volumes-" + driver}
	root := volumeRoot(b.Work, strconv.Itoa(b.engines), driver)
	b.engines++
	v, err := shared.startVolumeEngine(ctx, driver, root)
	if err != nil {
		return nil, errors.Join(err, shared.Down(context.WithoutCancel(ctx)))
	}
	v.entries = shared.undo
	if b.volumes == nil {
		b.volumes = map[string]*volumeEngine{}
	}
	b.volumes[driver] = v
	return v, nil
}

func (b *build) startVolumeEngine(ctx context.Context, driver, root string) (*volumeEngine, error) {
	makeRoot := b.mkdir
	if driver == deviceMapper.Name {
		makeRoot = b.loopPool
	}
	if err := makeRoot(ctx, root); err != nil {
		return nil, err
	}
	engine, image, err := b.startEngine(ctx, driver, root)
	if engine != nil {
		b.undo = append(b.undo, engine.Entries()...)
	}
	if err != nil {
		return nil, err
	}
	return &volumeEngine{engine: engine, image: image}, nil
}

// Release takes down what stacks share, which must all be down. A stack that
// comes up later has it made anew: after a failure nobody knows which of it is
// half dead.
func (e *Env) Release(ctx context.Context) error {
	var all []error
	for _, v := range e.volumes {
		all = append(all, e.release(ctx, v))
	}
	return errors.Join(all...)
}

// release ends an engine with all its containers. The next stack that needs one
// of its storage driver starts another.
func (e *Env) release(ctx context.Context, v *volumeEngine) error {
	maps.DeleteFunc(e.volumes, func(_ string, other *volumeEngine) bool { return other == v })
	var all []error
	for _, entry := range slices.Backward(v.entries) {
		all = append(all, e.Journal.Undo(ctx, entry))
	}
	return errors.Join(all...)
}
