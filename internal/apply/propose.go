package apply

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// Proposal is what a Compose file lacks before it can be planned.
type Proposal struct {
	Project   *Project
	Unclassed []string // services without a class of the model, sorted
	Variables []string // that have to have a value, sorted

	file      string
	text      []byte
	directory Beside
}

// Propose reads a Compose file as ReadCompose does, but the file may lack classes and values of variables.
func Propose(ctx context.Context, file string, text []byte, directory Beside) (*Proposal, error) {
	proposal := &Proposal{file: file, text: text, directory: directory}
	project, compose, err := readCompose(ctx, file, text, nil, directory, true)
	if err != nil {
		return nil, err
	}
	proposal.Project, proposal.Unclassed, proposal.Variables = project, compose.unclassed, compose.needed
	slices.Sort(proposal.Variables)
	proposal.Variables = slices.Compact(proposal.Variables)
	return proposal, nil
}

// Label returns the text of the Compose file in which services have classes. All else means the same, which is seen by
// reading both.
func (p *Proposal) Label(ctx context.Context, classes map[string]string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(p.text, &document); err != nil {
		return nil, err
	}
	var services *yaml.Node
	if len(document.Content) > 0 {
		services = aliased(valueOf(document.Content[0], "services"))
	}
	if services != nil && services.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(services.Content); i += 2 {
			if class := classes[services.Content[i].Value]; class != "" {
				services.Content[i+1] = labelled(services.Content[i+1], class)
			}
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	again, _, err := readCompose(ctx, p.file, out.Bytes(), nil, p.directory, true)
	if err != nil || !p.sameBut(again, classes) {
		return nil, problem.New(problem.Unsupported, p.file, "labels cannot be written into it",
			"write labels: {"+classLabel+": CLASS} into each service").CausedBy(err)
	}
	return out.Bytes(), nil
}

// sameBut reports whether a project differs from the one that was read by these classes alone.
func (p *Proposal) sameBut(other *Project, classes map[string]string) bool {
	if p.Project.Name != other.Name || !reflect.DeepEqual(p.Project.Services, other.Services) {
		return false
	}
	for _, s := range other.Services {
		want := map[string]string{}
		for key, value := range p.Project.Demands[s.Name] {
			want[key] = value
		}
		if class := classes[s.Name]; class != "" {
			want["class"] = class
		}
		if !reflect.DeepEqual(want, other.Demands[s.Name]) {
			return false
		}
	}
	return true
}

// classLabel is the label of a service's class of the model.
const classLabel = labelPrefix + "class"

// labelled returns a service with a class. Labels that it has by a merge are written out: labels of its own would take
// their place.
func labelled(service *yaml.Node, class string) *yaml.Node {
	text := func(value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	}
	if service.Kind == yaml.AliasNode {
		service = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!merge", Value: "<<"}, service}}
	}
	labels := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	if has := merged(service, "labels", 0); has != nil && has.Kind != yaml.ScalarNode {
		labels = unanchored(has)
	}
	if labels.Kind == yaml.SequenceNode {
		labels.Content = append(labels.Content, text(classLabel+"="+class))
	} else {
		labels.Content = append(labels.Content, text(classLabel), text(class))
	}
	for i := 0; i+1 < len(service.Content); i += 2 {
		if service.Content[i].Value == "labels" {
			service.Content[i+1] = labels
			return service
		}
	}
	service.Content = append(service.Content, text("labels"), labels)
	return service
}

// mostMerged is how deep mappings may be merged into each other.
const mostMerged = 32

// merged returns the value of a mapping's key, its own or one of a mapping that is merged into it; nil for none.
func merged(n *yaml.Node, key string, depth int) *yaml.Node {
	n = aliased(n)
	if n == nil || depth > mostMerged {
		return nil
	}
	if value := valueOf(n, key); value != nil {
		return aliased(value)
	}
	source := aliased(valueOf(n, "<<"))
	if source == nil {
		return nil
	}
	sources := []*yaml.Node{source}
	if source.Kind == yaml.SequenceNode {
		sources = source.Content
	}
	for _, m := range sources {
		if value := merged(m, key, depth+1); value != nil {
			return value
		}
	}
	return nil
}

// aliased returns the node that an alias is of, or the node itself.
func aliased(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// unanchored returns a copy of a node that has no anchors, so that it may stand twice.
func unanchored(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor = ""
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, unanchored(child))
	}
	return &c
}

// need returns the value of a variable. Where classes are proposed, one without a value has a stand-in.
func (c *composeReader) need(name string) (string, bool) {
	value, given := c.env[name]
	if !given && c.proposing {
		c.needed = append(c.needed, name)
		return standIn, true
	}
	return value, given
}

// standIn is what variables without a value have while the rest of the file is read: a number, a text and a name.
const standIn = "1"

// missing adds a problem for services without a class, or collects them where classes are proposed.
func (c *composeReader) missing(unclassed []string) {
	c.unclassed = unclassed
	if len(unclassed) > 0 && !c.proposing {
		c.add(fmt.Sprintf("service %s: no label %s", listed(unclassed), classLabel), "the model has to know what it does",
			"write labels: {"+classLabel+": C}, a class of the model; plimsoll init with this file proposes them")
	}
}
