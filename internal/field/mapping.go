package field

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units"
)

// File is what a file is to be.
type File struct {
	Name   string // "experiment"
	Begin  string // what to do about an empty one
	Bytes  int    // no file is larger; 0 for a megabyte
	Values int    // nor has more keys and values, aliases filled in; 0 for 20,000

	// Remedy says what to do where the text is no YAML, for reasons that only files of this kind have; "" for others.
	Remedy func(text []byte, what string) string
}

// Reader notes what is wrong with a file.
type Reader struct{ Problems problem.List }

// Problem notes what is wrong where a node stands, and what to do.
func (r *Reader) Problem(n *yaml.Node, what, remedy string) { r.Problems.InLine(n.Line, what, remedy) }

// Root returns the text as one YAML document; nil if it is none.
func (r *Reader) Root(text []byte, file File) *yaml.Node {
	top := &yaml.Node{Line: 1}
	if most := cmp.Or(file.Bytes, maxBytes); len(text) > most {
		r.Problem(top, fmt.Sprintf("the file is larger than %s", units.FormatSize(int64(most))),
			"no "+file.Name+" is that long; is this the right file?")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF), err == nil && IsNull(doc.Content[0]):
		r.Problem(top, "the file is empty", file.Begin)
		return nil
	case err != nil:
		r.Problems = append(r.Problems, file.problem(text, err))
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		r.Problem(&second, "the file holds more than one document",
			"keep one "+file.Name+" in a file: remove the line --- and what follows")
	} else if !errors.Is(err, io.EOF) {
		r.Problems = append(r.Problems, file.problem(text, err))
		return nil
	}
	expanded := &expander{limit: cmp.Or(file.Values, maxValues)}
	root := expanded.expand(doc.Content[0], 0)
	if len(expanded.problems) > 0 {
		r.Problems = append(r.Problems, expanded.problems...)
		return nil
	}
	return root
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))`)
	// The library counts the lines of its scanner's errors from 1, those of
	// its parser's from 0. These are the parser's.
	fromZero      = regexp.MustCompile(`^did not find expected (<document start>|node content|'-' indicator|key|',' or)`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// problem turns an error of the YAML library into a problem.
func (f File) problem(text []byte, err error) problem.Problem {
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	found := problem.Problem{Kind: problem.Invalid, At: problem.Position{Line: 1}, What: "this is not YAML: " + m[2]}
	if at, err := strconv.Atoi(m[1]); err == nil {
		found.At.Line = at
		if fromZero.MatchString(m[2]) {
			found.At.Line++
		}
	}
	if anchor := unknownAnchor.FindStringSubmatch(m[2]); anchor != nil {
		before, _, _ := bytes.Cut(text, []byte("*"+anchor[1]))
		found.At.Line = 1 + bytes.Count(before, []byte("\n"))
		found.Remedy = fmt.Sprintf("write &%s before the value that *%[1]s repeats", anchor[1])
	}
	switch {
	case strings.Contains(found.What, "cannot start any token"), strings.Contains(found.What, "found a tab character"):
		found.Remedy = "indent with blanks, not tabs"
	case strings.Contains(found.What, "mapping values are not allowed"):
		found.Remedy = "put a text with a colon and a blank in quotes"
	}
	if f.Remedy != nil && found.Remedy == "" {
		found.Remedy = f.Remedy(text, found.What)
	}
	return found
}

// Mapping reads the keys of n, each with its field's function, and returns the keys that n has; nil if n is no mapping.
func (r *Reader) Mapping(n *yaml.Node, subject string, fields map[string]func(*yaml.Node)) map[string]bool {
	if n.Kind != yaml.MappingNode {
		r.Problem(n, fmt.Sprintf("%s is written as keys and values, not as %s", subject, Describe(n)), "")
		return nil
	}
	known := slices.Sorted(maps.Keys(fields))
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		key, value := pair[0], pair[1]
		read, ok := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.Problem(key, fmt.Sprintf("a key of %s is text, not %s", subject, Describe(key)),
				"known are "+strings.Join(known, ", "))
		case !ok:
			r.Problem(key, fmt.Sprintf("unknown key %q of %s", key.Value, subject), suggest.DidYouMean(key.Value, known))
		case seen[key.Value]:
			r.Problem(key, fmt.Sprintf("%s is given more than once", key.Value), "keep one of them")
		default:
			seen[key.Value] = true
			read(value)
		}
	}
	return seen
}

// Named reads each entry of a mapping whose keys are names that people chose.
func (r *Reader) Named(n *yaml.Node, subject string, do func(name string, n *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.Problem(n, fmt.Sprintf("%s are names, each with what it has, and not %s", subject, Describe(n)),
			"write NAME: {...}")
		return
	}
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		switch key := pair[0]; {
		case key.Kind != yaml.ScalarNode || IsNull(key):
			r.Problem(key, fmt.Sprintf("a name in %s is text, not %s", subject, Describe(key)), "")
		case seen[key.Value]:
			r.Problem(key, fmt.Sprintf("%s has %s more than once", subject, key.Value), "keep one, or rename the other")
		default:
			seen[key.Value] = true
			do(key.Value, pair[1])
		}
	}
}

// IsNull reports whether nothing was written.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Describe says what a node is, for a sentence that expected something else.
func Describe(n *yaml.Node) string {
	switch {
	case IsNull(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + n.Value
	case n.Tag == "!!bool":
		return n.Value
	}
	const enough = 60 // what is no experiment may be anything, of any length
	if text := []rune(n.Value); len(text) > enough {
		return strconv.Quote(string(text[:enough])) + "..."
	}
	return strconv.Quote(n.Value)
}
