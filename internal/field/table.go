package field

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
)

// Field is a key of parameters P. What reads it, its range, its documentation and its schema are made from it.
type Field[P any] struct {
	Key, Help string

	wanted Error // of what is no text
	set    func(p *P, text string) error
	get    func(p *P) string                                          // as set reads it; nil where it has no text
	nested func(r *Reader, p *P, n *yaml.Node, what string) (ok bool) // in place of set: a value that is more than a text
	schema func(defaults *P) *jsonschema.Schema
}

// Of returns a field that holds a value of a kind.
func Of[P, T any](key, help string, k Kind[T], pointer func(*P) *T) Field[P] {
	return Field[P]{
		Key: key, Help: help, wanted: Error{k.Takes, "write " + k.Example},
		schema: func(defaults *P) *jsonschema.Schema {
			s, v := k.Schema(), *pointer(defaults)
			if _, err := k.Parse(k.Format(v)); err == nil { // a default that no file could have is left out
				s.Default = jsonOf(s, k.Format(v))
			}
			return s
		},
		set: func(p *P, text string) error {
			v, err := k.Parse(text)
			if err == nil {
				*pointer(p) = v
			}
			return err
		},
		get: func(p *P) string { return k.Format(*pointer(p)) },
	}
}

// Maybe returns a field that holds a value of a kind, or nil if a file does not set it.
func Maybe[P, T any](key, help string, k Kind[T], pointer func(*P) **T) Field[P] {
	return Field[P]{
		Key: key, Help: help, wanted: Error{k.Takes, "write " + k.Example},
		schema: func(*P) *jsonschema.Schema { return k.Schema() },
		set: func(p *P, text string) error {
			v, err := k.Parse(text)
			if err == nil {
				*pointer(p) = &v
			}
			return err
		},
		get: func(p *P) string {
			if *pointer(p) == nil {
				return ""
			}
			return k.Format(**pointer(p))
		},
	}
}

// Nested returns a field whose value is more than a text. read notes what is wrong with it, which what names.
func Nested[P any](key, help string, schema func() *jsonschema.Schema,
	read func(r *Reader, p *P, n *yaml.Node, what string) (ok bool),
) Field[P] {
	return Field[P]{Key: key, Help: help, schema: func(*P) *jsonschema.Schema { return schema() }, nested: read}
}

// Shown returns a nested field with the text that Get and All return of it.
func (f Field[P]) Shown(text func(p *P) string) Field[P] {
	f.get = text
	return f
}

// Set has p hold what a text says. The error is an *Error.
func (f Field[P]) Set(p *P, text string) error { return f.set(p, text) }

// Schema describes the field to editors. defaults holds what it is where nobody says it.
func (f Field[P]) Schema(defaults *P) *jsonschema.Schema {
	s := f.schema(defaults)
	s.Description = f.Help
	return s
}

// Table is all fields of parameters P, in the order of their documentation.
type Table[P any] []Field[P]

// Keys returns the keys of all fields.
func (t Table[P]) Keys() []string {
	keys := make([]string, len(t))
	for i, f := range t {
		keys[i] = f.Key
	}
	return keys
}

// Find returns the field of a key.
func (t Table[P]) Find(key string) (f Field[P], ok bool) {
	for _, f := range t {
		if f.Key == key {
			return f, true
		}
	}
	return f, false
}

// Set has a field hold what a text says. The error is an *Error, or that there is no such field.
func (t Table[P]) Set(p *P, key, text string) error {
	f, ok := t.Find(key)
	if !ok || f.set == nil {
		return fmt.Errorf("unknown parameter %q: %s", key, suggest.DidYouMean(key, t.Keys()))
	}
	return f.Set(p, text)
}

// Get returns the text of a field, as Set reads it; "" where there is none.
func (t Table[P]) Get(p *P, key string) string {
	f, ok := t.Find(key)
	if !ok || f.get == nil {
		return ""
	}
	return f.get(p)
}

// All returns the texts of all fields that have one, by key.
func (t Table[P]) All(p *P) map[string]string {
	values := map[string]string{}
	for _, f := range t {
		if f.get != nil {
			values[f.Key] = f.get(p)
		}
	}
	return values
}

// Given are the keys that a mapping has.
type Given struct {
	Line map[string]int  // of each key that is written
	Good map[string]bool // and whose value could be read
}

// Has reports whether a key is written, whatever its value.
func (g Given) Has(key string) bool {
	_, has := g.Line[key]
	return has
}

// Decode reads a mapping into p. It goes on after a problem, so that all problems come at once. subject names the
// mapping.
func (t Table[P]) Decode(r *Reader, n *yaml.Node, subject string, p *P) Given {
	given := Given{map[string]int{}, map[string]bool{}}
	r.Mapping(n, subject, t.readers(r, "", p, func(key string, n *yaml.Node, ok bool) {
		given.Line[key], given.Good[key] = n.Line, ok
	}))
	return given
}

// Readers returns what reads the value of each key onto p, for Reader.Mapping. of names the mapping.
func (t Table[P]) Readers(r *Reader, of string, p *P) map[string]func(*yaml.Node) {
	return t.readers(r, " of "+of, p, func(string, *yaml.Node, bool) {})
}

func (t Table[P]) readers(r *Reader, suffix string, p *P,
	done func(string, *yaml.Node, bool)) map[string]func(*yaml.Node) {
	readers := map[string]func(*yaml.Node){}
	for _, f := range t {
		readers[f.Key] = func(n *yaml.Node) { done(f.Key, n, f.read(r, p, n, f.Key+suffix)) }
	}
	return readers
}

func (f Field[P]) read(r *Reader, p *P, n *yaml.Node, subject string) bool {
	if f.nested != nil {
		return f.nested(r, p, n, subject)
	}
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		r.wrong(n, subject, &f.wanted)
		return false
	}
	err := f.set(p, n.Value)
	if err != nil {
		r.wrong(n, subject, err)
	}
	return err == nil
}

// Value returns the value of a node. ok is false if it is no value of the kind; the reader has the problem.
func Value[T any](r *Reader, n *yaml.Node, subject string, k Kind[T]) (v T, ok bool) {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		r.wrong(n, subject, &Error{k.Takes, "write " + k.Example})
		return v, false
	}
	v, err := k.Parse(n.Value)
	if err != nil {
		r.wrong(n, subject, err)
	}
	return v, err == nil
}

// wrong notes that a node is not what a key takes.
func (r *Reader) wrong(n *yaml.Node, key string, err error) {
	e := asError(err)
	r.Problem(n, fmt.Sprintf("%s takes %s, not %s", key, e.Takes, Describe(n)), e.Remedy)
}

// InText notes what is wrong with a value outside of YAML, in a line of a file.
func InText(l *problem.List, line int, key, text string, err error) {
	e := asError(err)
	l.InLine(line, fmt.Sprintf("%s takes %s, not %q", key, e.Takes, text), e.Remedy)
}

// jsonOf returns what a text says as a file of the schema has it.
func jsonOf(s *jsonschema.Schema, text string) any {
	switch {
	case s.Type == "boolean":
		return text == "true"
	case s.Type != "string" && numeric.MatchString(text):
		return json.Number(text)
	}
	return text
}

// Schema describes the mapping to editors. defaults holds what keys are where nobody says it.
func (t Table[P]) Schema(defaults *P) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
	for _, f := range t {
		s.Properties.Set(f.Key, f.Schema(defaults))
	}
	return s
}
