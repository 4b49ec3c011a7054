package stack

import (
	"context"

	"plimsoll/internal/stack/line"
)

// toy stands on a file system and leaves it as it is.
var toy = &layer{
	Def:    line.Def{Name: "toy", Summary: "a file system as it is", Below: line.FileSystem, Gives: line.FileSystem},
	plan:   func(line.Node) []string { return nil },
	writes: func(*dryRun, line.Node) {},
	up: func(_ context.Context, b *build, _ line.Node) error {
		b.fact("toy", "it came up")
		return nil
	},
}
