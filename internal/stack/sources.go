package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/result"
)

// checkSources tells what speaks against the sources of a stack, of which
// several share need. Devices that are refused are told all at once: each
// needs a permission of its own.
func (e *Env) checkSources(ctx context.Context, sources []part, need int64) error {
	n := int64(len(sources))
	var refused []*Refused
	names := map[string]string{} // by MAJ:MIN
	for _, p := range sources {
		if p.check == nil {
			continue
		}
		err := p.check(ctx, e, p.node, (need+n-1)/n)
		var r *Refused
		switch {
		case errors.As(err, &r):
			refused = append(refused, r)
		case err != nil:
			return err
		}
		d, err := e.device(p.node)
		if err != nil {
			continue // no device, or refused above
		}
		if other := names[d.MajMin]; other != "" {
			refused = append(refused, &Refused{result.Problem{
				What: fmt.Sprintf("block device %s", p.node), Why: "it is the same device as " + other, Remedy: "name each device once",
			}})
		}
		names[d.MajMin] = p.node.String()
	}
	switch len(refused) {
	case 0:
		return nil
	case 1:
		return refused[0]
	}
	var whats, whys, remedies []string
	for _, r := range refused {
		whats = append(whats, r.What)
		whys = append(whys, r.What+": "+r.Why)
		remedies = append(remedies, r.Remedy)
	}
	return &Refused{result.Problem{What: strings.Join(whats, " and "), Why: strings.Join(whys, "; "), Remedy: strings.Join(remedies, "; ")}}
}

// upSources brings up the sources that a layer makes one device of.
func (b *build) upSources(ctx context.Context, sources []part) error {
	name := b.name
	defer func() { b.name = name }()
	own := true
	for i, p := range sources {
		// No stack has a plus in its name, so this is nobody else's.
		b.name = fmt.Sprintf("%s+%d", name, i+1)
		b.own = false
		b.trace("%s: %s", name, p.node.Name)
		if err := p.up(ctx, b, p.node); err != nil {
			return err
		}
		own = own && b.own
		b.blocks = append(b.blocks, b.block)
	}
	b.own, b.block = own, ""
	return nil
}
