package claims

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed figures.yaml
var figuresSource []byte

// Figure is a figure or table of a paper that shows a measurement, and what repeats it here.
type Figure struct {
	ID         string `yaml:"id"`         // "msst17-8c"
	Where      string `yaml:"where"`      // section of the paper: "6.3"
	Shows      string `yaml:"shows"`      // as a noun
	Experiment string `yaml:"experiment"` // built-in one that repeats it; "" for none
	// of its mixes, workloads and stacks at any of its scales, as --only has them; all where it has none
	Only    []string `yaml:"only"`
	Setup   bool     `yaml:"setup"`   // of a paper's host
	Differs []string `yaml:"differs"` // what differs beside parameters, or why nothing repeats it
	Had     Had      `yaml:"had"`     // what the paper had
	Claims  []string `yaml:"claims"`  // ids of the published results that are read off it
}

// Extent is how much of a figure an experiment repeats.
type Extent string

// The extents.
const (
	Whole  Extent = "whole" // as printed, at the scale paper on a host such as the paper's
	InPart Extent = "part"
	None   Extent = "none"
	Setup  Extent = "setup" // of a host, which this one is compared with
)

// ScalePaper is the scale of built-in experiments at which they have a paper's parameters.
const ScalePaper = "paper"

// Repeats returns how much of the figure its experiment repeats. has is what that has, at ScalePaper and without what
// Only leaves out, of the parameters that the paper had: see Compare.
func (f Figure) Repeats(has []Compared) Extent {
	differs := func(c Compared) bool { return c.Differs }
	switch {
	case f.Setup:
		return Setup
	case f.Experiment == "":
		return None
	case len(f.Differs) > 0 || slices.ContainsFunc(has, differs):
		return InPart
	}
	return Whole
}

// Compared is a parameter of a paper, and the values that an experiment or a host has for it.
type Compared struct {
	Name    string   `json:"name"`            // a key of experiment files, containers, drives, limits, or data
	Paper   string   `json:"paper,omitempty"` // "" where the paper does not state it
	Here    []string `json:"here,omitempty"`
	Differs bool     `json:"differs,omitempty"`
}

// String returns the difference: "threads 32, in the paper 16".
func (c Compared) String() string {
	here := "not set"
	if len(c.Here) > 0 {
		here = strings.Join(c.Here, ", ")
	}
	return fmt.Sprintf("%s %s, in the paper %s", c.Name, here, c.Paper)
}

// Compare compares all that the paper had with the values of an experiment.
func (h Had) Compare(values func(name string) []string) (compared []Compared) {
	for _, p := range h {
		here := values(p.Name)
		compared = append(compared, Compared{Name: p.Name, Paper: p.Value, Here: here, Differs: !p.Agrees(here)})
	}
	return compared
}

// Had has the parameters of a paper, in the order of figures.yaml.
type Had []Parameter

// Parameter is one of what a paper had: Name is a key of experiment files, or containers or drives.
type Parameter struct{ Name, Value string }

// UnmarshalYAML implements yaml.Unmarshaler.
func (h *Had) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: had is a mapping of parameters to values", n.Line)
	}
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Value == "<<" {
			err := h.UnmarshalYAML(pair[1])
			if err != nil {
				return err
			}
			continue
		}
		i := slices.IndexFunc(*h, func(p Parameter) bool { return p.Name == pair[0].Value })
		if i < 0 {
			*h = append(*h, Parameter{pair[0].Value, pair[1].Value})
		} else {
			(*h)[i].Value = pair[1].Value
		}
	}
	return nil
}

// Paper returns the paper that the figure is of.
func (f Figure) Paper() Paper {
	paper, _, _ := strings.Cut(f.ID, "-")
	return Paper(paper)
}

// Name returns the figure as the paper numbers it: "figure 8c", "table 2".
func (f Figure) Name() string {
	_, number, _ := strings.Cut(f.ID, "-")
	if rest, isTable := strings.CutPrefix(number, "table"); isTable {
		return "table " + rest
	}
	if of, remote := strings.CutSuffix(number, "-nvmf"); remote {
		return "figure " + of + ", NVMe over Fabrics"
	}
	return "figure " + number
}

var figures = sync.OnceValue(func() []Figure {
	all, err := parseFigures(figuresSource)
	if err != nil {
		panic(err) // a test parses it
	}
	return all
})

// Figures returns all figures, in the order of the papers and of their numbers.
func Figures() []Figure { return slices.Clone(figures()) }

// FindFigure returns the figure of that id, and reports whether there is one.
func FindFigure(id string) (Figure, bool) {
	i := slices.IndexFunc(figures(), func(f Figure) bool { return f.ID == strings.ToLower(id) })
	if i < 0 {
		return Figure{}, false
	}
	return figures()[i], true
}

// HadOf returns what the paper had where it published a claim, of the first figure that the claim is read off.
func HadOf(claim string) Had {
	i := slices.IndexFunc(figures(), func(f Figure) bool { return slices.Contains(f.Claims, claim) })
	if i < 0 {
		return nil
	}
	return figures()[i].Had
}

// SetupOf returns what a paper says of its host and software.
func SetupOf(paper Paper) (had Had) {
	for _, f := range figures() {
		if f.Setup && f.Paper() == paper {
			had = append(had, f.Had...)
		}
	}
	return had
}

// Value returns the value of a parameter; "" where the paper does not give it.
func (h Had) Value(name string) string {
	i := slices.IndexFunc(h, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return h[i].Value
}

func parseFigures(text []byte) ([]Figure, error) {
	var file struct {
		Figures []Figure `yaml:"figures"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(&file)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	var problems []error
	seen := map[string]bool{}
	for _, f := range file.Figures {
		wrong := func(what string) { problems = append(problems, fmt.Errorf("figure %s %s", f.ID, what)) }
		if seen[f.ID] {
			wrong("stands twice")
		}
		seen[f.ID] = true
		if !slices.Contains(Papers(), f.Paper()) {
			wrong("belongs to no paper")
		}
		if f.Shows == "" || f.Where == "" {
			wrong("needs what it shows, and where")
		}
		switch {
		case f.Setup && (f.Experiment != "" || len(f.Had) == 0):
			wrong("is a set-up, which has parameters of a host and no experiment")
		case f.Experiment == "" && !f.Setup && len(f.Differs) == 0:
			wrong("does not say why nothing repeats it")
		}
	}
	return file.Figures, errors.Join(problems...)
}
