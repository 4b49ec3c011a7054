package database

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
)

// param is one parameter of a database's parameters P.
type param[P any] struct {
	key string
	set func(p *P, text string) error // the error says what to write instead
	get func(p P) string              // as set reads it
	// nested reads, in place of set, a value that is more than a text. Keys are those of the table.
	nested func(p *P, kind string, keys []string, node *yaml.Node) problem.List
}

// table is all parameters of a database, in the order of its documentation.
type table[P any] []param[P]

func size[P any](key string, low, high int64, field func(*P) *int64) param[P] {
	return param[P]{key: key, set: func(p *P, text string) error {
		n, err := units.ParseSize(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("write a size from %s to %s", units.FormatSize(low), units.FormatSize(high))
		}
		*field(p) = n
		return nil
	}, get: func(p P) string { return units.FormatSize(*field(&p)) }}
}

func count[P any](key string, low, high int, field func(*P) *int) param[P] {
	return param[P]{key: key, set: func(p *P, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("write a whole number from %d to %d", low, high)
		}
		*field(p) = n
		return nil
	}, get: func(p P) string { return strconv.Itoa(*field(&p)) }}
}

func choice[P any](key string, known []string, field func(*P) *string) param[P] {
	return param[P]{key: key, set: func(p *P, text string) error {
		if !slices.Contains(known, text) {
			return errors.New(suggest.DidYouMean(text, known))
		}
		*field(p) = text
		return nil
	}, get: func(p P) string { return *field(&p) }}
}

func toggle[P any](key string, field func(*P) *bool) param[P] {
	return param[P]{key: key, set: func(p *P, text string) error {
		if text != "true" && text != "false" {
			return errors.New("write true or false")
		}
		*field(p) = text == "true"
		return nil
	}, get: func(p P) string { return strconv.FormatBool(*field(&p)) }}
}

// mostWord is the longest text that a parameter takes.
const mostWord = 256

// word is a parameter of one word, such as the name of an image.
func word[P any](key string, field func(*P) *string) param[P] {
	return param[P]{key: key, set: func(p *P, text string) error {
		odd := func(r rune) bool { return r <= ' ' || r > '~' }
		if text == "" || len(text) > mostWord || strings.HasPrefix(text, "-") || strings.ContainsFunc(text, odd) {
			return errors.New("write one word of letters, digits and signs")
		}
		*field(p) = text
		return nil
	}, get: func(p P) string { return *field(&p) }}
}

func (t table[P]) keys() []string {
	keys := make([]string, len(t))
	for i, p := range t {
		keys[i] = p.key
	}
	return keys
}

func (t table[P]) set(p *P, key, text string) error {
	at := slices.Index(t.keys(), key)
	if at < 0 {
		return fmt.Errorf("unknown parameter %q: %s", key, suggest.DidYouMean(key, t.keys()))
	}
	return t[at].set(p, text)
}

func (t table[P]) get(p P, key string) string {
	at := slices.Index(t.keys(), key)
	if at < 0 {
		return ""
	}
	return t[at].get(p)
}

// all are the values of all parameters, by key.
func (t table[P]) all(p P) map[string]string {
	values := map[string]string{}
	for _, key := range t.keys() {
		values[key] = t.get(p, key)
	}
	return values
}

// decode reads the YAML below a database's key onto its defaults. It goes on after a
// problem, so that all of them come at once.
func (t table[P]) decode(kind, example string, node *yaml.Node, p P) (P, problem.List) {
	node = resolved(node)
	if node == nil || node.Tag == "!!null" {
		return p, nil
	}
	if node.Kind != yaml.MappingNode {
		return p, problem.List{{At: problem.Position{Line: node.Line}, Kind: problem.Invalid,
			What:   kind + " takes parameters by name",
			Remedy: "write them below it, for example: " + example + "; or nothing at all"}}
	}
	var problems problem.List
	first := map[string]int{} // line of each key
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolved(node.Content[i+1])
		line, twice := first[key.Value]
		at := slices.Index(t.keys(), key.Value)
		switch {
		case at < 0:
			problems.InLine(key.Line, fmt.Sprintf("unknown parameter %q of %s", key.Value, kind),
				suggest.DidYouMean(key.Value, t.keys()))
		case twice:
			problems.InLine(key.Line, key.Value+" is given twice", fmt.Sprintf("the first is in line %d", line))
		case t[at].nested != nil:
			problems = append(problems, t[at].nested(&p, kind, t.keys(), value)...)
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			problems.InLine(key.Line, key.Value+" needs one value", "")
		default:
			if err := t.set(&p, key.Value, value.Value); err != nil {
				problems.InLine(value.Line, fmt.Sprintf("%s: %q cannot be used", key.Value, value.Value), err.Error())
			}
		}
		if !twice {
			first[key.Value] = key.Line
		}
	}
	return p, problems
}

// resolved is the node that an alias stands for.
func resolved(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
