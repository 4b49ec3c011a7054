package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
)

// A scale of a file is the same question at another size: the paper's, where the file is a miniature. It is a merge
// patch (RFC 7386) on the file: what it names takes the place of what the file has there, key by key, and null takes
// it away.

const (
	scalesKey = "scales"
	maxScales = 20
	// maxPrinted is how long a file at a scale is at most, as any experiment file: its aliases are written out, and a few
	// of a long text would have no end.
	maxPrinted = 1 << 20
)

// scaleAsked is --scale: the file is read at it, and a run tells of it.
type scaleAsked struct{}

func (scaleAsked) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (scaleAsked) read(*parser, *yaml.Node, string)                {}
func (scaleAsked) store(e *Experiment, to *result.Experiment)      { to.Scale = e.AtScale }

func (scaleAsked) set(e *Experiment, name string) error {
	e.AtScale = name
	return nil
}

func (scaleAsked) restore(e *Experiment, from *result.Experiment) error {
	e.AtScale = from.Scale
	return nil
}

// readScales reads what the scales are called. What each says is read where the file is one of that scale.
func (p *parser) readScales(n *yaml.Node) {
	const example = "write scales: {paper: {host: null, runtime: 10m}}"
	if p.Scale != "" {
		p.Problem(n, "a scale has no scales of its own", "remove them")
		return
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.Problem(n, "scales are names, and what differs in each, not "+describe(n), example)
		return
	}
	if len(n.Content)/2 > maxScales {
		p.Problem(n, fmt.Sprintf("the file has %d scales, more than %d", len(n.Content)/2, maxScales), "")
		return
	}
	for pair := range slices.Chunk(n.Content, 2) {
		p.checkName(pair[0], "a scale")
		if pair[1].Kind != yaml.MappingNode {
			p.Problem(pair[1], fmt.Sprintf("scale %s is keys of the file and what they are there, not %s", pair[0].Value,
				describe(pair[1])), example)
		}
		p.e.Scales = append(p.e.Scales, pair[0].Value)
	}
}

// atScale returns the file at the scale that is asked for; nil where it has none of that name.
func (p *parser) atScale(root *yaml.Node) *yaml.Node {
	scales, without := take(root, scalesKey)
	var names []string
	for i := 0; scales != nil && i+1 < len(scales.Content); i += 2 {
		if name := scales.Content[i].Value; name == p.Scale {
			merged := patched(without, scales.Content[i+1])
			var text bounded
			printer := yaml.NewEncoder(&text)
			printer.SetIndent(2)
			err := printer.Encode(merged)
			if err == nil {
				err = printer.Close()
			}
			if err != nil {
				p.Problem(scales, fmt.Sprintf("the file at scale %s cannot be stored: %s", name, err), "")
				return nil
			}
			p.e.Source, p.e.AtScale = text.String(), name // what a run stores, and goes on with
			return merged
		}
		names = append(names, scales.Content[i].Value)
	}
	what := "the file has no scales"
	if len(names) > 0 {
		what = fmt.Sprintf("the file has no scale %q", p.Scale)
	}
	p.Problem(&yaml.Node{Line: 1}, what, suggest.DidYouMean(p.Scale, names))
	return nil
}

// bounded is a text of at most maxPrinted bytes.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxPrinted {
		return 0, fmt.Errorf("it is larger than %s with its aliases written out", units.FormatSize(maxPrinted))
	}
	return b.Buffer.Write(text)
}

// checkScales reads the file at each of its scales, and notes what is wrong with it there.
func (p *parser) checkScales(file string, text []byte) {
	for _, name := range p.e.Scales {
		at := p.Options
		at.Scale = name
		_, err := Parse(file, text, at)
		var wrong problem.List
		if errors.As(err, &wrong) {
			for _, w := range wrong {
				w.What, w.At.In = fmt.Sprintf("at scale %s: %s", name, w.What), ""
				p.Problems = append(p.Problems, w)
			}
		}
	}
}

// take returns the value of a key of a mapping, nil for none, and the mapping without it.
func take(n *yaml.Node, key string) (value, without *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, n
	}
	rest := *n
	rest.Content = nil
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Value == key {
			value = pair[1]
			continue
		}
		rest.Content = append(rest.Content, pair...)
	}
	return value, &rest
}

// patched returns a value with a merge patch on it. Neither of both changes.
func patched(n, patch *yaml.Node) *yaml.Node {
	if patch.Kind != yaml.MappingNode {
		return patch
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: patch.Tag, Style: patch.Style, Line: patch.Line}
	if n != nil && n.Kind == yaml.MappingNode {
		*out = *n
		out.Content = slices.Clone(n.Content)
	}
	for pair := range slices.Chunk(patch.Content, 2) {
		at := 0
		for at < len(out.Content) && out.Content[at].Value != pair[0].Value {
			at += 2
		}
		switch {
		case isNull(pair[1]) && at < len(out.Content):
			out.Content = slices.Delete(out.Content, at, at+2)
		case isNull(pair[1]):
		case at < len(out.Content):
			out.Content[at+1] = patched(out.Content[at+1], pair[1])
		default:
			out.Content = append(out.Content, pair[0], patched(nil, pair[1]))
		}
	}
	return out
}
