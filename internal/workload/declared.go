package workload

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Redeclare returns the parameters of a workload as it was declared, in YAML, with other values for some of
// its keys.
func Redeclare(declared string, values map[string]string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(declared), &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("its declaration cannot be read back: %w", err)
	}
	for key, value := range values {
		setKey(doc.Content[0], key, value)
	}
	return doc.Content[0], nil
}

// setKey sets a key of a mapping.
func setKey(mapping *yaml.Node, key, value string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: value}
			return
		}
	}
	mapping.Content = append(mapping.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}

// DeclaredValues returns the values that a declaration, as result.Workload.Declared keeps it, has for a key, however
// deep it lies; nil for a text that is no YAML, such as a job file of fio.
func DeclaredValues(declared, key string) []string {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil {
		return nil
	}
	return scalars(&doc, key)
}

func scalars(n *yaml.Node, key string) (all []string) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == key && child.Kind == yaml.ScalarNode {
			all = append(all, child.Value)
		}
		all = append(all, scalars(child, key)...)
	}
	return all
}

// DeclaredKeys returns the keys of a declaration that have a value, those of nested mappings included, sorted.
func DeclaredKeys(declared string) []string {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil {
		return nil
	}
	keys := map[string]bool{}
	collectKeys(&doc, keys)
	return slices.Sorted(maps.Keys(keys))
}

func collectKeys(n *yaml.Node, keys map[string]bool) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.ScalarNode && child.Tag != "!!null" {
			keys[n.Content[i-1].Value] = true
		}
		collectKeys(child, keys)
	}
}

// DeclaredWithout returns a declaration without a key. The texts of workloads that differ only in that key are equal.
// ok is false if the declaration cannot be read.
func DeclaredWithout(declared, key string) (text string, ok bool) {
	params := map[string]yaml.Node{}
	err := yaml.Unmarshal([]byte(declared), &params)
	if err != nil {
		return "", false
	}
	delete(params, key)
	family, err := yaml.Marshal(params) // its keys in the order of the alphabet
	return string(family), err == nil
}
