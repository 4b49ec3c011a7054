package published

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
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

func parsed(text string) line.Line {
	l, err := line.Parse(text)
	if err != nil || len(l.Nodes) == 0 {
		panic(fmt.Sprintf("published: the pattern %q: %v", text, err)) // a test parses them all
	}
	return l
}

func parsePattern(text string) pattern {
	l := parsed(text)
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
	_, fileSystem, view := runview.Split(l)
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
	if p.rest[0].Name != runview.NodeThin {
		return out, fits(p.rest[0], fileSystem) && fits(p.rest[1], view)
	}
	i := slices.IndexFunc(l.Nodes, func(n line.Node) bool { return n.Name == runview.NodeThin })
	if fileSystem != nil || i < 0 || !fits(p.rest[1], view) {
		return out, false
	}
	out.device = l.Nodes[:i]
	return out, true
}

func (p pattern) onSource(l line.Line) bool {
	switch p.source.Name {
	case anyDevice:
		return runview.OnDevice(l)
	case anyLocal:
		return runview.OnDevice(l) && runview.Direct(l)
	case anyRemote:
		return runview.OnDevice(l) && runview.Remote(l)
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

// line writes a pattern with what its words stood for.
func (p parts) line(text string) line.Line {
	if text == wholeStack {
		return p.stack
	}
	var nodes []line.Node
	for _, n := range parsed(text).Nodes {
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

// subject is a stack that a claim is about.
type subject struct {
	*runview.Stack
	parts   parts
	standIn string
}

// device names what a stack stands on.
func (s subject) device() string { return runview.Canonical(line.Line{Nodes: s.parts.device}) }

// subjects are the stacks of the run that a claim is about, in their order.
func subjects(v *runview.View, t *claims.Test) (out []subject) {
	for _, s := range v.Stacks {
		for _, wanted := range t.Stacks {
			p, ok := parsePattern(wanted.Line).match(s.Parsed)
			if ok && !hasOption(s.Parsed, t.Unless) {
				out = append(out, subject{s, p, wanted.StandIn})
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

// caveats say how a subject differs from the paper's.
func (s subject) caveats(v *runview.View, t *claims.Test) (out []Reason) {
	if f := t.Flag; f != nil && f.Wanted == "off" && s.declared(*f) == "" && onByDefault(v, *f) {
		out = append(out, newReason("caveat: no lock", "%s of %s reads without that lock by default, the paper's of Linux 4.6 "+
			"with it: mount=%s takes it again", s.parts.fs[0].Name, strings.TrimSpace("Linux "+v.Run.Environment.Kernel), f.Off))
	}
	if fs := s.parts.fs; t.PaperFS != "" && fs[0].Name != t.PaperFS {
		out = append(out, newReason("caveat: other file system", "on %s here, on %s in the paper", fs[0].Name, t.PaperFS))
	}
	if runview.Remote(s.Parsed) {
		over := runview.TransportOf(s.Parsed)
		out = append(out, newReason("caveat: other transport",
			"over %s here, over RDMA at 40 Gbit/s in the paper; the two devices have to be one model", over))
	}
	return out
}

// baselines are the lines that the baseline of a subject may have, the first of
// which is asked for when the run has none.
func baselines(v *runview.View, t *claims.Test, s subject) (out []line.Line) {
	if t.Flag != nil && t.Flag.Wanted == "on" {
		return withoutFlag(v, *t.Flag, s)
	}
	for _, text := range t.Against {
		if text == localTwin {
			out = append(out, attached(v, s.Stack)...)
			continue
		}
		l := s.parts.line(text)
		for i := range l.Nodes {
			l = runview.With(l, i, func(n line.Node) line.Node { return runview.WithoutOption(n, t.Without) })
		}
		out = append(out, l)
	}
	return out
}

// attached returns the lines that have the layers of a remote stack on a device
// of this host: those of the run, and else how such a device is written.
func attached(v *runview.View, s *runview.Stack) (lines []line.Line) {
	for _, other := range v.Stacks {
		if runview.Twins(s.Parsed, other.Parsed) {
			lines = append(lines, other.Parsed)
		}
	}
	example := line.Line{Nodes: slices.Clone(s.Parsed.Nodes)}
	example.Nodes[0] = line.Node{Name: "serial", Arg: "SERIAL"}
	return append(lines, example)
}

// declared is the flag that a stack is mounted with on demand; "" for neither.
func (s subject) declared(f claims.Flag) string {
	mounted := s.parts.fs[0].MountOptions()
	for _, flag := range []string{f.Off, f.On} {
		if slices.ContainsFunc(mounted, func(o line.Option) bool { return o.String() == flag }) {
			return flag
		}
	}
	return ""
}

// withFlag leaves the stacks that are mounted as a claim wants it. One that says
// nothing is mounted with the flag where that is the default, and is taken for it
// when none says so itself, and another says the opposite.
func withFlag(v *runview.View, f claims.Flag, subjects []subject) []subject {
	says := func(flag string) bool {
		return slices.ContainsFunc(subjects, func(s subject) bool { return s.declared(f) == flag })
	}
	wanted := []string{f.On}
	switch {
	case f.Wanted == "off":
		wanted = []string{f.Off, ""}
	case !says(f.On) && says(f.Off) && onByDefault(v, f):
		wanted = []string{""}
	}
	return slices.DeleteFunc(subjects, func(s subject) bool { return !slices.Contains(wanted, s.declared(f)) })
}

// withoutFlag are the lines of a stack with the opposite of the flag, and without
// either where the opposite is the default.
func withoutFlag(v *runview.View, f claims.Flag, s subject) []line.Line {
	mounted := func(flags ...string) line.Line {
		return runview.With(s.parts.stack, len(s.parts.device), func(n line.Node) line.Node {
			options := slices.DeleteFunc(n.MountOptions(), func(o line.Option) bool { return o.String() == f.On || o.String() == f.Off })
			for _, flag := range flags {
				options = append(options, line.Option{Key: flag, Bare: true})
			}
			return n.WithMountOptions(options)
		})
	}
	if onByDefault(v, f) {
		return []line.Line{mounted(f.Off)}
	}
	return []line.Line{mounted(f.Off), mounted()}
}

// onByDefault reports whether the flag is the default of the run's kernel. An
// unknown kernel is taken for one of today.
func onByDefault(v *runview.View, f claims.Flag) bool {
	kernel, known := release(v.Run.Environment.Kernel)
	since, _ := release(f.DefaultSince)
	return !known || slices.Compare(kernel[:], since[:]) >= 0
}

// release reads the first two numbers of a kernel's release.
func release(text string) (numbers [2]int, ok bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(fields) < 2 {
		return numbers, false
	}
	for i := range numbers {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, true
}
