package experiment

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/plural"
)

// declared is a stack or a workload as the file has it. It stands for one of
// each combination of the levels of the factors that it mentions.
type declared struct {
	key, value *yaml.Node
	factors    []*factor // in the order of their declaration
	broken     bool      // it cannot be expanded
	nameless   bool      // its name does not tell its expansions apart
}

// read is what a stack or workload is read from.
type read struct {
	declared string // its name as in the file, for messages
	name     string
	value    *yaml.Node
	levels   map[string]string // of each factor that it mentions, the level's name
}

// declarations reads the names of stacks or workloads, and what factors each
// depends on.
func (p *parser) declarations(n *yaml.Node, what, example string) []*declared {
	if isNull(n) || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		p.problem(n, fmt.Sprintf("the experiment has no %s", what), "write below it "+example)
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.problem(n, fmt.Sprintf("%ss are written as names and values, not as %s", what, describe(n)), "write "+example)
		return nil
	}
	var all []*declared
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Kind != yaml.ScalarNode {
			p.problem(pair[0], fmt.Sprintf("the name of a %s is text, not %s", what, describe(pair[0])), "write "+example)
			continue
		}
		all = append(all, p.declaration(what, pair[0], pair[1]))
	}
	return all
}

// declaration finds out which factors a stack or workload depends on. All of
// them belong into its name, and no other.
func (p *parser) declaration(what string, key, value *yaml.Node) *declared {
	d := &declared{key: key, value: value}
	of := what + " " + key.Value
	inName := p.mentions(of, &d.broken, key)
	inValue := p.mentions(of, &d.broken, scalars(value)...)
	for _, f := range p.factors {
		switch {
		case !inName[f.name] && !inValue[f.name]:
			continue
		case len(f.levels) == 0:
			d.broken = true // which was said where the factor is declared
		case !inValue[f.name]:
			p.problem(key, fmt.Sprintf("the name of %s mentions %s, but the %s is the same at each of its levels", of, f.name, what),
				"take it out of the name: every workload meets every stack")
			d.nameless = true
			continue
		case !inName[f.name] && len(f.levels) > 1:
			p.problem(key, fmt.Sprintf("%s depends on %s, but its name is the same at each level", of, f.name),
				fmt.Sprintf("write %s-$%s", key.Value, f.name))
			d.nameless = true
		}
		d.factors = append(d.factors, f)
	}
	return d
}

// each reads what every declaration stands for. With brief, one combination
// of levels has to do for each.
func (p *parser) each(all []*declared, what string, brief bool, one func(read)) (names []string) {
	taken := map[string]*declared{}
	for _, d := range all {
		if d.broken {
			names = append(names, d.key.Value)
			continue
		}
		p.filled += count(d.factors) * values(d.value)
		if !brief && p.filled > maxFilled {
			brief = true
			p.problem(d.key, fmt.Sprintf("%s %s is too long to be written out for each combination of levels", what, d.key.Value), "take fewer levels, or fewer factors")
		}
		said := p.problems
		var found [][]Problem
		var made []choice
		for _, c := range choices(d.factors, brief) {
			p.problems = nil
			name := d.name(c)
			switch other, twice := taken[name]; {
			case !twice:
				taken[name] = d
				names = append(names, name)
			case other != d || !d.nameless:
				p.problem(d.key, fmt.Sprintf("two %ss are called %s", what, name), "give each a name of its own")
			}
			p.checkName(&yaml.Node{Line: d.key.Line, Value: name}, "the name of a "+what)
			one(read{d.key.Value, name, c.fill(d.value), c.names()})
			found, made = append(found, p.problems), append(made, c)
		}
		p.problems = said
		p.problems = append(p.problems, together(made, found)...)
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

// name is what the declaration is called with the chosen levels.
func (d *declared) name(c choice) string {
	return substitute(d.key.Value, func(name string) string {
		if f := slices.IndexFunc(c.factors, func(f *factor) bool { return f.name == name }); f >= 0 {
			return c.levels[f].name
		}
		return name // it does not belong there, which was said
	})
}

// together joins the problems of all combinations. What is wrong in each of
// them is said once; what is wrong in some is said with the first of these.
func together(made []choice, found [][]Problem) []Problem {
	if len(found) == 1 {
		return found[0]
	}
	var all []Problem
	first, in := map[Problem]int{}, map[Problem]int{}
	for i, problems := range found {
		for j, problem := range problems {
			if slices.Contains(problems[:j], problem) {
				continue
			}
			if in[problem]++; in[problem] == 1 {
				first[problem] = i
				all = append(all, problem)
			}
		}
	}
	for i, problem := range all {
		if in[problem] < len(found) {
			all[i].What += ", when " + made[first[problem]].String()
		}
	}
	return all
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

// countTrials is how many trials stacks and workloads make, or something
// above MaxTrials.
func (p *parser) countTrials(stacks, workloads []*declared) int {
	n := 0
	for _, s := range stacks {
		for _, w := range workloads {
			// A factor that both depend on has one level in a trial.
			both := slices.Clone(s.factors)
			for _, f := range w.factors {
				if !slices.Contains(both, f) {
					both = append(both, f)
				}
			}
			if n += max(1, count(both)) * p.times(); n > MaxTrials {
				return n
			}
		}
	}
	return n
}

// times is how many trials a stack and a workload make, or something above
// MaxTrials.
func (p *parser) times() int {
	within := func(n int) int { return min(max(1, n), MaxRepeat) }
	return within(p.e.Repeat) * within(p.e.Trials)
}

// checkCount notes when there are too many trials.
func (p *parser) checkCount(at *yaml.Node, stacks, workloads []*declared) (ok bool) {
	if p.countTrials(stacks, workloads) <= MaxTrials {
		return true
	}
	what := fmt.Sprintf("this makes more than %d trials: %s and %s, %s each",
		MaxTrials, product("stack", stacks), product("workload", workloads), plural.Count(p.times(), "time"))
	p.problem(at, what, "take fewer levels, or fewer factors in one experiment: every stack meets every workload")
	return false
}

// product spells out how many stacks or workloads there are and why.
func product(what string, all []*declared) string {
	n := 0
	var sweeps []string
	for _, d := range all {
		if n <= MaxTrials {
			n += count(d.factors)
		}
		var sizes []string
		for _, f := range d.factors {
			sizes = append(sizes, fmt.Sprintf("%d %s", len(f.levels), f.name))
		}
		if len(sizes) > 0 && len(sweeps) < 3 {
			sweeps = append(sweeps, d.key.Value+": "+strings.Join(sizes, " x "))
		}
	}
	text := fmt.Sprintf("%d %ss", n, what)
	if n > MaxTrials {
		text = fmt.Sprintf("more than %d %ss", MaxTrials, what)
	}
	if n == 1 {
		text = "1 " + what
	}
	if len(sweeps) > 0 {
		text += " (" + strings.Join(sweeps, ", ") + ")"
	}
	return text
}
