package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// A scale of a file is the same question at another size: the paper's, where the file is a scaled-down host. It is a
// merge patch (RFC 7386) on the file: what it names takes the place of what the file has there, key by key, and null
// takes it away.

const (
	scalesKey = "scales"
	maxScales = 20
	// maxPrinted bounds the size of a file at a scale, like that of any experiment file: aliases are expanded, and a
	// few of a long text would have no end.
	maxPrinted = 1 << 20
)

// scaleSetting is --scale, the scale at which the file is read.
type scaleSetting struct{}

func (scaleSetting) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (scaleSetting) read(*parser, *yaml.Node, string)                {}
func (scaleSetting) store(e *Experiment, to *result.Experiment)      { to.Scale = e.AtScale }

func (scaleSetting) set(e *Experiment, name string) error {
	e.AtScale = name
	return nil
}

func (scaleSetting) restore(e *Experiment, from *result.Experiment) error {
	e.AtScale = from.Scale
	return nil
}

// onlyAsked is --only: which mixes, workloads and stacks run, as Scale.Only has them.
type onlyAsked struct{}

func (onlyAsked) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (onlyAsked) read(*parser, *yaml.Node, string)                {}
func (onlyAsked) store(e *Experiment, to *result.Experiment)      { to.Only = e.Scaled.Only }

func (onlyAsked) set(e *Experiment, text string) error {
	e.Scaled.Only = strings.Split(text, ",")
	for _, pattern := range e.Scaled.Only {
		_, err := path.Match(pattern, "")
		if err != nil || pattern == "" {
			return fmt.Errorf("%q is no name, and no pattern of names: write --only raw,randread or --only 'T-*'", pattern)
		}
	}
	return nil
}

func (onlyAsked) restore(e *Experiment, from *result.Experiment) error {
	e.Scaled.Only = from.Only
	return nil
}

// readScales reads the names of the scales. The content of each is read only for a file at that scale.
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

// atScale returns the file at the scale that was asked for; nil if the file has no scale of that name.
func (p *parser) atScale(root *yaml.Node) *yaml.Node {
	scales, rest := take(root, scalesKey)
	var names []string
	for i := 0; scales != nil && i+1 < len(scales.Content); i += 2 {
		if name := scales.Content[i].Value; name == p.Scale {
			merged := mergePatch(rest, scales.Content[i+1])
			var text boundedBuffer
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
	problem := "the file has no scales"
	if len(names) > 0 {
		problem = fmt.Sprintf("the file has no scale %q", p.Scale)
	}
	p.Problem(&yaml.Node{Line: 1}, problem, suggest.DidYouMean(p.Scale, names))
	return nil
}

// boundedBuffer is a text of at most maxPrinted bytes.
type boundedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *boundedBuffer) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxPrinted {
		return 0, fmt.Errorf("it is larger than %s with its aliases written out", units.FormatSize(maxPrinted))
	}
	return b.Buffer.Write(text)
}

// checkScales parses the file at each of its scales, and adds its problems there.
func (p *parser) checkScales(file string, text []byte) {
	for _, name := range p.e.Scales {
		options := p.Options
		options.Scale = name
		_, err := Parse(file, text, options)
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

// mergePatch returns n with a merge patch applied. It changes neither argument.
func mergePatch(n, patch *yaml.Node) *yaml.Node {
	if patch.Kind != yaml.MappingNode {
		return patch
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: patch.Tag, Style: patch.Style, Line: patch.Line}
	if n != nil && n.Kind == yaml.MappingNode {
		*out = *n
		out.Content = slices.Clone(n.Content)
	}
	for pair := range slices.Chunk(patch.Content, 2) {
		i := 0
		for i < len(out.Content) && out.Content[i].Value != pair[0].Value {
			i += 2
		}
		switch {
		case isNull(pair[1]) && i < len(out.Content):
			out.Content = slices.Delete(out.Content, i, i+2)
		case isNull(pair[1]):
		case i < len(out.Content):
			out.Content[i+1] = mergePatch(out.Content[i+1], pair[1])
		default:
			out.Content = append(out.Content, pair[0], mergePatch(nil, pair[1]))
		}
	}
	return out
}
