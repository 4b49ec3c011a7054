package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"plimsoll/internal/container"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// volume is a data volume: a directory of the stack, mounted into a container
// past its storage driver (MSST'17 section 4, option 3).
var volume = &layer{
	Def: line.Def{
		Name: "volume", Summary: "a container with a data volume on the stack", Below: line.FileSystem, Gives: line.View,
		Options: []line.OptionDef{
			{Key: "driver", Value: line.Text, Summary: "storage driver of the container's engine", Default: "overlay2, or vfs where that does not start"},
		},
	},
	plan: func(line.Node) []string { return append(planEngine, "start a container with a data volume on it") },
	check: func(ctx context.Context, e *Env, n line.Node, need int64) error {
		if named, _ := n.Option("driver"); named == deviceMapper.Name {
			return deviceMapper.check(ctx, e, n, need)
		}
		return checkEngine()
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		// The images' own storage plays no part in a volume's I/O; it lies on
		// the run's disk, with whatever driver starts there.
		root := filepath.Join(b.Work, b.name+"-engine")
		drivers := []string{"overlay2", "vfs"}
		named, only := n.Option("driver")
		if only {
			drivers = []string{named}
		}
		makeRoot := b.mkdir
		if named == deviceMapper.Name {
			makeRoot = b.loopPool
		}
		if err := makeRoot(ctx, root); err != nil {
			return err
		}
		var refused error
		for _, driver := range drivers {
			err := b.contain(ctx, driver, root, container.Bind{Host: b.dir, Inside: dataDir})
			if err == nil {
				return nil
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
