package runview

import (
	"slices"
	"strings"

	"plimsoll/internal/stack/line"
)

// Topped returns the line with more nodes on top.
func Topped(l line.Line, names ...string) line.Line {
	nodes := slices.Clone(l.Nodes)
	for _, name := range names {
		nodes = append(nodes, line.Node{Name: name})
	}
	return line.Line{Nodes: nodes}
}

// CopyOnWriteOff reports whether a stack is btrfs without copy-on-write.
func CopyOnWriteOff(l line.Line) bool {
	_, fileSystem, _ := Split(l)
	if !OnDevice(l) || fileSystem == nil || fileSystem.Name != NodeBtrfs {
		return false
	}
	_, off := fileSystem.Option("nodatacow")
	return off
}

// With returns the line with the node at an index changed.
func With(l line.Line, index int, change func(line.Node) line.Node) line.Line {
	nodes := slices.Clone(l.Nodes)
	n := nodes[index]
	n.Options = slices.Clone(n.Options)
	nodes[index] = change(n)
	return line.Line{Nodes: nodes}
}

// Below returns the line without its upper nodes.
func Below(l line.Line, nodes int) line.Line { return line.Line{Nodes: l.Nodes[:nodes]} }

// WithoutOption returns the node without the options of that key.
func WithoutOption(n line.Node, key string) line.Node {
	n.Options = slices.DeleteFunc(n.Options, func(o line.Option) bool { return o.Key == key })
	return n
}

// Canonical writes lines that mean the same alike: the order of options does
// not matter, nor does a default that is spelled out.
func Canonical(l line.Line) string {
	if len(l.Nodes) == 0 {
		return ""
	}
	nodes := append(canonicalNodes(l.Sources()), canonicalNodes(l.Nodes[1:])...)
	sources := len(l.Sources())
	nodes = append([]line.Node{line.Join(nodes[:sources]...)}, nodes[sources:]...)
	// On a file system, devicemapper makes its pool in loop-lvm.
	nodes = slices.DeleteFunc(nodes, func(n line.Node) bool {
		_, loops := n.Option("loop-lvm")
		return n.Name == NodeThin && loops
	})
	return line.Line{Nodes: nodes}.String()
}

func canonicalNodes(nodes []line.Node) (out []line.Node) {
	for _, n := range nodes {
		byText := func(a, b line.Option) int { return strings.Compare(a.Key+"="+a.Value, b.Key+"="+b.Value) }
		mounted := n.MountOptions()
		slices.SortFunc(mounted, byText)
		n = n.WithMountOptions(mounted)
		n.Options = slices.DeleteFunc(n.Options, func(o line.Option) bool {
			return n.Name == NodeLoop && o.Key == "direct-io" && o.Value == "on"
		})
		slices.SortFunc(n.Options, byText)
		out = append(out, n)
	}
	return out
}
