package model

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/experiment"
	"plimsoll/internal/units"
	"plimsoll/internal/yamlfile"
)

// hostKey is a key of a file of a host that limits of experiments have not.
type hostKey[T any] struct {
	key string
	set func(*T, string) error
}

var hostKeys = []hostKey[Host]{
	{"speed", amount(func(h *Host) *float64 { return &h.Speed })},
	{"network", rated(func(h *Host) *float64 { return &h.NIC })},
	{"machine", amount(func(h *Host) *float64 { return &h.Machine })},
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
	r := HostReader{Reader: &yamlfile.Reader{}, Model: m, Targets: map[string]*Target{}}
	if root := r.Root(text, yamlfile.Kind{Name: "host", Begin: `begin with "memory: 64GiB"`}); root != nil {
		var targets *yaml.Node
		for i := 0; i+1 < len(root.Content); i += 2 { // drives are of them, wherever they stand
			if root.Content[i].Value == "targets" {
				targets = root.Content[i+1]
			}
		}
		r.ReadTargets(targets)
		k = r.Host(root, "the host", k, map[string]func(*yaml.Node){"targets": func(*yaml.Node) {}})
	}
	return k, r.Problems.Sorted().Within(file).Err()
}

// HostReader reads what hosts have from mappings of a file.
type HostReader struct {
	*yamlfile.Reader
	Model   *Model
	Targets map[string]*Target // that drives may be of
}

// Host reads what a host has in place of what k has. other are keys that the mapping has besides.
func (r HostReader) Host(n *yaml.Node, of string, k HostKind, other map[string]func(*yaml.Node)) HostKind {
	limits := *n
	limits.Content = nil
	all := setters(r.Reader, of, &k.Host, hostKeys)
	for _, l := range experiment.LimitsByKey() {
		all[l[0]] = func(n *yaml.Node) {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: l[0], Line: n.Line}
			limits.Content = append(limits.Content, key, n)
		}
	}
	all["drives"] = func(n *yaml.Node) {
		k.Drives = nil
		r.Named(n, "drives of "+of, func(name string, n *yaml.Node) { k.Drives = append(k.Drives, r.drive(name, n)) })
	}
	for key, read := range other {
		all[key] = read
	}
	r.Mapping(n, of, all)
	if len(limits.Content) > 0 {
		k.Host = k.Host.With(experiment.ReadLimits(r.Reader, &limits, of))
	}
	return k
}

// ReadTargets reads what serves remote drives, by name; nothing of nil.
func (r HostReader) ReadTargets(n *yaml.Node) {
	if n == nil {
		return
	}
	r.Named(n, "targets", func(name string, n *yaml.Node) {
		t := &Target{Name: name}
		r.Mapping(n, "target "+name, setters(r.Reader, "target "+name, t, targetKeys))
		r.Targets[name] = t
	})
}

// setters read the values of keys.
func setters[T any](r *yamlfile.Reader, of string, to *T, keys []hostKey[T]) map[string]func(*yaml.Node) {
	all := map[string]func(*yaml.Node){}
	for _, k := range keys {
		all[k.key] = func(n *yaml.Node) {
			if err := k.set(to, n.Value); err != nil {
				r.Problem(n, fmt.Sprintf("%s of %s: %v", k.key, of, err), "")
			}
		}
	}
	return all
}

func (r HostReader) drive(name string, n *yaml.Node) HostDrive {
	d := HostDrive{Name: name}
	d.Is.Competes = 1
	of := "drive " + name
	known := func(n *yaml.Node) {
		is, err := r.Model.Drive(n.Value)
		if err != nil {
			r.Problem(n, fmt.Sprintf("%s: %v", of, err), "")
			return
		}
		d.Is = is
	}
	if n.Kind == yaml.ScalarNode {
		known(n)
		return d
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 { // what it is comes first, wherever it stands
		if n.Content[i].Value == "drive" {
			known(n.Content[i+1])
		}
	}
	all := setters(r.Reader, of, &d, driveKeys)
	all["drive"] = func(*yaml.Node) {}
	all["target"] = func(n *yaml.Node) {
		if d.Target = r.Targets[n.Value]; d.Target == nil {
			r.Problem(n, fmt.Sprintf("%s: there is no target %q", of, n.Value), "add it to targets")
		}
	}
	r.Mapping(n, of, all)
	return d
}
