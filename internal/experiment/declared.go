package experiment

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/units/plural"
)

// declared is a stack, a workload or a mix as in the file. It expands to one for each combination of levels of the
// factors that it mentions.
type declared struct {
	key, value *yaml.Node
	factors    []*factor // in the order of their declaration
	broken     bool      // it cannot be expanded
	nameless   bool      // its name does not distinguish its expansions
}

// expansion is a declaration with levels filled in.
type expansion struct {
	declared string // the name in the file, for messages
	name     string
	value    *yaml.Node
	levels   map[string]string // of each factor that it mentions, the level's name
	raw      *yaml.Node        // value before levels were filled in
	choice   choice
}

// declarations reads the names of stacks, workloads or mixes, and what factors
// each depends on.
func (p *parser) declarations(n *yaml.Node, noun, example string) []*declared {
	if isNull(n) || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		p.Problem(n, fmt.Sprintf("the experiment has no %s", noun), "write below it "+example)
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.Problem(n, fmt.Sprintf("%s are written as names and values, not as %s", plural.Of(2, noun), describe(n)),
			"write "+example)
		return nil
	}
	var out []*declared
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Kind != yaml.ScalarNode {
			p.Problem(pair[0], fmt.Sprintf("the name of a %s is text, not %s", noun, describe(pair[0])), "write "+example)
			continue
		}
		out = append(out, p.declaration(noun, pair[0], pair[1]))
	}
	return out
}

// declaration finds the factors that a stack, workload or mix depends on. Its name has to have all of them, and no
// other. A mix also depends on the factors of its host.
func (p *parser) declaration(noun string, key, value *yaml.Node) *declared {
	d := &declared{key: key, value: value}
	subject := noun + " " + key.Value
	met := "workload"
	if noun == "mix" {
		met = noun
	}
	inName := p.mentions(subject, &d.broken, key)
	values := scalars(value)
	if noun == "mix" {
		values = append(values, p.scalarsOfMix(value)...)
	}
	inValue := p.mentions(subject, &d.broken, values...)
	for _, f := range p.factors {
		switch {
		case !inName[f.name] && !inValue[f.name]:
			continue
		case len(f.levels) == 0:
			d.broken = true // the factor's declaration has the problem
		case !inValue[f.name]:
			p.Problem(key,
				fmt.Sprintf("the name of %s mentions %s, but the %s is the same at each of its levels", subject, f.name, noun),
				"take it out of the name: every "+met+" meets every stack")
			d.nameless = true
			continue
		case !inName[f.name] && len(f.levels) > 1:
			p.Problem(key, fmt.Sprintf("%s depends on %s, but its name is the same at each level", subject, f.name),
				fmt.Sprintf("write %s-$%s", key.Value, f.name))
			d.nameless = true
		}
		d.factors = append(d.factors, f)
	}
	return d
}

// scalarsOfMix returns the other scalars in which a mix may mention factors: those of its host, and, to refuse them
// once, the names of its tenants.
func (p *parser) scalarsOfMix(value *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	if p.hostNode != nil {
		for _, s := range scalars(p.hostNode) {
			known := true
			substitute(s.Value, func(name string) string {
				known = known && p.factor(name) != nil
				return ""
			})
			if known { // the host has a problem for an unknown one
				out = append(out, s)
			}
		}
	}
	if value.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(value.Content, 2) {
			out = append(out, pair[0])
		}
	}
	return out
}

const maxFilled = 500_000 // nodes, once levels of factors are filled in; a real experiment is far below

// expand calls visit for every expansion of every declaration. With brief, it takes one combination of levels for each.
func (p *parser) expand(declarations []*declared, noun string, brief bool, visit func(expansion)) (names []string) {
	taken := map[string]*declared{}
	for _, d := range declarations {
		if d.broken {
			names = append(names, d.key.Value)
			continue
		}
		p.filled += count(d.factors) * values(d.value)
		if !brief && p.filled > maxFilled {
			brief = true
			p.Problem(d.key,
				fmt.Sprintf("%s %s is too long to be written out for each combination of levels", noun, d.key.Value),
				"take fewer levels, or fewer factors")
		}
		earlier := p.Problems
		var found []problem.List
		var made []choice
		for _, c := range choices(d.factors, brief) {
			p.Problems = nil
			name := d.name(c)
			switch other, twice := taken[name]; {
			case !twice:
				taken[name] = d
				names = append(names, name)
			case other != d || !d.nameless:
				p.Problem(d.key, fmt.Sprintf("two %s are called %s", plural.Of(2, noun), name), "give each a name of its own")
			}
			p.checkName(&yaml.Node{Line: d.key.Line, Value: name}, "the name of a "+noun)
			visit(expansion{d.key.Value, name, c.fill(d.value), c.names(), d.value, c})
			found, made = append(found, p.Problems), append(made, c)
		}
		p.Problems = earlier
		p.Problems = append(p.Problems, joinProblems(made, found)...)
	}
	return names
}

// values is the number of values in n.
func values(n *yaml.Node) int {
	sum := 1
	for _, child := range n.Content {
		sum += values(child)
	}
	return sum
}

// name returns the declaration's name with the chosen levels.
func (d *declared) name(c choice) string {
	return substitute(d.key.Value, func(name string) string {
		if f := slices.IndexFunc(c.factors, func(f *factor) bool { return f.name == name }); f >= 0 {
			return c.levels[f].name
		}
		return name // it does not belong there, which was said
	})
}

// joinProblems merges the problems of all combinations. A problem of all combinations is reported once; a problem of
// some is reported with the first of them.
func joinProblems(made []choice, found []problem.List) problem.List {
	if len(found) == 1 {
		return found[0]
	}
	var merged problem.List
	first, in := map[problem.Problem]int{}, map[problem.Problem]int{}
	for i, problems := range found {
		for j, problem := range problems {
			if slices.Contains(problems[:j], problem) {
				continue
			}
			if in[problem]++; in[problem] == 1 {
				first[problem] = i
				merged = append(merged, problem)
			}
		}
	}
	for i, problem := range merged {
		if in[problem] < len(found) {
			merged[i].What += ", when " + made[first[problem]].String()
		}
	}
	return merged
}

// count is the number of combinations of the factors' levels, or something
// above MaxTrials.
func count(factors []*factor) int {
	n := 1
	for _, f := range factors {
		if n *= len(f.levels); n > MaxTrials {
			return n
		}
	}
	return n
}

// countAll returns how many stacks, workloads or mixes the declarations expand to, or a number above MaxTrials.
func countAll(declarations []*declared) int {
	n := 0
	for _, d := range declarations {
		if n <= MaxTrials {
			n += count(d.factors)
		}
	}
	return n
}

// countTrials returns how many trials stacks and their loads make, or a number above MaxTrials.
func (p *parser) countTrials(stacks, running []*declared) int {
	n := 0
	for _, w := range running {
		if namesStacks(w.value) {
			n += max(1, count(w.factors)) * p.trialsPerPoint()
			if n > MaxTrials {
				return n
			}
		}
	}
	for _, s := range stacks {
		for _, w := range running {
			if namesStacks(w.value) {
				continue
			}
			// A factor that both depend on has one level in a trial.
			both := slices.Clone(s.factors)
			for _, f := range w.factors {
				if !slices.Contains(both, f) {
					both = append(both, f)
				}
			}
			if n += max(1, count(both)) * p.trialsPerPoint(); n > MaxTrials {
				return n
			}
		}
	}
	return n
}

// namesStacks reports whether a value is that of a mix with a tenant that says
// on which stacks it stands.
func namesStacks(n *yaml.Node) bool {
	for i, tenant := range n.Content {
		isTenant := n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode && i%2 == 1
		if !isTenant || tenant.Kind != yaml.MappingNode {
			continue
		}
		for pair := range slices.Chunk(tenant.Content, 2) {
			if pair[0].Value == "on" {
				return true
			}
		}
	}
	return false
}

// trialsPerPoint returns how many trials a stack and a workload make, or a number above MaxTrials.
func (p *parser) trialsPerPoint() int {
	within := func(n int) int { return min(max(1, n), MaxRepeat) }
	return within(p.e.Repeat) * within(p.e.Trials)
}

// checkCount reports a problem if there are too many trials.
func (p *parser) checkCount(node *yaml.Node, stacks, workloads, mixes []*declared) (ok bool) {
	noun, running := "workload", workloads
	if p.mixNode != nil {
		noun, running = "mix", mixes
	}
	if p.mixNode != nil {
		// Stacks and workloads that no mix takes are written out, too.
		for _, group := range []struct {
			noun         string
			declarations []*declared
		}{{"stack", stacks}, {"workload", workloads}} {
			if countAll(group.declarations) > MaxTrials {
				p.Problem(node, fmt.Sprintf("this makes %s", product(group.noun, group.declarations)),
					"take fewer levels, or fewer factors in one experiment")
				return false
			}
		}
	}
	if p.countTrials(stacks, running) <= MaxTrials {
		return true
	}
	problem := fmt.Sprintf("this makes more than %d trials: %s and %s, %s each",
		MaxTrials, product("stack", stacks), product(noun, running), plural.Count(p.trialsPerPoint(), "time"))
	p.Problem(node, problem, "take fewer levels, or fewer factors in one experiment: every stack meets every "+noun)
	return false
}

// product returns how many stacks or workloads there are and why, as text.
func product(noun string, declarations []*declared) string {
	n := countAll(declarations)
	var sweeps []string
	for _, d := range declarations {
		var sizes []string
		for _, f := range d.factors {
			sizes = append(sizes, fmt.Sprintf("%d %s", len(f.levels), f.name))
		}
		if len(sizes) > 0 && len(sweeps) < 3 {
			sweeps = append(sweeps, d.key.Value+": "+strings.Join(sizes, " x "))
		}
	}
	text := plural.Count(n, noun)
	if n > MaxTrials {
		text = fmt.Sprintf("more than %d %s", MaxTrials, plural.Of(n, noun))
	}
	if len(sweeps) > 0 {
		text += " (" + strings.Join(sweeps, ", ") + ")"
	}
	return text
}
