package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/problem"
)

// SchemaVersion is the version of a model's file. It grows when a field changes its
// meaning or goes away. Version 1 knew no reads that are inferred, and version 2 no drives; version 3 had
// one law for all axes, which is not read.
const SchemaVersion = 4

const oldestSchema = 1

// kind is the kind of document in a model's file.
const kind = "plimsoll model"

// Model predicts throughput and latency of instances on hosts, fitted to a few runs.
type Model struct {
	Kind    string   `json:"kind"`
	Schema  int      `json:"schema"`
	Version string   `json:"version"` // of plimsoll
	Seed    uint64   `json:"seed"`    // of the setups that were drawn anew
	Runs    []Source `json:"runs"`    // that it was fitted to
	Left    []string `json:"left_out,omitempty"`
	Classes []Fitted `json:"classes"`
	Drives  []Drive  `json:"drives,omitempty"` // that fio was measured on
	Beside  []Beside `json:"beside,omitempty"` // mixes of several classes that were measured

	calibrations []Calibration // that carried it to another host
	bases        map[Class]*Basis
}

// Beside is a mix that was measured, and what the classes said of it, each of which was fitted to
// what it does without the others.
type Beside struct {
	Run     string         `json:"run"`
	Mix     string         `json:"mix"`
	Tenants []BesideTenant `json:"tenants"`

	Used map[Resource]Number `json:"used,omitempty"` // share of what all together use of each resource, as was said
}

// BesideTenant is one class of them.
type BesideTenant struct {
	Class     string `json:"class"`
	Instances int    `json:"instances"`
	Seen      Number `json:"seen"` // operations per second, of all its instances
	Said      Number `json:"said"`
}

// Source is a run that a model was fitted to.
type Source struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	CPU        string `json:"cpu"` // model of the processors
	Kernel     string `json:"kernel"`
}

// Fitted is a class with its parameters, and how far they are known.
type Fitted struct {
	Name string `json:"name"` // of the workload; with its stack where it stood on several
	Class
	Kind   string   `json:"kind,omitempty"`  // of the workload: ycsb
	Line   string   `json:"line,omitempty"`  // of the stack
	Drive  string   `json:"drive,omitempty"` // of the model, on which it stood; "" where nobody knows
	Params Params   `json:"params"`
	Drawn  []Params `json:"drawn"` // fitted to setups drawn anew
	Check  Check    `json:"check"`
	Points []Point  `json:"points"`
	Mixed  []Point  `json:"mixed_points,omitempty"` // beside instances of other classes
	Basis  *Basis   `json:"recorded,omitempty"`     // of a class that was recorded; nil if runs measured it

	calibrated bool // Params are of another host than its points

	holds *holding // looked up once; nil for not yet
}

// Has reports whether a mix is one of the points that the class was fitted to.
func (f *Fitted) Has(mix string) bool {
	return slices.ContainsFunc(f.Points, func(p Point) bool { return p.Mix == mix })
}

// Find returns the class of that name.
func (m *Model) Find(name string) (*Fitted, error) {
	var names []string
	for i := range m.Classes {
		if m.Classes[i].Name == name {
			return &m.Classes[i], nil
		}
		names = append(names, m.Classes[i].Name)
	}
	return nil, fmt.Errorf("the model knows no %q: it was fitted to %s", name, strings.Join(names, ", "))
}

// Write writes a model as a file.
func (m *Model) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(m)
}

func notAModel() error {
	return problem.New(problem.Invalid, "not a model, or not all of one", "plimsoll fit RUN -o model.json writes one", "")
}

// Read reads a model's file, and refuses one that another version wrote, and one whose
// numbers cannot be.
func Read(text []byte) (*Model, error) {
	var head struct {
		Kind   string `json:"kind"`
		Schema int    `json:"schema"`
	}
	err := json.Unmarshal(text, &head)
	switch {
	case err != nil, head.Kind != kind:
		return nil, notAModel()
	case head.Schema < oldestSchema || head.Schema > SchemaVersion:
		return nil, fmt.Errorf("it is a model of version %d, and this program reads versions %d to %d: fit it again",
			head.Schema, oldestSchema, SchemaVersion)
	}
	m := &Model{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the model is damaged: %w", err)
	}
	var problems []error
	names := map[string]bool{}
	for i := range m.Classes {
		c := &m.Classes[i]
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("class %d (%q): %s", i+1, c.Name, fmt.Sprintf(format, args...)))
		}
		if c.Name == "" || names[c.Name] {
			wrong("its name is empty, or another's")
		}
		names[c.Name] = true
		if len(c.Points) == 0 || len(c.Points)+len(c.Mixed) < FewestPoints {
			wrong("it has %d points, and takes %d", len(c.Points), FewestPoints)
		}
		for j, p := range slices.Concat(c.Points, c.Mixed) {
			if p.Instances < 1 || p.Clients < 1 || !(p.Think >= 0) || len(p.Units) == 0 || !(p.Rate() > 0) {
				wrong("point %d: instances, clients and rates are above 0", j+1)
			}
		}
		for j, p := range append([]Params{c.Params}, c.Drawn...) {
			if why := p.impossible(); why != "" {
				wrong("parameters %d: %s", j, why)
			}
		}
		if !(c.Check.Between.Off >= 0) || !(c.Check.Beyond.Off >= 0) {
			wrong("an error is below 0")
		}
		for _, l := range c.Check.Laws {
			if !slices.Contains(laws[:], l.Law) || !(l.MAPE >= 0) {
				wrong("%q is no law, or an error of it is below 0", l.Law)
			}
		}
		for j, t := range c.Check.Trials {
			if len(t.Off) != len(laws) || !(t.Distance >= 0) {
				wrong("trial %d: there are %d laws, and distances are not below 0", j+1, len(laws))
			}
		}
	}
	drives := map[string]bool{"": true}
	for i := range m.Drives {
		d := &m.Drives[i]
		if why := d.wrong(); why != "" || drives[d.Name] {
			problems = append(problems, fmt.Errorf("drive %d (%q): %s", i+1, d.Name,
				cmp.Or(why, "its name is empty, or another's")))
		}
		drives[d.Name] = true
	}
	for _, c := range m.Classes {
		if !drives[c.Drive] {
			problems = append(problems, fmt.Errorf("class %q: its drive %q is unknown", c.Name, c.Drive))
		}
	}
	for i, b := range m.Beside {
		for _, t := range b.Tenants {
			if !names[t.Class] || !(t.Seen > 0) || !(t.Said > 0) {
				problems = append(problems, fmt.Errorf("mix %d: %q is no class, or did nothing", i+1, t.Class))
			}
		}
	}
	if len(m.Classes) == 0 {
		problems = append(problems, errors.New("it has no class"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the model is damaged: %w", errors.Join(problems...))
	}
	for i := range m.Classes {
		m.placePoints(&m.Classes[i])
	}
	return m, nil
}

// impossible says what parameters cannot be; "" for nothing.
func (p *Params) impossible() string {
	for _, of := range []struct {
		name        string
		value       Number
		least, most float64
	}{
		{"reads.floor", p.Reads.Floor, 0, 1e6}, {"reads.scale", p.Reads.Scale, 0, 1e6}, {"reads.fits", p.Reads.Fits, 0, 1e18},
		{"reads.shape", p.Reads.Shape, leastShape, 2 * mostShape}, {"cpu_seconds.more", p.CPU.More, 0, 1e6},
		{"machine_seconds.more", p.HostCPU.More, 0, 1e6}, {"writes.at_1", p.Writes.At1, 0, 1e9},
		{"writes.batch", p.Writes.Batch, 0, mostBatch}, {"bytes_per_read", p.ReadBytes, 0, 1e12},
		{"bytes_per_write", p.WriteBytes, 0, 1e12}, {"latency_seconds.base", p.Latency.Base, 1e-12, 1e6},
		{"latency_seconds.more", p.Latency.More, 0, 1e6}, {"sharpness.processors", p.Late.Processors, 1e-6, 1e6},
		{"sharpness.device", p.Late.Device, 1e-6, 1e6}, {"reach.machine", p.Reach.Machine, 0.01, 100},
		{"drive_seconds", p.Drive, 0, 1e6},
		{"reach.reads", p.Reach.Reads, 0.01, 100}, {"reach.writes", p.Reach.Writes, 0.01, 100},
	} {
		if v := float64(of.value); !(v >= of.least && v <= of.most) {
			return fmt.Sprintf("%s is %v, and can be from %v to %v", of.name, v, of.least, of.most)
		}
	}
	for _, of := range []Number{p.CPU.Base, p.HostCPU.Base} {
		if math.IsInf(float64(of), 0) || float64(of) < -1e3 {
			return "a number is out of all bounds"
		}
	}
	if l := p.Locked; l != nil && !(l.Base >= 0 && l.Base <= 1e6 && l.More >= 0 && l.More <= 1e6) {
		return "locked is below 0, or out of all bounds"
	}
	for i, l := range p.CPUTimes {
		if !(l.Clients > 0 && l.Times > 0 && l.Times < 1e9) || i > 0 && !(l.Clients > p.CPUTimes[i-1].Clients) {
			return "cpu_times do not rise over clients"
		}
	}
	for i, k := range p.Reads.Times {
		if !(k.Memory > 0 && k.Times >= 1 && k.Memory < 1e18 && k.Times < 1e9) ||
			i > 0 && !(k.Memory > p.Reads.Times[i-1].Memory && k.Times <= p.Reads.Times[i-1].Times) {
			return "reads.times do not fall over memory"
		}
	}
	if n := len(p.Reads.Times); n == 1 || n > 1 && !(p.Reads.Times[0].Times > p.Reads.Times[n-1].Times) {
		return "reads.times do not fall over memory"
	}
	for _, k := range p.Tail {
		if !(k.Mean > 0 && k.Times > 0 && k.Others >= 0 && k.Others <= 1) ||
			math.IsInf(float64(k.Mean), 0) || math.IsInf(float64(k.Times), 0) {
			return "a latency is not above 0"
		}
	}
	return ""
}

// named gives classes names: that of the workload, with its stack and number where others
// have the same.
func named(all []Fitted) {
	for i := range all {
		same := func(f Fitted) bool { return f.Workload == all[i].Workload && f.Class != all[i].Class }
		all[i].Name = all[i].Workload
		if slices.ContainsFunc(all, same) {
			all[i].Name += "@" + all[i].Stack
		}
	}
	for i := range all {
		number := 1
		for j := range i {
			if strings.TrimSuffix(all[j].Name, fmt.Sprintf("#%d", number)) == all[i].Name {
				number++
			}
		}
		if number > 1 {
			all[i].Name += fmt.Sprintf("#%d", number)
		}
	}
}
