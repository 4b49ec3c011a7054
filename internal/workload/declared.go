package workload

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// timeKeys are keys of workloads whose whole numbers without a unit were seconds, before every time had one.
var (
	timeKeys    = []string{"runtime", "ramp", "thinktime", "think", "timeout"}
	wholeNumber = regexp.MustCompile(`^[0-9]+$`)
)

// WithUnits returns the parameters of a workload that a run stored, with units where older versions had none. Nodes
// are not changed: others may share them.
func WithUnits(params *yaml.Node) *yaml.Node {
	if params.Kind != yaml.MappingNode {
		return params
	}
	all := *params
	all.Content = slices.Clone(params.Content)
	for i := 0; i+1 < len(all.Content); i += 2 {
		value := *all.Content[i+1]
		if slices.Contains(timeKeys, all.Content[i].Value) && wholeNumber.MatchString(value.Value) {
			value.Tag, value.Value = "!!str", value.Value+"s"
			all.Content[i+1] = &value
		}
	}
	return &all
}

// DeclaredWithUnits is WithUnits of a declaration, as result.Workload.Declared keeps it, in one spelling. A text that
// is no mapping, such as a job file of fio, stays as it is.
func DeclaredWithUnits(declared string) string {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return declared
	}
	text, err := yaml.Marshal(WithUnits(doc.Content[0]))
	if err != nil {
		return declared
	}
	return string(text)
}

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

// DeclaredWithout returns a declaration without a key: equal for workloads that differ in nothing else. ok is false
// where it cannot be read.
func DeclaredWithout(declared, key string) (text string, ok bool) {
	others := map[string]yaml.Node{}
	err := yaml.Unmarshal([]byte(DeclaredWithUnits(declared)), &others)
	if err != nil {
		return "", false
	}
	delete(others, key)
	family, err := yaml.Marshal(others) // its keys in the order of the alphabet
	return string(family), err == nil
}
