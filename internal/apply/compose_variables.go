package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// mostNested is how deep variables may stand in defaults of each other. What reads them takes time for each level.
const mostNested = 10

// missingVariable is a variable that has no value where one is needed.
type missingVariable struct {
	line    int    // of its first use
	message string // of ${NAME:?MESSAGE}
}

// missingVariables returns a problem for each variable without a value, in all forms that Compose has: $NAME, ${NAME},
// and with a default (:-, -), with a value for what is set (:+, +), with an error (:?, ?), nested or not. It reads each
// text once for each level. nested are problems with variables that stand too deep in each other. filled is env with a
// value for each of them, with which the rest of the file can be read.
func missingVariables(root *yaml.Node, env map[string]string) (
	problems, nested problem.List, filled map[string]string,
) {
	missing := map[string]missingVariable{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			need := func(name, message string) {
				if _, known := missing[name]; !known {
					missing[name] = missingVariable{n.Line, message}
				}
			}
			if !scanVariables(n.Value, env, 0, need) {
				nested.InLine(n.Line, fmt.Sprintf("variables are nested deeper than %d", mostNested), "set one in the environment")
			}
		}
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				continue // keys have no variables
			}
			walk(child)
		}
	}
	walk(root)
	filled = maps.Clone(env)
	if filled == nil {
		filled = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		v := missing[name]
		filled[name] = standIn
		problems = append(problems, problem.Problem{Kind: problem.Invalid, At: problem.Position{Line: v.line},
			What:   fmt.Sprintf("the variable %q", name),
			Why:    cmp.Or(v.message, "it has no value; none is taken from the environment unless it is named"),
			Remedy: "add --env " + name + "=VALUE, or --env " + name + " for that of the environment"})
	}
	return problems, nested, filled
}

// scanVariables calls need for each variable of a text that has to have a value, and has none. It returns false where
// they are nested too deep. What is no variable is left to the library's error.
func scanVariables(text string, env map[string]string, depth int, need func(name, message string)) bool {
	if depth > mostNested {
		return false
	}
	for {
		_, after, found := strings.Cut(text, "$")
		if !found || after == "" {
			return true
		}
		if after[0] == '$' {
			text = after[1:]
			continue
		}
		if after[0] != '{' {
			name := variableName(after)
			if _, set := env[name]; !set && name != "" {
				need(name, "")
			}
			text = after[len(name):]
			continue
		}
		end := closingBrace(after)
		if end < 0 {
			return true
		}
		if !scanBraced(after[1:end], env, depth, need) {
			return false
		}
		text = after[end+1:]
	}
}

// scanBraced is scanVariables for what stands between braces.
func scanBraced(text string, env map[string]string, depth int, need func(name, message string)) bool {
	name := variableName(text)
	value, set := env[name]
	operator, strict := strings.CutPrefix(text[len(name):], ":")
	set = set && (!strict || value != "")
	switch {
	case operator == "":
		if !set {
			need(name, "")
		}
	case operator[0] == '-' && !set, operator[0] == '+' && set:
		return scanVariables(operator[1:], env, depth+1, need)
	case operator[0] == '?' && !set:
		need(name, operator[1:])
	}
	return true
}

// variableName returns the name that a text begins with.
func variableName(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(text)
	}
	if end > 0 && text[0] >= '0' && text[0] <= '9' {
		return ""
	}
	return text[:end]
}

// closingBrace returns where the brace that a text begins with ends; -1 for nowhere.
func closingBrace(text string) int {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}
