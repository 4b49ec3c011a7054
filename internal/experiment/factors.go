package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem/suggest"
)

// factor is a variable of the experiment, with its levels.
type factor struct {
	name   string
	levels []level
	used   bool
}

// level is one value of a factor, under the name that it has in the names of
// stacks and workloads.
type level struct {
	name  string
	value *yaml.Node // a scalar with its type
}

const (
	factorPattern = `^[A-Za-z][A-Za-z0-9_]{0,63}$`
	levelPattern  = `^[A-Za-z0-9._-]{1,64}$`
)

var (
	factorRegexp = regexp.MustCompile(factorPattern)
	levelRegexp  = regexp.MustCompile(levelPattern)
)

// factors reads the factors and their levels, in the order of the file.
func (p *parser) readFactors(n *yaml.Node) {
	const example = "jobs: [1, 4, 16]"
	if n.Kind != yaml.MappingNode {
		p.Problem(n, fmt.Sprintf("factors are written as names and levels, not as %s", describe(n)),
			"write below it "+example)
		return
	}
	for pair := range slices.Chunk(n.Content, 2) {
		key, value := pair[0], pair[1]
		switch {
		case key.Kind != yaml.ScalarNode || !factorRegexp.MatchString(key.Value):
			p.Problem(key, fmt.Sprintf("the name of a factor cannot be %s", describe(key)),
				"it starts with a letter, and up to 63 letters, digits and _ follow")
		case p.factor(key.Value) != nil:
			p.Problem(key, fmt.Sprintf("two factors are called %s", key.Value), "give each a name of its own")
		default:
			f := &factor{name: key.Value}
			f.levels = p.levels(f.name, value)
			// Kept without levels too, so that who mentions it is not told
			// that there is no such factor.
			p.factors = append(p.factors, f)
		}
	}
}

// levels reads the levels of a factor: a list of values that name themselves,
// or names and values.
func (p *parser) levels(factor string, n *yaml.Node) []level {
	var names, values []*yaml.Node
	switch n.Kind {
	case yaml.SequenceNode:
		names, values = n.Content, n.Content
	case yaml.MappingNode:
		for pair := range slices.Chunk(n.Content, 2) {
			names, values = append(names, pair[0]), append(values, pair[1])
		}
	default:
		example := n.Value
		if isNull(n) {
			example = "1, 2, 4"
		}
		p.Problem(n, fmt.Sprintf("the levels of factor %s are a list, not %s", factor, describe(n)),
			fmt.Sprintf("write %s: [%s]", factor, example))
		return nil
	}
	if len(values) == 0 {
		p.Problem(n, fmt.Sprintf("factor %s has no levels", factor), fmt.Sprintf("write %s: [1, 2, 4]", factor))
	}
	var levels []level
	for i, value := range values {
		name := names[i]
		switch {
		case value.Kind != yaml.ScalarNode || isNull(value):
			p.Problem(value,
				fmt.Sprintf("a level of factor %s is a text, a number, true or false, not %s", factor, describe(value)), "")
		case name.Kind != yaml.ScalarNode || !levelRegexp.MatchString(name.Value):
			p.Problem(name,
				fmt.Sprintf("a level of factor %s cannot be called %s: it becomes part of names", factor, describe(name)),
				fmt.Sprintf("give the level a short name: %s: {NAME: %s}", factor, value.Value))
		case slices.ContainsFunc(levels, func(l level) bool { return l.name == name.Value }):
			p.Problem(name, fmt.Sprintf("factor %s has the level %s twice", factor, name.Value), "keep one of them")
		default:
			levels = append(levels, level{name.Value, value})
		}
	}
	return levels
}

// factor returns the factor of that name, or nil.
func (p *parser) factor(name string) *factor {
	i := slices.IndexFunc(p.factors, func(f *factor) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return p.factors[i]
}

// checkUsed notes factors that nothing depends on.
func (p *parser) checkUsed(n *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for pair := range slices.Chunk(n.Content, 2) {
		if f := p.factor(pair[0].Value); f != nil && !f.used {
			f.used = true // once, if it is declared twice
			dependents := "no stack and no workload depends"
			if p.mixNode != nil {
				dependents = "no stack, workload or mix depends"
			}
			p.Problem(pair[0], fmt.Sprintf("%s on factor %s", dependents, f.name),
				fmt.Sprintf("write $%s where its level belongs, or remove it", f.name))
		}
	}
}

// reference matches a dollar sign with its name.
var reference = regexp.MustCompile(`\$(?:\$|([A-Za-z][A-Za-z0-9_]*)|\{([^}]*)\})?`)

// substitute replaces the references to factors in a text: $name, or ${name}
// where a letter, a digit or _ follows; $$ is a dollar sign. resolve gives
// what stands for a name; "" is one for a dollar sign that begins neither.
func substitute(text string, resolve func(factor string) string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		return resolve(strings.Trim(found, "${}"))
	})
}

// mentions returns the factors that some scalars name. It adds a problem for each name that is no factor, and sets
// broken.
func (p *parser) mentions(subject string, broken *bool, scalars ...*yaml.Node) map[string]bool {
	found := map[string]bool{}
	for _, n := range scalars {
		substitute(n.Value, func(name string) string {
			f := p.factor(name)
			switch {
			case f != nil:
				f.used = true
			case *broken:
			case name == "":
				p.Problem(n, fmt.Sprintf("%s: a dollar sign begins the name of a factor", subject),
					"write $name or ${name}, and $$ for a dollar sign")
			default:
				p.Problem(n, fmt.Sprintf("%s: there is no factor %q", subject, name), p.factorRemedy(name))
			}
			found[name] = true
			*broken = *broken || f == nil
			return ""
		})
	}
	return found
}

// factorRemedy returns a remedy for a name that is no factor.
func (p *parser) factorRemedy(name string) string {
	var known []string
	for _, f := range p.factors {
		if strings.HasPrefix(name, f.name) {
			return fmt.Sprintf("write ${%s}%s where a letter, a digit or _ follows the name of a factor", f.name,
				name[len(f.name):])
		}
		known = append(known, f.name)
	}
	if len(known) == 0 {
		return fmt.Sprintf("declare it: factors: {%s: [1, 2, 4]}; or write $$ for a dollar sign", name)
	}
	return suggest.DidYouMean(name, known)
}

// scalars returns the scalars of a value, keys excepted.
func scalars(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	var out []*yaml.Node
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			out = append(out, scalars(child)...)
		}
	}
	return out
}

// choice is a combination of levels, in the order of the factors.
type choice struct {
	factors []*factor
	levels  []level
}

func (c choice) level(name string) level {
	i := slices.IndexFunc(c.factors, func(f *factor) bool { return f.name == name })
	return c.levels[i]
}

// names returns the names of the levels by factor; nil for no factors.
func (c choice) names() map[string]string {
	if len(c.factors) == 0 {
		return nil
	}
	names := make(map[string]string, len(c.factors))
	for i, f := range c.factors {
		names[f.name] = c.levels[i].name
	}
	return names
}

func (c choice) String() string {
	parts := make([]string, len(c.factors))
	for i, f := range c.factors {
		parts[i] = fmt.Sprintf("%s is %s", f.name, c.levels[i].name)
	}
	return strings.Join(parts, " and ")
}

// fill returns a copy of a value with the chosen levels filled in. A scalar that consists of a reference takes the
// type of the level.
func (c choice) fill(n *yaml.Node) *yaml.Node {
	filled := *n
	if n.Kind == yaml.ScalarNode {
		if m := reference.FindStringSubmatch(n.Value); m != nil && m[0] == n.Value && m[0] != "$$" {
			value := *c.level(m[1] + m[2]).value
			value.Line, value.Column = n.Line, n.Column
			return &value
		}
		filled.Value = substitute(n.Value, func(name string) string { return c.level(name).value.Value })
		return &filled
	}
	filled.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			filled.Content[i] = child
			continue
		}
		filled.Content[i] = c.fill(child)
	}
	return &filled
}

// choices returns every combination of the factors' levels; the last factor varies fastest. No factors have one empty
// combination. With brief, it only returns the combination of all first levels.
func choices(factors []*factor, brief bool) []choice {
	combinations := []choice{{factors: factors}}
	for _, f := range factors {
		levels := f.levels
		if brief {
			levels = levels[:1]
		}
		var longer []choice
		for _, c := range combinations {
			for _, l := range levels {
				longer = append(longer, choice{factors, append(slices.Clip(c.levels), l)})
			}
		}
		combinations = longer
	}
	return combinations
}
