package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"plimsoll/internal/workload"
)

// Schema returns the JSON Schema of experiment files, for editors: the keys of
// settings, and the parameters of the given kinds of workloads.
func Schema(kinds []workload.Kind) ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous:                  true, // an ID would be an address where nothing is
		DoNotReference:             true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
	}
	load := loadSchema(kinds)
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[Load]() {
			return load
		}
		return nil
	}
	s := &jsonschema.Schema{
		Version: jsonschema.Version, Type: "object",
		Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		Title: "Plimsoll experiment",
	}
	for _, setting := range settings {
		if setting.Key == "" {
			continue
		}
		value := setting.value.schema(r)
		value.Description = setting.Description
		s.Properties.Set(setting.Key, value)
		if setting.Required != "" {
			s.Required = append(s.Required, setting.Key)
		}
	}
	s.Description = "A question about storage stacks, and the trials that answer it. " +
		"See docs/reference/experiment-file.md."
	for _, key := range []string{"stacks", "workloads", "mixes"} {
		named, _ := s.Properties.Get(key)
		one := uint64(1)
		named.MinProperties = &one
		named.PropertyNames = &jsonschema.Schema{Type: "string", Pattern: declaredPattern}
	}
	factors, _ := s.Properties.Get("factors")
	factors.PropertyNames = &jsonschema.Schema{Type: "string", Pattern: factorPattern}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("print the schema of experiment files: %w", err)
	}
	// Examples are read by people: ">" is no "\u003e".
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	return []byte(plain + "\n"), nil
}

// loadSchema describes a workload: exactly one of the kinds.
func loadSchema(kinds []workload.Kind) *jsonschema.Schema {
	single := uint64(1)
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
		MinProperties:        &single,
		MaxProperties:        &single,
	}
	for _, k := range kinds {
		params := k.Schema()
		params.Description = k.Summary
		orReferences(params)
		s.Properties.Set(k.Name, params)
	}
	return s
}

// orReferences admits levels of factors in place of all values of a mapping.
func orReferences(mapping *jsonschema.Schema) {
	if mapping.Properties == nil {
		return
	}
	for pair := mapping.Properties.Oldest(); pair != nil; pair = pair.Next() {
		for _, below := range append(pair.Value.AnyOf, pair.Value) {
			orReferences(below)
		}
		pair.Value = orReference(pair.Value)
	}
}

// orReference admits the level of a factor in place of a value.
func orReference(value *jsonschema.Schema) *jsonschema.Schema {
	either := &jsonschema.Schema{
		Description: value.Description,
		Default:     value.Default,
		AnyOf:       []*jsonschema.Schema{value, {Type: "string", Pattern: referencePattern}},
	}
	value.Description, value.Default = "", nil
	return either
}
