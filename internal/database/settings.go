package database

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// Settings are options of a server that Plimsoll has no parameter for, by the server's own names.
type Settings map[string]string

// Bounds of what is handed to a server. Nothing that begins with a sign can be taken for another
// option, and no value names a file elsewhere, closes a quotation, or goes on in another line.
var (
	settingName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,64})?$`)
	mixedName    = regexp.MustCompile(`^[a-z][A-Za-z0-9_]{0,63}$`)
	settingValue = regexp.MustCompile(`^(-?[0-9.]|[A-Za-z%])[A-Za-z0-9_.,:=+% -]{0,255}$`)
)

// settable is what may be set of one kind of database.
type settable struct {
	// refused are names by why they may not be set; where a * follows, all that begin so.
	refused map[string]string
	// abbreviates tells that the server takes the beginning of a name for all of it.
	abbreviates bool
	// exact are names that are the beginning of another.
	exact []string
	// mixedCase tells that names have capital letters, and no dots.
	mixedCase bool
	// foldsDashes tells that - and _ are the same to it.
	foldsDashes bool
}

// otherOption is what to do about an option that a server does not have.
const otherOption = "correct it where it is set, or take an image of another version"

// Reasons why names are refused.
const (
	ofPlimsoll   = "Plimsoll decides where a server's data is and where it answers"
	ofLayout     = "data is laid out before, without it"
	ofDurability = "what a write's answer promises would be another thing than results say"
	ofPrograms   = "it has the server run or load something else"
	ofAccess     = "Plimsoll decides who may connect"
)

// refusedEnds are ends of the names of what lies elsewhere, or runs.
var refusedEnds = map[string]string{
	"dir": ofPlimsoll, "directory": ofPlimsoll, "directories": ofPlimsoll, "_file": ofPlimsoll, "path": ofPlimsoll,
	"_port": ofPlimsoll, "_address": ofPlimsoll, "_addresses": ofPlimsoll, "_socket": ofPlimsoll,
	"_command": ofPrograms, "_library": ofPrograms, "_libraries": ofPrograms,
}

// shortens reports whether a server takes a name for that of another.
func (s settable) shortens(name, other string) bool {
	return s.abbreviates && strings.HasPrefix(other, name) && !slices.Contains(s.exact, name)
}

// refusal is why a name may not be set; "" for one that may.
func (s settable) refusal(name string) string {
	name = strings.ToLower(name)
	for _, why := range slices.Sorted(maps.Keys(s.refused)) {
		for _, refused := range strings.Fields(s.refused[why]) {
			start, open := strings.CutSuffix(strings.ToLower(refused), "*")
			switch {
			case name == start && !open, open && strings.HasPrefix(name, start):
				return why
			case s.shortens(name, start):
				return "it is how " + start + " begins, which this server takes it for"
			}
		}
	}
	for _, end := range slices.Sorted(maps.Keys(refusedEnds)) {
		if strings.HasSuffix(name, end) {
			return refusedEnds[end]
		}
	}
	return ""
}

// isName reports whether an option can be called so.
func (s settable) isName(name string) bool {
	if s.mixedCase {
		return mixedName.MatchString(name)
	}
	return settingName.MatchString(name)
}

// read reads the YAML below the key set. Keys are those of the database's parameters.
func (s settable) read(kind string, keys []string, node *yaml.Node) (Settings, problem.List) {
	var problems problem.List
	if node.Kind != yaml.MappingNode {
		problems.InLine(node.Line, "set takes options of "+kind+" by its own names", "write set: {name: value}")
		return nil, problems
	}
	all := Settings{}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], resolved(pair[1])
		name := key.Value
		if s.foldsDashes {
			name = strings.ReplaceAll(name, "-", "_")
		}
		_, twice := all[name]
		switch why := s.refusal(name); {
		case slices.ContainsFunc(keys, func(k string) bool { return k == name || s.shortens(name, k) }):
			problems.InLine(key.Line, fmt.Sprintf("set: %s is a parameter of %s", name, kind),
				"write that beside set, not below it")
		case !s.isName(name):
			problems.InLine(key.Line, fmt.Sprintf("set: %q is no name of an option", key.Value),
				"write letters as the server does, digits and _")
		case twice:
			problems.InLine(key.Line, "set: "+name+" is given twice", "")
		case why != "":
			problems.InLine(key.Line, fmt.Sprintf("set: %s cannot be set: %s", name, why), "leave it out")
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			problems.InLine(key.Line, "set: "+name+" needs one value", "")
		case !settingValue.MatchString(value.Value):
			problems.InLine(value.Line, fmt.Sprintf("set: %s: %q cannot be used", name, value.Value),
				"write a number, a size or words; no paths, quotation marks or other lines")
		}
		all[name] = value.Value
	}
	return all, problems
}

// JSONSchema describes settings: names with values that YAML may read as numbers.
func (Settings) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}}
}

// names are those of all settings, in order.
func (s Settings) names() []string { return slices.Sorted(maps.Keys(s)) }

// each is something of each setting, in the order of their names.
func (s Settings) each(text func(name, value string) []string) (all []string) {
	for _, name := range s.names() {
		all = append(all, text(name, s[name])...)
	}
	return all
}

// settings is the parameter set of a database's parameters.
func settings[P any](s settable, field func(*P) *Settings) param[P] {
	return param[P]{key: "set",
		get: func(p P) string {
			return cmp.Or(strings.Join(field(&p).each(func(name, value string) []string {
				return []string{name + "=" + value}
			}), "; "), "none")
		},
		nested: func(p *P, kind string, keys []string, node *yaml.Node) (problems problem.List) {
			*field(p), problems = s.read(kind, keys, node)
			return problems
		}}
}
