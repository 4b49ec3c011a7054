package stack

import (
	"context"
	"fmt"
	"path/filepath"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// elsewhereSource is a server that somebody else runs. Its devices are unknown, and only a directory for the load
// generator is made.
var elsewhereSource = &layer{
	Def: line.Def{
		Name: line.Elsewhere, Summary: "the place of a server that you started; Plimsoll creates no files",
		Below: line.Nothing, Gives: line.FileSystem,
	},
	marks:  []result.Mark{result.MarkElsewhere},
	plan:   func(line.Node) []string { return []string{"make no files: the server runs already"} },
	writes: func(*dryRun, line.Node) {},
	up: func(ctx context.Context, b *build, _ line.Node) error {
		dir := filepath.Join(b.env.Work, b.name)
		if err := b.mkdir(ctx, dir); err != nil {
			return fmt.Errorf("make a directory for the load generator: %w", err)
		}
		b.base.dir, b.base.elsewhere = dir, true
		return nil
	},
}
