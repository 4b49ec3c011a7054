package runview

import (
	"fmt"
	"slices"

	"plimsoll/internal/stack/line"
)

// Difference describes the one thing in which two stacks differ: an option of one layer, one layer more, or another
// view of the same file system. ok is false when they differ in more or in nothing.
func Difference(a, b line.Line) (difference string, ok bool) {
	switch {
	case len(a.Nodes) < len(b.Nodes):
		return Added(a, b)
	case len(a.Nodes) > len(b.Nodes):
		return Added(b, a)
	}
	return replaced(a, b)
}

// Added returns the one node that long has and short has not.
func Added(short, long line.Line) (string, bool) {
	if len(long.Nodes) != len(short.Nodes)+1 {
		return "", false
	}
	i := 0
	for i < len(short.Nodes) && equalNodes(short.Nodes[i], long.Nodes[i]) {
		i++
	}
	if i == 0 || !slices.EqualFunc(short.Nodes[i:], long.Nodes[i+1:], equalNodes) {
		return "", false
	}
	return "the layer " + plain(long.Nodes[i]).String(), true
}

// replaced returns the one node in which two lines of the same length differ.
func replaced(a, b line.Line) (string, bool) {
	index := -1
	for i := range a.Nodes {
		if equalNodes(a.Nodes[i], b.Nodes[i]) {
			continue
		}
		if index >= 0 {
			return "", false
		}
		index = i
	}
	if index < 0 {
		return "", false
	}
	x, y := a.Nodes[index], b.Nodes[index]
	_, _, viewA := Split(a)
	_, _, viewB := Split(b)
	switch {
	case !slices.EqualFunc(x.And, y.And, equalNodes):
		return "", false // other devices
	case oneOfSeveral(x) && oneOfSeveral(y) && x.Name != y.Name:
		return fmt.Sprintf("what makes one device of several, %s or %s", x.Name, y.Name), true
	case x.Name == nodeSched && y.Name == nodeSched:
		return fmt.Sprintf("the I/O scheduler, %s or %s", x.Arg, y.Arg), true
	case x.Name == y.Name && x.Arg == y.Arg:
		return optionChanged(x, y)
	case viewA == &a.Nodes[index] && viewB == &b.Nodes[index]:
		return fmt.Sprintf("what the workload sees, %s or %s", x.Name, y.Name), true
	}
	return "", false // another file system, another device: the ranking tells
}

func oneOfSeveral(n line.Node) bool { return n.Name == nodeStripe || n.Name == nodeRAID0 }

func optionChanged(x, y line.Node) (string, bool) {
	onlyX, onlyY := missingFrom(x.Options, y.Options), missingFrom(y.Options, x.Options)
	switch {
	case len(onlyX)+len(onlyY) == 1:
		return fmt.Sprintf("%s of %s", append(onlyX, onlyY...)[0], x.Name), true
	case len(onlyX) == 1 && len(onlyY) == 1 && onlyX[0].Key == onlyY[0].Key:
		return fmt.Sprintf("%s or %s of %s", onlyX[0], onlyY[0], x.Name), true
	}
	return "", false
}

// missingFrom returns the options that are not among others, counting repeats.
func missingFrom(options, present []line.Option) []line.Option {
	present = slices.Clone(present)
	var out []line.Option
	for _, o := range options {
		if i := slices.Index(present, o); i >= 0 {
			present = slices.Delete(present, i, i+1)
			continue
		}
		out = append(out, o)
	}
	return out
}

// equalNodes reports whether two nodes are equal, regardless of the order of options.
func equalNodes(x, y line.Node) bool {
	return x.Name == y.Name && x.Arg == y.Arg && len(x.Options) == len(y.Options) &&
		len(missingFrom(x.Options, y.Options)) == 0 && slices.EqualFunc(x.And, y.And, equalNodes)
}

// plain is the node without its options.
func plain(n line.Node) line.Node { return line.Node{Name: n.Name, Arg: n.Arg} }
