package line

import "strings"

// String prints the line as it is written canonically: one blank on either
// side of "+" and ">" and one behind every comma, quotes only where they are needed.
// Parsing it gives the same line back.
func (l Line) String() string {
	nodes := make([]string, len(l.Nodes))
	for i, n := range l.Nodes {
		nodes[i] = n.String()
	}
	return strings.Join(nodes, " > ")
}

func (n Node) String() string {
	var b strings.Builder
	switch {
	case n.Name == NameDevice && strings.HasPrefix(n.Arg, "/"):
		b.WriteString(quote(n.Arg))
	case n.Arg != "":
		b.WriteString(n.Name + ":" + quote(n.Arg))
	default:
		b.WriteString(n.Name)
	}
	if len(n.Options) > 0 {
		options := make([]string, len(n.Options))
		for i, o := range n.Options {
			options[i] = o.String()
		}
		b.WriteString("(" + strings.Join(options, ", ") + ")")
	}
	for _, other := range n.And {
		b.WriteString(" + " + other.String())
	}
	return b.String()
}

func (o Option) String() string {
	if o.Bare {
		return o.Key
	}
	return o.Key + "=" + quote(o.Value)
}

// quote puts a value in double quotes when it needs them.
func quote(value string) string {
	plain := value != ""
	for _, r := range value {
		plain = plain && isPlain(r)
	}
	if plain {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
