package stack

import (
	"context"
	"fmt"
	"path/filepath"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// tmpfsSource is memory: an upper bound for any stack.
var tmpfsSource = &layer{
	Def: line.Def{
		Name: "tmpfs", Summary: "a file system in memory", Below: line.Nothing, Gives: line.FileSystem,
		Options: []line.OptionDef{{Key: "size", Value: line.Size, Summary: "most that it may hold", Required: true}},
	},
	marks: []result.Mark{result.MarkMemory},
	plan: func(n line.Node) []string {
		size, _ := n.Option("size")
		return []string{"mount a tmpfs of at most " + size}
	},
	writes: func(s *dryRun, n line.Node) {
		size, _ := n.Option("size")
		s.mounts("tmpfs", "tmpfs", "size="+size)
	},
	check: func(_ context.Context, _ *Env, n line.Node, need int64) error {
		if err := needRoot("tmpfs"); err != nil {
			return err
		}
		size, err := sizeOption(n, "size", "")
		if err == nil && size < need {
			err = problem.New(problem.Unsupported, "tmpfs", fmt.Sprintf("it holds %d bytes, the workloads need %d", size, need),
				"give it a larger size")
		}
		return err
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		size, err := sizeOption(n, "size", "")
		if err != nil {
			return err
		}
		return b.mount(ctx, "tmpfs", "tmpfs", fmt.Sprintf("size=%d", size), filepath.Join(b.env.Work, b.name))
	},
}
