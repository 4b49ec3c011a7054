// Package watch sees who does what on a host now: containers of Docker, containerd and podman, units of systemd and
// other control groups; what they do on each drive and how long that takes, what they wait for, which limits the kernel
// holds for them beside those that their engines were asked for; and who disturbs whom. No trial runs.
//
// Metrics of groups, devices and the host are those of trials, by package observe. Block requests are followed by the
// programs that follow them in trials, by package iotrace/capture.
//
// Hazards. Names of containers, labels, units and groups are untrusted. Documents have them as they are, and programs
// that print them escape them. An engine may hang or lie: it is asked with a bound on time and size, and what it says
// changes nothing but names and limits that were asked for. A group may end between two reads: what it lacks then is
// left out. Nothing of the host is changed.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/model"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
)

// Options are what is watched, and how.
type Options struct {
	Roots   hostfs.Roots
	Sockets []string // of engines with the Docker API; nil for where Docker and podman usually listen
	// NoLatency leaves out following block requests, which costs each of them some processor time.
	NoLatency bool
	// Servers are those whose counters a Recorder reads. It calls Warn, concurrently, if one goes away or comes back.
	Servers []Server
	Warn    func(text string)

	Model *model.Model    // nil for no predictions
	Host  *model.HostKind // that the model is asked about; nil for the one that its classes were measured on
}

// Watcher watches a host from interval to interval. Called serially: an interval ends before the next begins.
type Watcher struct {
	options Options
	engines engines
	blocks  blocks
	history history
	lost    uint64
	kernel  *kernel // of the interval
}

// New returns a Watcher of this host. The error says why nothing can be watched.
func New(o Options) (*Watcher, error) {
	if o.Roots == (hostfs.Roots{}) {
		o.Roots = hostfs.Default()
	}
	if _, err := cgroup.Trees(o.Roots); err != nil {
		return nil, fmt.Errorf("the cgroups of this host: %w", err)
	}
	w := &Watcher{options: o, engines: defaultEngines(o.Roots), history: history{}}
	if o.Sockets != nil {
		w.engines.sockets = o.Sockets
	}
	return w, nil
}

// Close ends following block requests.
func (w *Watcher) Close() { w.blocks.close() }

// noLatencies begins the reason why latencies are not known.
const noLatencies = "latencies, and the I/O of processes in no group: "

// Look watches for an interval and returns a document of it. Look ends early, with the context's error, when the
// context ends.
func (w *Watcher) Look(ctx context.Context, interval time.Duration) (*Document, error) {
	var unknown []string
	devices, err := findDevices(w.options.Roots)
	if err != nil {
		return nil, err
	}
	follow := make([]string, 0, mostTraced)
	for _, d := range devices[:min(len(devices), mostTraced)] {
		follow = append(follow, d.MajMin)
	}
	if len(devices) > mostTraced {
		unknown = append(unknown, fmt.Sprintf("latencies on all but the %d devices with most I/O", mostTraced))
	}
	slices.Sort(follow)
	if w.options.NoLatency {
		w.blocks.why = "it was not asked for"
	} else {
		w.blocks.follow(follow, w.lost)
	}
	known := w.engines.readContainerd()
	groups, missingGroups, err := findGroups(w.options.Roots, known.groups)
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, missingGroups...)

	answer := make(chan answers, 1)
	go func() { answer <- w.engines.ask(ctx, known) }() // while the interval passes
	before := w.usages(groups)
	recorder, err := observe.Start(w.subject(groups, devices), w.options.Roots, interval)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		recorder.Stop()
		return nil, ctx.Err()
	case <-time.After(interval):
	}
	series := recorder.Stop()
	seconds := time.Since(began).Seconds()
	done, traced, missing, lost := w.blocks.since()
	w.lost = lost
	unknown = append(unknown, missing...)
	if w.blocks.why != "" {
		unknown = append(unknown, noLatencies+w.blocks.why)
	}
	document := &Document{Time: time.Now().UTC().Round(0), Seconds: seconds, Host: Values{}, Groups: groups}
	document.take(series, devices)
	w.read(document, devices, before, done != nil)
	document.Groups = charge(document.Groups, done, traced)
	engineAnswers := <-answer
	unknown = append(unknown, engineAnswers.unknown...)
	unknown = append(unknown, w.compare(ctx, document, engineAnswers)...)
	slices.SortStableFunc(document.Groups, func(a, b Group) int { return strings.Compare(a.Path, b.Path) })
	document.Findings = append([]Finding{}, w.history.find(document)...)
	if w.options.Model != nil {
		document.Classes = predict(w.options.Model, w.options.Host, document.Groups)
	}
	document.Unknown = unknown
	return document, ctx.Err()
}

// findDevices returns the whole devices of the host that had any I/O, those with most first.
func findDevices(roots hostfs.Roots) (devices []result.Device, err error) {
	entries, err := os.ReadDir(roots.InSys("block"))
	if err != nil {
		return nil, fmt.Errorf("the block devices of this host: %w", err)
	}
	ios := map[string]uint64{}
	for _, e := range entries {
		number, err := os.ReadFile(roots.InSys("block", e.Name(), "dev"))
		if err != nil {
			continue // it was taken away
		}
		size, err := os.ReadFile(roots.InSys("block", e.Name(), "size"))
		if err != nil || strings.TrimSpace(string(size)) == "0" {
			continue // a loop device without a file
		}
		d := result.Device{Name: e.Name(), MajMin: strings.TrimSpace(string(number))}
		counters, err := blockdev.ReadCounters(roots, []result.Device{d})
		if err != nil {
			continue // likewise
		}
		if n := counters[0]; n.Reads+n.Writes > 0 {
			ios[d.Name] = n.Reads + n.Writes
			devices = append(devices, d)
		}
	}
	slices.SortStableFunc(devices, func(a, b result.Device) int { return cmp.Compare(ios[b.Name], ios[a.Name]) })
	return devices, nil
}

// subject is what is sampled: each group by its number.
func (w *Watcher) subject(groups []Group, devices []result.Device) observe.Subject {
	s := observe.Subject{Devices: devices, Host: true}
	for i, g := range groups {
		at, err := observe.GroupAt(w.options.Roots, g.Path)
		if err == nil { // else it ended
			s.Instances = append(s.Instances, observe.Instance{Index: i, Group: at, Devices: []string{}})
		}
	}
	return s
}

// take takes the values of series into the document.
func (d *Document) take(series []result.Series, devices []result.Device) {
	bySource := map[string]Values{observe.HostSource: d.Host}
	for _, device := range devices {
		values := Values{}
		d.Devices = append(d.Devices, Device{Name: device.Name, MajMin: device.MajMin, Values: values})
		bySource[observe.DeviceSource(device)] = values
	}
	for _, s := range series {
		to := bySource[s.Source]
		if s.Instance != result.NoInstance {
			g := &d.Groups[s.Instance]
			if g.Values == nil {
				g.Values = Values{}
			}
			to = g.Values
		}
		if to != nil && len(s.Values) > 0 && !math.IsNaN(s.Values[0]) && !math.IsInf(s.Values[0], 0) {
			to[s.Metric] = s.Values[0]
		}
	}
}

// usages returns what groups did on devices so far, by path.
func (w *Watcher) usages(groups []Group) map[string]map[string]cgroup.IO {
	usages := map[string]map[string]cgroup.IO{}
	for _, g := range groups {
		group, err := cgroup.At(w.options.Roots, g.Path)
		if err != nil {
			continue // it ended
		}
		used, _ := group.Usage() // what cannot be read is not in it
		usages[g.Path] = used.Devices
	}
	return usages
}

// read reads memory and limits of the document's groups, and drops those that ended.
func (w *Watcher) read(d *Document, devices []result.Device, before map[string]map[string]cgroup.IO, followed bool) {
	names := map[string]string{}
	for _, one := range devices {
		names[one.MajMin] = one.Name
	}
	k := &kernel{roots: w.options.Roots, read: map[string]*inForce{}}
	d.Groups = slices.DeleteFunc(d.Groups, func(g Group) bool { return k.holds(g.Path) == nil })
	for i := range d.Groups {
		g := &d.Groups[i]
		f := k.holds(g.Path)
		if m := f.usage.Memory; m != nil {
			held := m.AnonymousBytes + m.SharedBytes + m.KernelBytes
			g.Memory = &Memory{Bytes: m.Bytes, Held: held, Cache: max(0, m.CacheBytes-m.SharedBytes),
				Enough: held + m.ActiveFileBytes, AtLimit: m.AtLimit, OOMKills: m.OOMKills}
		}
		if followed { // stacked devices would be counted twice
			maps.DeleteFunc(g.Values, func(name string, _ float64) bool { return strings.HasPrefix(name, "io.") })
		} else {
			counted(g, before[g.Path], f.usage.Devices, names, d.Seconds)
		}
	}
	w.kernel = k
}

// compare names groups as their engines do, and sets their limits: in force, and asked for.
func (w *Watcher) compare(ctx context.Context, document *Document, answered answers) (unknown []string) {
	var units []string
	for _, g := range document.Groups {
		if g.Engine == "systemd" {
			units = append(units, filepath.Base(g.Path))
		}
	}
	properties, err := w.engines.askSystemd(ctx, units)
	if err != nil && !errors.Is(err, ctx.Err()) {
		unknown = append(unknown, fmt.Sprintf("limits that systemd was asked for: %v", err))
	}
	names := map[string]string{}
	for _, device := range document.Devices {
		names[device.MajMin] = device.Name
	}
	for i := range document.Groups {
		g := &document.Groups[i]
		requested, known := answered.containers[g.ID]
		if g.Engine == "systemd" {
			requested, known = properties[g.Path]
		}
		if known {
			g.Engine, g.Class = requested.Engine, requested.Class
			if requested.Name != "" {
				g.Name = requested.Name
			}
		}
		if g.Kind == Process {
			continue
		}
		g.Limits = w.kernel.limits(g.Path, requested.Limits)
		for j := range g.Limits {
			l := &g.Limits[j]
			if name := names[l.Device]; name != "" {
				l.Device = name
			}
			l.Used = g.used(l.Of, l.Device)
		}
	}
	return unknown
}

// used returns how much of a limit's resource a group used in the interval; 0 if that is not known.
func (g *Group) used(resource, device string) float64 {
	switch resource {
	case keyCPUs:
		return g.Values["cpu.user"] + g.Values["cpu.system"]
	case keyMemory:
		if g.Memory == nil {
			return 0
		}
		return float64(g.Memory.Bytes)
	}
	i := slices.IndexFunc(g.Drives, func(u Use) bool { return u.Device == device })
	if i < 0 {
		return 0
	}
	u := g.Drives[i]
	switch resource {
	case keyReadIOPS:
		return u.Read.PerSecond
	case keyWriteIOPS:
		return u.Write.PerSecond
	case keyReadBandwidth:
		return u.Read.BytesPerSecond
	}
	return u.Write.BytesPerSecond
}
