package stack

import (
	"context"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// layer is one kind of node: its notation, and what it does on the host.
type layer struct {
	line.Def
	marks []result.Mark
	// plan tells people what up changes on the host.
	plan func(n line.Node) []string
	// writes notes what up writes to, and starts, as far as the text tells.
	writes func(s *sketch, n line.Node)
	// check tells, touching nothing, what speaks against the node; nil for
	// nothing. need is the space that the workloads take, in bytes.
	check func(ctx context.Context, e *Env, n line.Node, need int64) error
	// checkOn tells the same of a node for which what is below it, source
	// first, matters.
	checkOn func(e *Env, below []line.Node, n line.Node) error
	// up makes the node on what the layers below left in b; of a view, what its
	// places share.
	up func(ctx context.Context, b *build, n line.Node) error
	// place makes a view's part of a place.
	place func(ctx context.Context, p *Place) error
}

// table lists every kind of node. A new one is one file and one line here.
var table = func() []*layer {
	layers := []*layer{
		loopSource, deviceSource, byIDSource, serialSource, uuidSource, nguidSource, nvmeofSource, dirSource, tmpfsSource,
		elsewhereSource,
		ext4, xfs, btrfs,
		scheduler, lvmStripe, raid0,
		loopLVM, directLVM,
		volume, deviceMapper, deviceMapperOnPool,
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
