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

	"plimsoll/internal/field"
)

// Settings are options of a server that Plimsoll has no parameter for, by the server's own names.
type Settings map[string]string

// Bounds of what is handed to a server. Nothing that begins with a sign can be taken for another
// option, and no value names a file elsewhere, closes a quotation, or goes on in another line.
var (
	settingName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,64})?$`)
	mixedName    = regexp.MustCompile(`^[a-z][A-Za-z0-9_]{0,63}$`)
	settingValue = regexp.MustCompile(`^((-?[0-9.]|[A-Za-z%])[A-Za-z0-9_.,:=+% -]{0,255}|[0-9]{1,12}[KMG]?i?B/s)$`)
)

// settable defines the permitted settings of one kind of database.
type settable struct {
	// refused maps reasons to names that are refused; a * stands for any end of a name.
	refused map[string]string
	// abbreviates reports whether the server accepts abbreviated names.
	abbreviates bool
	// exact are names that are the beginning of another.
	exact []string
	// mixedCase reports whether names have capital letters, and no dots.
	mixedCase bool
	// foldsDashes reports whether - and _ are equivalent in names.
	foldsDashes bool
}

// unknownOptionRemedy is advice on an option that a server does not have.
const unknownOptionRemedy = "correct it where it is set, or take an image of another version"

// Reasons why names are refused.
const (
	ofPlimsoll   = "Plimsoll decides where a server's data is and where it answers"
	ofLayout     = "data is laid out before, without it"
	ofDurability = "what a write's answer promises would be another thing than results say"
	ofPrograms   = "it has the server run or load something else"
	ofAccess     = "Plimsoll decides who may connect"
)

// refusedEnds are ends of names of settings that are paths elsewhere, or commands.
var refusedEnds = map[string]string{
	"dir": ofPlimsoll, "directory": ofPlimsoll, "directories": ofPlimsoll, "_file": ofPlimsoll, "path": ofPlimsoll,
	"_port": ofPlimsoll, "_address": ofPlimsoll, "_addresses": ofPlimsoll, "_socket": ofPlimsoll,
	"url": ofPlimsoll, "class_name": ofPrograms, "_command": ofPrograms, "_library": ofPrograms, "_libraries": ofPrograms,
}

// shortens reports whether a server takes a name for that of another.
func (s settable) shortens(name, other string) bool {
	return s.abbreviates && strings.HasPrefix(other, name) && !slices.Contains(s.exact, name)
}

// refusal returns the reason why a name is refused; "" if it is permitted.
func (s settable) refusal(name string) string {
	name = strings.ToLower(name)
	if part, _, nested := strings.Cut(name, "."); nested { // what is below an option is of it
		if why := s.refusal(part); why != "" {
			return why
		}
	}
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
	last := name[strings.LastIndexByte(name, '_')+1:]
	for _, end := range slices.Sorted(maps.Keys(refusedEnds)) {
		if strings.HasSuffix(name, end) {
			return refusedEnds[end]
		}
		if s.abbreviates && last != name && strings.HasPrefix(strings.TrimPrefix(end, "_"), last) &&
			!slices.Contains(s.exact, name) {
			return "it ends as names do that this server takes it for, with " + end
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
func (s settable) read(r *field.Reader, keys []string, node *yaml.Node) (Settings, bool) {
	before := len(r.Problems)
	if node.Kind != yaml.MappingNode {
		r.Problem(node, "set takes options of the server by its own names", "write set: {name: value}")
		return nil, false
	}
	settings := Settings{}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		name := key.Value
		if s.foldsDashes {
			name = strings.ReplaceAll(name, "-", "_")
		}
		_, twice := settings[name]
		switch why := s.refusal(name); {
		case slices.ContainsFunc(keys, func(k string) bool { return k == name || s.shortens(name, k) }):
			r.Problem(key, fmt.Sprintf("set: %s is a parameter of its own", name), "write it next to set, not below it")
		case !s.isName(name):
			r.Problem(key, fmt.Sprintf("set: %q is no name of an option", key.Value),
				"write letters as the server does, digits and _")
		case twice:
			r.Problem(key, "set: "+name+" is given more than once", "keep one of them")
		case why != "":
			r.Problem(key, fmt.Sprintf("set: %s cannot be set: %s", name, why), "leave it out")
		case value.Kind != yaml.ScalarNode || field.IsNull(value):
			r.Problem(key, "set: "+name+" needs one value", "")
		case !settingValue.MatchString(value.Value):
			r.Problem(value, fmt.Sprintf("set: %s: %q cannot be used", name, value.Value),
				"write a number, a size or words; no paths, quotation marks or other lines")
		}
		settings[name] = value.Value
	}
	return settings, len(r.Problems) == before
}

// settingsSchema describes settings: names with values that YAML may read as numbers.
func settingsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}}
}

// names returns the names of all settings, sorted.
func (s Settings) names() []string { return slices.Sorted(maps.Keys(s)) }

// mapSorted concatenates the results of text for all settings, sorted by name.
func (s Settings) mapSorted(text func(name, value string) []string) (all []string) {
	for _, name := range s.names() {
		all = append(all, text(name, s[name])...)
	}
	return all
}

// withSettings returns parameters and, after them, set.
func withSettings[P any](table field.Table[P], s settable, settings func(*P) *Settings) field.Table[P] {
	keys := append(table.Keys(), "set")
	read := func(r *field.Reader, p *P, n *yaml.Node, _ string) (ok bool) {
		*settings(p), ok = s.read(r, keys, n)
		return ok
	}
	shown := func(p *P) string {
		return cmp.Or(strings.Join(settings(p).mapSorted(func(name, value string) []string {
			return []string{name + "=" + value}
		}), "; "), "none")
	}
	return append(table, field.Nested("set", "options of the server that have no parameter here, by its own names; what "+
		"a promise of Plimsoll depends on is refused", settingsSchema, read).Shown(shown))
}
