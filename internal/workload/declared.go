package workload

import (
	"fmt"

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
		set(doc.Content[0], key, value)
	}
	return doc.Content[0], nil
}

// set gives a key of a mapping a value.
func set(mapping *yaml.Node, key, value string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: value}
			return
		}
	}
	mapping.Content = append(mapping.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}
