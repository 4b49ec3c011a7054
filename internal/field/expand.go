package field

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// Limits of a file, where its kind has no others. A real one is far below them; they stop files
// that are made to fill the memory: a few aliases of aliases grow without end.
const (
	maxBytes  = 1 << 20
	maxValues = 20_000
	maxDepth  = 100
)

// expander replaces aliases by their values, and merge keys (<<) by the pairs that they bring in, so that readers of
// the tree meet neither. Nodes keep the line where they were written.
type expander struct {
	limit    int // values
	values   int
	problems problem.List // why it gave up: one, or none
}

func (x *expander) giveUp(n *yaml.Node, what, remedy string) {
	if len(x.problems) == 0 {
		x.problems.InLine(n.Line, what, remedy)
	}
}

// expand gives a copy of n. Once there is a problem it is of no use.
func (x *expander) expand(n *yaml.Node, depth int) *yaml.Node {
	x.values++
	switch {
	case x.values > x.limit:
		x.giveUp(n, "the file holds too many values once its aliases are filled in",
			"write them out instead of nesting aliases")
	case depth > maxDepth:
		x.giveUp(n, "values are nested too deep, or an alias is part of the value that it names", "")
	}
	if len(x.problems) > 0 {
		return n
	}
	if n.Kind == yaml.AliasNode {
		return x.expand(n.Alias, depth+1)
	}
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, x.expand(child, depth+1))
	}
	if c.Kind == yaml.MappingNode {
		c.Content = x.merge(c.Content)
	}
	return &c
}

// merge puts the pairs of merge keys in their place. A key that is written
// out wins over a merged one, and an earlier merged one over a later.
func (x *expander) merge(pairs []*yaml.Node) []*yaml.Node {
	isMerge := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!merge" }
	if !slices.ContainsFunc(pairs, isMerge) {
		return pairs
	}
	taken := map[string]bool{}
	for key := range slices.Chunk(pairs, 2) {
		if !isMerge(key[0]) {
			taken[key[0].Value] = true
		}
	}
	var merged []*yaml.Node
	for pair := range slices.Chunk(pairs, 2) {
		if !isMerge(pair[0]) {
			merged = append(merged, pair...)
			continue
		}
		sources := []*yaml.Node{pair[1]}
		if pair[1].Kind == yaml.SequenceNode {
			sources = pair[1].Content
		}
		for _, source := range sources {
			if source.Kind != yaml.MappingNode {
				x.giveUp(pair[0], "<< merges keys and values, and this has none",
					"write <<: *name, where &name is before keys and values")
				return nil
			}
			for p := range slices.Chunk(source.Content, 2) {
				if !taken[p[0].Value] {
					taken[p[0].Value] = true
					merged = append(merged, p...)
				}
			}
		}
	}
	return merged
}
