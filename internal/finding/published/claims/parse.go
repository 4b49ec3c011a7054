package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// row is a claim as claims.yaml has it.
type row struct {
	ID        string    `yaml:"id"`
	Paper     string    `yaml:"paper"`
	Where     string    `yaml:"where"`
	Subject   texts     `yaml:"subject"`
	Baseline  string    `yaml:"baseline"`
	Workloads []string  `yaml:"workloads"`
	Kind      string    `yaml:"kind"`
	Value     yaml.Node `yaml:"value"`
	Tolerance float64   `yaml:"tolerance"`
	Unit      string    `yaml:"unit"`
	Model     bool      `yaml:"model"`
	Note      string    `yaml:"note"`
	Test      *Test     `yaml:"test"`
	Untested  string    `yaml:"untested"`
}

// texts is a list of texts, or a text alone.
type texts []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = texts{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}

// Parse reads claims. The error names everything that is wrong.
func Parse(text []byte) ([]Claim, error) {
	var file struct {
		Testbeds yaml.Node `yaml:"testbeds"` // for people who read the file
		Claims   []row     `yaml:"claims"`
	}
	// Strict, because a comma in a text without quotes would make a key of the
	// rest of it.
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	var claims []Claim
	var problems []error
	seen := map[string]bool{}
	for _, r := range file.Claims {
		c, err := r.claim()
		if seen[r.ID] {
			err = errors.Join(err, errors.New("its id is given twice"))
		}
		seen[r.ID] = true
		if err != nil {
			problems = append(problems, fmt.Errorf("claim %q: %w", r.ID, err))
			continue
		}
		claims = append(claims, c)
	}
	return claims, errors.Join(problems...)
}

func (r row) claim() (Claim, error) {
	c := Claim{
		ID: r.ID, Paper: Paper(r.Paper), Where: r.Where, Subject: r.Subject, Baseline: r.Baseline, Workloads: r.Workloads,
		Kind: Kind(r.Kind), Tolerance: r.Tolerance, Unit: r.Unit, Model: r.Model, Note: r.Note, Test: r.Test,
		Untested: r.Untested,
	}
	var problems []error
	wrong := func(so bool, format string, args ...any) {
		if so {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	wrong(c.ID == "", "it has no id")
	wrong(c.Where == "", "it does not say where it was published")
	wrong(!slices.Contains(Papers(), c.Paper), "there is no paper %q", r.Paper)
	wrong(!slices.Contains([]Kind{Ratio, Absolute, Location, Ordering}, c.Kind), "there is no kind %q", r.Kind)
	wrong(c.Kind != Absolute && len(c.Subject) == 0, "a claim of kind %s has a subject", c.Kind)
	wrong(!(c.Tolerance >= 0) || math.IsInf(c.Tolerance, 0), "a tolerance is not negative")
	if c.Test != nil {
		if len(c.Test.Roles) == 0 {
			c.Test.Roles = c.Workloads
		}
		c.Test.complete()
		err := c.Test.check()
		if err != nil {
			problems = append(problems, err)
		}
	}
	builtIn := c.Test != nil && c.Test.Experiment != ""
	wrong(builtIn == (c.Untested != ""),
		"a claim has a test by an experiment, or the reason why no built-in one can judge it")
	if r.Value.Kind == 0 {
		wrong(c.Kind != Ordering, "a claim of kind %s has a value", c.Kind)
		return c, errors.Join(problems...)
	}
	v, err := value(&r.Value)
	if err != nil {
		problems = append(problems, err)
	}
	c.Value = &v
	if c.Test != nil && c.Test.Parts != nil {
		for _, p := range v.Parts {
			_, told := c.Test.Parts[p.Name]
			wrong(!told, "its test does not say what %s is about", p.Name)
		}
		wrong(len(v.Parts) != len(c.Test.Parts), "its test has parts that it has no number of")
	}
	return c, errors.Join(problems...)
}

// value reads 1.5, "<1", ">3", [0.88, 0.94], and names with such values.
func value(n *yaml.Node) (Value, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n.Value)
	case yaml.SequenceNode:
		var limits [2]float64
		if len(n.Content) != 2 || n.Decode(&limits) != nil || !(limits[0] <= limits[1]) {
			return Value{}, errors.New("a range has two numbers, the lower one first")
		}
		return Value{Low: limits[0], High: limits[1]}, nil
	case yaml.MappingNode:
		var v Value
		for pair := range slices.Chunk(n.Content, 2) {
			part, err := value(pair[1])
			if err != nil {
				return Value{}, fmt.Errorf("%s: %w", pair[0].Value, err)
			}
			v.Parts = append(v.Parts, Part{Name: pair[0].Value, Value: part})
		}
		return v, nil
	}
	return Value{}, errors.New("a value is a number, a bound, a range, or names with such values")
}

func scalar(text string) (Value, error) {
	low, high := text, text
	switch {
	case len(text) > 1 && text[0] == '<':
		low, high = "-Inf", text[1:]
	case len(text) > 1 && text[0] == '>':
		low, high = text[1:], "+Inf"
	}
	v := Value{}
	var errLow, errHigh error
	v.Low, errLow = strconv.ParseFloat(low, 64)
	v.High, errHigh = strconv.ParseFloat(high, 64)
	if errLow != nil || errHigh != nil || math.IsNaN(v.Low) || math.IsNaN(v.High) {
		return Value{}, fmt.Errorf("%q is no number, and no bound such as <1", text)
	}
	return v, nil
}
