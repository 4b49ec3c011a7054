package stack

import (
	"context"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// layer is the implementation of one kind of node: its notation, and its effects on the host.
type layer struct {
	line.Def
	marks      []result.Mark
	fileSystem *filesystem // that the node makes; nil for any other node
	// plan describes, for people, the changes that up makes to the host.
	plan func(n line.Node) []string
	// writes records what up would write to and start, as far as the line shows it.
	writes func(s *dryRun, n line.Node)
	// check returns an error if the node cannot be made, without touching anything. need is the space that the
	// workloads take, in bytes.
	check func(ctx context.Context, e *Env, n line.Node, need int64) error
	// checkOn is check for a node that depends on the nodes below it, source first.
	checkOn func(e *Env, below []line.Node, n line.Node) error
	// up makes the node on top of the layers recorded in b. For a view, it makes the part that its places share.
	up func(ctx context.Context, b *build, n line.Node) error
	// place makes a view's part of a place.
	place func(ctx context.Context, p *Place) error
}

// table lists every kind of node. A new one is one file and one line here.
var table = func() []*layer {
	layers := []*layer{
		loopSource, deviceSource, byIDSource, serialSource, uuidSource, nguidSource, nvmeofSource, dirSource, tmpfsSource,
		elsewhereSource,
		ext4, xfs, btrfs, zfs,
		scheduler, costModel, lvmStripe, raid0,
		loopLVM, directLVM,
		volume, overlayfs, deviceMapper, deviceMapperOnPool,
	}
	return append(layers, drivers()...)
}()

// Catalog is the notation of all nodes, for the parser of lines.
func Catalog() *line.Catalog {
	var defs []line.Def
	for _, k := range table {
		defs = append(defs, k.Def)
	}
	return line.NewCatalog(defs...)
}
