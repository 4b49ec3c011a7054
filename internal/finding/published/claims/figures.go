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
	ID         string   `yaml:"id"`         // "msst17-8c"
	Where      string   `yaml:"where"`      // section of the paper: "6.3"
	Shows      string   `yaml:"shows"`      // as a noun
	Experiment string   `yaml:"experiment"` // built-in one that repeats it; "" for none
	Only       []string `yaml:"only"`       // of its mixes, workloads and stacks, as --only has them; all where it has none
	Repeats    Extent   `yaml:"repeats"`
	Differs    []string `yaml:"differs"` // what differs from the paper at its own scale, or why nothing repeats it
	Had        Had      `yaml:"had"`     // what the paper had
	Claims     []string `yaml:"claims"`  // ids of the published results that are read off it
}

// Extent is how much of a figure an experiment repeats.
type Extent string

// The extents.
const (
	Whole  Extent = "whole" // as printed, at the scale paper on a host such as the paper's
	InPart Extent = "part"
	None   Extent = "none"
)

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
			wrong("is of no paper")
		}
		if f.Shows == "" || f.Where == "" {
			wrong("needs what it shows, and where")
		}
		switch {
		case !slices.Contains([]Extent{Whole, InPart, None}, f.Repeats):
			wrong(fmt.Sprintf("is repeated to no known extent: %q", f.Repeats))
		case (f.Experiment == "") != (f.Repeats == None):
			wrong("has an experiment where nothing repeats it, or none where something does")
		case f.Repeats != Whole && len(f.Differs) == 0:
			wrong("does not say what differs")
		}
	}
	return file.Figures, errors.Join(problems...)
}
