package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/experiment"
	"plimsoll/internal/plural"
	"plimsoll/internal/problem"
	"plimsoll/internal/units"
)

// hostKey is a key of a file of a host that limits of experiments have not.
type hostKey[T any] struct {
	key string
	set func(*T, string) error
}

var hostKeys = []hostKey[Host]{
	{"speed", amount(func(h *Host) *float64 { return &h.Speed })},
	{"network", rated(func(h *Host) *float64 { return &h.NIC })},
}

var targetKeys = []hostKey[Target]{
	{"cpus", amount(func(t *Target) *float64 { return &t.CPUs })},
	{"io-cpu", lasts(func(t *Target) *float64 { return &t.CPUSeconds })},
	{"network", rated(func(t *Target) *float64 { return &t.NIC })},
	{"initiators", amount(func(t *Target) *float64 { return &t.Initiators })},
}

var driveKeys = []hostKey[HostDrive]{
	{"delay", lasts(func(d *HostDrive) *float64 { return &d.Delay })},
	{"read-iops", rated(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.IOPS) })},
	{"write-iops", rated(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.IOPS) })},
	{"read-bandwidth", rated(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.Bandwidth) })},
	{"write-bandwidth", rated(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.Bandwidth) })},
	{"read-latency", lasts(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.Latency) })},
	{"write-latency", lasts(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.Latency) })},
	{"competes", amount(func(d *HostDrive) *float64 { return (*float64)(&d.Is.Competes) })},
}

func amount[T any](of func(*T) *float64) func(*T, string) error {
	return func(t *T, text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0 && x <= 1e6) {
			return fmt.Errorf("it is a number from 0 to a million, not %q", text)
		}
		*of(t) = x
		return nil
	}
}

func rated[T any](of func(*T) *float64) func(*T, string) error {
	return func(t *T, text string) error {
		n, err := units.ParseSize(text)
		if err != nil || n < 1 || n > 1e12 {
			return fmt.Errorf("it is a number above 0, such as 500MB or 200000, not %q", text)
		}
		*of(t) = float64(n)
		return nil
	}
}

func lasts[T any](of func(*T) *float64) func(*T, string) error {
	return func(t *T, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > time.Minute {
			return fmt.Errorf("it is a time with its unit, such as 80us, not %q", text)
		}
		*of(t) = d.Seconds()
		return nil
	}
}

// ParseHost reads a file of what a host has in place of what k has: limits, as experiment files have them, and
// its drives, with their targets. All that is wrong with it is said at once.
func (m *Model) ParseHost(k HostKind, file string, text []byte) (HostKind, error) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		limits, err := experiment.ParseLimits("the host", file, text)
		k.Host = k.Host.With(limits)
		return k, err
	}
	p := hostParser{model: m, targets: map[string]*Target{}}
	root := doc.Content[0]
	rest := *root
	rest.Content = nil
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		of := slices.IndexFunc(hostKeys, func(h hostKey[Host]) bool { return h.key == key.Value })
		switch {
		case key.Value == "targets":
			p.each(value, "targets", func(name string, n *yaml.Node) { p.targets[name] = p.target(name, n) })
		case key.Value == "drives": // when all targets are known
		case of >= 0:
			if err := hostKeys[of].set(&k.Host, value.Value); err != nil || value.Kind != yaml.ScalarNode {
				p.wrong.InLine(value.Line, fmt.Sprintf("%s of the host: %v", key.Value, err), "")
			}
		default:
			rest.Content = append(rest.Content, key, value)
			continue
		}
		end := len(lines) + 1
		if i+2 < len(root.Content) {
			end = root.Content[i+2].Line
		}
		for line := key.Line; line < end && line <= len(lines) && root.Style&yaml.FlowStyle == 0; line++ {
			lines[line-1] = ""
		}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "drives" {
			k.Drives = nil
			p.each(root.Content[i+1], "drives", func(name string, n *yaml.Node) {
				k.Drives = append(k.Drives, p.drive(name, n))
			})
		}
	}
	limited := []byte(strings.Join(lines, "\n"))
	if root.Style&yaml.FlowStyle != 0 {
		limited, _ = yaml.Marshal(&rest) // of what was just read
	}
	if len(rest.Content) > 0 {
		limits, err := experiment.ParseLimits("the host", file, limited)
		if err != nil {
			return k, joinedProblems(p.wrong, file, err)
		}
		k.Host = k.Host.With(limits)
	}
	return k, joinedProblems(p.wrong, file, nil)
}

func joinedProblems(wrong problem.List, file string, err error) error {
	if len(wrong) == 0 {
		return err
	}
	all := error(wrong.Sorted().Within(file))
	if err != nil {
		return fmt.Errorf("%w\n%w", all, err)
	}
	return all
}

type hostParser struct {
	model   *Model
	targets map[string]*Target
	wrong   problem.List
}

// each calls do with each entry of a mapping.
func (p *hostParser) each(n *yaml.Node, what string, do func(name string, n *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.wrong.InLine(n.Line, what+" are names, each with what it has", "write a: {drive: NAME}")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		do(n.Content[i].Value, n.Content[i+1])
	}
}

// fields sets what a mapping has by its keys; other reads the keys that are none of them.
func fields[T any](p *hostParser, of string, n *yaml.Node, to *T, keys []hostKey[T],
	other map[string]func(*yaml.Node)) {
	p.each(n, of, func(key string, value *yaml.Node) {
		if read := other[key]; read != nil {
			read(value)
			return
		}
		var names []string
		for _, k := range keys {
			if names = append(names, k.key); k.key == key {
				if err := k.set(to, value.Value); err != nil {
					p.wrong.InLine(value.Line, fmt.Sprintf("%s: %s: %v", of, key, err), "")
				}
				return
			}
		}
		for name := range other {
			names = append(names, name)
		}
		slices.Sort(names)
		p.wrong.InLine(value.Line, fmt.Sprintf("%s has no key %q", of, key), "keys are "+plural.And(names))
	})
}

func (p *hostParser) target(name string, n *yaml.Node) *Target {
	t := &Target{Name: name}
	fields(p, "target "+name, n, t, targetKeys, nil)
	return t
}

func (p *hostParser) drive(name string, n *yaml.Node) HostDrive {
	d := HostDrive{Name: name}
	d.Is.Competes = 1
	known := func(n *yaml.Node) {
		is, err := p.model.Drive(n.Value)
		if err != nil {
			p.wrong.InLine(n.Line, fmt.Sprintf("drive %s: %v", name, err), "")
			return
		}
		d.Is = is
	}
	if n.Kind == yaml.ScalarNode {
		known(n)
		return d
	}
	if n.Kind == yaml.MappingNode { // what it is comes first, wherever it stands
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "drive" {
				known(n.Content[i+1])
			}
		}
	}
	fields(p, "drive "+name, n, &d, driveKeys, map[string]func(*yaml.Node){
		"drive": func(*yaml.Node) {},
		"target": func(n *yaml.Node) {
			if d.Target = p.targets[n.Value]; d.Target == nil {
				p.wrong.InLine(n.Line, fmt.Sprintf("drive %s: there is no target %q", name, n.Value), "add it to targets")
			}
		}})
	return d
}
