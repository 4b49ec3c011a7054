package fiofiles

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// parse returns the node of a YAML text.
func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}
