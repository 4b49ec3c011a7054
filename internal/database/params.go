package database

import (
	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
)

// decode reads the YAML below a database's key onto its defaults.
func decode[P any](t field.Table[P], kind, example string, node *yaml.Node, p P) (P, problem.List) {
	var r field.Reader
	switch {
	case node == nil:
	case node.Kind != yaml.MappingNode:
		r.Problem(node, kind+" takes parameters by name",
			"write them below it, for example: "+example+"; or nothing at all")
	default:
		t.Decode(&r, node, kind, &p)
	}
	return p, r.Problems
}

// schemaOf returns what describes a table's parameters.
func schemaOf[P any](t field.Table[P], defaults P) func() *jsonschema.Schema {
	return func() *jsonschema.Schema { return t.Schema(&defaults) }
}

// imageOf is the parameter that names the image of a server.
func imageOf[P any](example string, at func(*P) *string) field.Field[P] {
	return field.Of("image", "what it runs from: an image that is kept (plimsoll image list), by its name or the "+
		"beginning of its digest", field.Word("the name of an image", example), at)
}

// sizeKind is the kind of a size of memory or files.
func sizeKind(low, high int64) field.Kind[int64] { return field.Size(low, high).Like("256MiB") }
