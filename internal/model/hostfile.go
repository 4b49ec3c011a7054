package model

import (
	"fmt"
	"maps"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/result"
)

// Kinds of what hosts have.
var (
	anAmount   = field.Number(0, 1e6)
	aRate      = field.Rate(1, 1e12).Like("200000")
	aBandwidth = field.Bandwidth(1, 1e12)
	aDelay     = field.Seconds(field.Duration(0, time.Minute).Like("80us"))
)

// ioKeys are limits on reads and writes together, which volumes of clouds have and no experiment sets.
var ioKeys = field.Table[Host]{
	field.Of("iops", "reads and writes a second of a volume together", field.As[int64](aRate),
		func(h *Host) *int64 { return &h.IO.OperationsPerSecond }),
	field.Of("bandwidth", "bytes a second that a volume reads and writes together", aBandwidth,
		func(h *Host) *int64 { return &h.IO.BytesPerSecond }),
}

var hostKeys = append(field.Table[Host]{
	field.Of("speed", "speed of its processors, as a factor", anAmount, func(h *Host) *float64 { return &h.Speed }),
	field.Of("network", "bytes a second each way, to remote drives", field.As[float64](aBandwidth),
		func(h *Host) *float64 { return &h.NIC }),
	field.Of("machine", "processors of the machine that the host is a part of", anAmount,
		func(h *Host) *float64 { return &h.Machine }),
}, ioKeys...)

var targetKeys = field.Table[Target]{
	field.Of("cpus", "processors that serve", anAmount, func(t *Target) *float64 { return &t.CPUs }),
	field.Of("io-cpu", "processor time of an I/O", aDelay, func(t *Target) *float64 { return &t.CPUSeconds }),
	field.Of("network", "bytes a second each way", field.As[float64](aBandwidth),
		func(t *Target) *float64 { return &t.NIC }),
	field.Of("initiators", "hosts that share it", anAmount, func(t *Target) *float64 { return &t.Initiators }),
}

var driveKeys = field.Table[HostDrive]{
	field.Of("delay", "time that the way to it takes", aDelay, func(d *HostDrive) *float64 { return &d.Delay }),
	field.Of("read-iops", "reads a second", aRate, func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.IOPS) }),
	field.Of("write-iops", "writes a second", aRate, func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.IOPS) }),
	field.Of("read-bandwidth", "bytes a second that it reads", field.As[float64](aBandwidth),
		func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.Bandwidth) }),
	field.Of("write-bandwidth", "bytes a second that it writes", field.As[float64](aBandwidth),
		func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.Bandwidth) }),
	field.Of("read-latency", "latency of a read alone", aDelay,
		func(d *HostDrive) *float64 { return (*float64)(&d.Is.Read.Latency) }),
	field.Of("write-latency", "latency of a write alone", aDelay,
		func(d *HostDrive) *float64 { return (*float64)(&d.Is.Write.Latency) }),
	field.Of("competes", "what a write takes of what reads could have", anAmount,
		func(d *HostDrive) *float64 { return (*float64)(&d.Is.Competes) }),
}

// ParseHost reads a file of what a host has in place of what k has: limits, as experiment files have them, and
// its drives, with their targets. All that is wrong with it is said at once.
func (m *Model) ParseHost(k HostKind, file string, text []byte) (HostKind, error) {
	r := HostReader{Reader: &field.Reader{}, Model: m, Targets: map[string]*Target{}}
	if root := r.Root(text, field.File{Name: "host", Begin: `begin with "memory: 64GiB"`}); root != nil {
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
	*field.Reader
	Model   *Model
	Targets map[string]*Target // that drives may be of
}

// Host reads what a host has in place of what k has. other are keys that the mapping has besides.
func (r HostReader) Host(n *yaml.Node, of string, k HostKind, other map[string]func(*yaml.Node)) HostKind {
	var limits result.Limits
	all := hostKeys.Readers(r.Reader, of, &k.Host)
	maps.Copy(all, experiment.LimitReaders(r.Reader, of, &limits))
	all["drives"] = func(n *yaml.Node) {
		k.Drives = nil
		r.Named(n, "drives of "+of, func(name string, n *yaml.Node) { k.Drives = append(k.Drives, r.drive(name, n)) })
	}
	maps.Copy(all, other)
	r.Mapping(n, of, all)
	k.Host = k.Host.With(limits)
	return k
}

// ReadTargets reads what serves remote drives, by name; nothing of nil.
func (r HostReader) ReadTargets(n *yaml.Node) {
	if n == nil {
		return
	}
	r.Named(n, "targets", func(name string, n *yaml.Node) {
		t := &Target{Name: name}
		r.Mapping(n, "target "+name, targetKeys.Readers(r.Reader, "target "+name, t))
		r.Targets[name] = t
	})
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
	all := driveKeys.Readers(r.Reader, of, &d)
	all["drive"] = func(*yaml.Node) {}
	all["target"] = func(n *yaml.Node) {
		if d.Target = r.Targets[n.Value]; d.Target == nil {
			r.Problem(n, fmt.Sprintf("%s: there is no target %q", of, n.Value), "add it to targets")
		}
	}
	r.Mapping(n, of, all)
	return d
}
