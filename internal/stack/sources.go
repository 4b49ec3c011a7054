package stack

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/problem"
)

// checkSources returns an error if a source cannot be used. Sources share need bytes. Errors of all refused devices
// are joined: each needs a permission of its own.
func (e *Env) checkSources(ctx context.Context, sources []part, need int64) error {
	n := int64(len(sources))
	var refused []error
	names := map[string]string{} // by MAJ:MIN
	for _, p := range sources {
		if d, err := e.device(p.node); err == nil { // else it is no device, or none that is found
			if other := names[d.MajMin]; other != "" {
				refused = append(refused, problem.New(problem.Protected, "block device "+p.node.String(),
					"it is the same device as "+other+", which the stack has already", "name each device once"))
				continue
			}
			names[d.MajMin] = p.node.String()
		}
		if p.check == nil {
			continue
		}
		err := p.check(ctx, e, p.node, (need+n-1)/n)
		switch {
		case problem.Of(err, problem.Protected, problem.Invalid) != nil:
			refused = append(refused, err)
		case err != nil:
			return err
		}
	}
	return errors.Join(refused...)
}

// upSources brings up the sources that a layer makes one device of.
func (b *build) upSources(ctx context.Context, sources []part) error {
	name := b.name
	defer func() { b.name = name }()
	ownsBlocks := true
	for i, p := range sources {
		// No stack has a plus in its name, so the name is unique.
		b.name = fmt.Sprintf("%s+%d", name, i+1)
		b.base.ownsBlock = false
		b.env.trace("%s: %s", name, p.node.Name)
		if err := p.up(ctx, b, p.node); err != nil {
			return err
		}
		ownsBlocks = ownsBlocks && b.base.ownsBlock
		b.base.blocks = append(b.base.blocks, b.base.block)
	}
	b.base.ownsBlock, b.base.block = ownsBlocks, ""
	return nil
}
