package published

import (
	"fmt"
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stack/line"
)

// Words that stand for nodes in the patterns of claims.
const (
	anyDevice  = "device" // a block device that does not cache
	anyLocal   = "local"  // one of this host
	anyRemote  = "remote" // one of another host
	anyFS      = "fs"
	anyLayers  = "layers" // whatever follows, or nothing
	wholeStack = "stack"
	localTwin  = "twin" // the same layers on a device of this host
)

// pattern is the notation of stacks that a claim is about.
type pattern struct {
	source line.Node
	rest   []line.Node // of a file system, or of a file system and a view
	layers bool
}

// parts are what the words of a pattern stood for.
type parts struct {
	stack  line.Line
	device []line.Node // below the file system
	fs     []line.Node // one, or none
}

func parsePattern(text string) pattern {
	l, err := line.Parse(text)
	if err != nil || len(l.Nodes) == 0 {
		panic(fmt.Sprintf("published: the pattern %q: %v", text, err)) // a test parses them all
	}
	p := pattern{source: l.Nodes[0], rest: l.Nodes[1:]}
	if n := len(p.rest); n > 0 && p.rest[n-1].Name == anyLayers {
		p.rest, p.layers = p.rest[:n-1], true
	}
	return p
}

// match reports whether a stack is of the pattern, and of what parts.
func (p pattern) match(l line.Line) (out parts, ok bool) {
	if len(l.Nodes) == 0 || !p.onSource(l) {
		return out, false
	}
	out = parts{stack: l, device: l.Nodes}
	_, fileSystem, view := measured.Split(l)
	for i := range l.Nodes {
		if fileSystem == &l.Nodes[i] {
			out.device, out.fs = l.Nodes[:i], l.Nodes[i:i+1]
		}
	}
	switch len(p.rest) {
	case 0:
		return out, p.layers || len(l.Nodes) == 1
	case 1:
		plain := p.layers || len(l.Nodes) == 2 // the host's, with no setting of the device in between
		return out, plain && fits(p.rest[0], fileSystem)
	}
	if !fits(p.rest[1], view) {
		return out, false
	}
	if p.rest[0].Name != measured.NodeThin {
		return out, fits(p.rest[0], fileSystem)
	}
	i := slices.IndexFunc(l.Nodes, func(n line.Node) bool { return n.Name == measured.NodeThin })
	if fileSystem != nil || i < 0 {
		return out, false
	}
	out.device = l.Nodes[:i]
	return out, true
}

func (p pattern) onSource(l line.Line) bool {
	switch p.source.Name {
	case anyDevice:
		return measured.OnDevice(l)
	case anyLocal:
		return measured.OnDevice(l) && measured.Direct(l)
	case anyRemote:
		return measured.OnDevice(l) && measured.Remote(l)
	}
	return fits(p.source, &l.Nodes[0])
}

// fits reports whether a node is the one of a pattern, with its options.
func fits(p line.Node, n *line.Node) bool {
	if n == nil || p.Name != anyFS && p.Name != n.Name {
		return false
	}
	return !slices.ContainsFunc(p.Options, func(o line.Option) bool { return !slices.Contains(n.Options, o) })
}

// subject is a stack that a claim is about.
type subject struct {
	*measured.Stack
	parts   parts
	standIn string
}

// subjects are the stacks of the run that a claim is about, in their order.
func subjects(v *measured.View, t *claims.Test) []subject {
	var out []subject
	for _, s := range v.Stacks {
		for _, of := range t.Stacks {
			p, ok := parsePattern(of.Line).match(s.Parsed)
			if ok && !hasOption(s.Parsed, t.Unless) {
				out = append(out, subject{s, p, of.StandIn})
				break
			}
		}
	}
	if t.Flag != nil {
		out = withFlag(v, *t.Flag, out)
	}
	return out
}

func hasOption(l line.Line, key string) bool {
	return slices.ContainsFunc(l.Nodes, func(n line.Node) bool { _, ok := n.Option(key); return ok })
}

// baselines are the lines that the baseline of a subject may have, the first of
// which is asked for when the run has none.
func baselines(v *measured.View, t *claims.Test, s subject) (out []line.Line) {
	if t.Flag != nil && t.Flag.Wanted == "on" {
		return withoutFlag(v, *t.Flag, s)
	}
	for _, text := range t.Against {
		if text == localTwin {
			out = append(out, attached(v, s.Stack)...)
			continue
		}
		out = append(out, without(t.Without, s.parts.line(text)))
	}
	return out
}

// line writes a pattern with what its words stood for.
func (p parts) line(text string) line.Line {
	if text == wholeStack {
		return p.stack
	}
	l, err := line.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("published: the pattern %q: %v", text, err)) // a test parses them all
	}
	var nodes []line.Node
	for _, n := range l.Nodes {
		switch n.Name {
		case anyDevice:
			nodes = append(nodes, p.device...)
		case anyFS:
			nodes = append(nodes, p.fs...)
		default:
			nodes = append(nodes, n)
		}
	}
	return line.Line{Nodes: nodes}
}

// without returns the line with an option taken from all of its nodes.
func without(key string, l line.Line) line.Line {
	for i := range l.Nodes {
		l = measured.With(l, i, func(n line.Node) line.Node { return measured.WithoutOption(n, key) })
	}
	return l
}
