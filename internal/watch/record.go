package watch

import (
	"cmp"
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/observe"
	"plimsoll/internal/recording"
	"plimsoll/internal/result"
)

// How often a Recorder looks for what came and went.
const (
	lookEvery   = 10 * time.Second
	limitsEvery = time.Minute
)

// mostCopies is how many containers run under one name: those beyond are added to the last.
const mostCopies = 1000

// Recorder records what a host does, for days. It reads less than a Watcher: no percentiles of latencies, and engines
// are asked only of containers that are new. Called serially.
type Recorder struct {
	options  Options
	interval time.Duration
	engines  engines
	header   recording.Header

	unified bool // I/O of groups is counted by device, as version 2 does
	blocks  blocks
	lost    uint64 // of blocks

	host    *observe.Meter
	drives  map[string]*recordedDrive // by MAJ:MIN
	groups  map[string]*recordedGroup // by path
	names   map[string]asked          // of containers, by ID
	answers chan map[string]asked     // of engines that are being asked; nil for none

	servers []*server

	looked, limited time.Time
	last            time.Time // of the row before
}

type recordedDrive struct {
	device result.Device
	meter  *observe.Meter
}

type recordedGroup struct {
	thing recording.Thing
	meter *observe.Meter
	group *cgroup.Group        // nil if its I/O is not counted
	io    map[string]cgroup.IO // of the row before
}

// NewRecorder returns a recorder of this host. The error says why nothing can be recorded.
func NewRecorder(o Options, interval time.Duration) (*Recorder, error) {
	w, err := New(o)
	if err != nil {
		return nil, err
	}
	return newRecorder(w, interval)
}

// newRecorder returns a recorder of what a watcher would look at. It begins to ask engines.
func newRecorder(w *Watcher, interval time.Duration) (*Recorder, error) {
	o := w.options
	controllers, _ := os.ReadFile(o.Roots.InSys("fs/cgroup/cgroup.controllers")) // version 1 has none
	r := &Recorder{options: o, interval: interval, engines: w.engines, names: map[string]asked{},
		drives: map[string]*recordedDrive{}, groups: map[string]*recordedGroup{},
		unified: slices.Contains(strings.Fields(string(controllers)), "io")}
	r.header = recording.Header{Host: describeHost(o.Roots), Interval: interval.Seconds(), Source: "plimsoll watch"}
	if err := r.look(); err != nil {
		return nil, err
	}
	if !r.unified {
		r.follow()
		if r.blocks.recorder == nil {
			r.header.UsesUnknown = true
			r.header.Unknown = append(r.header.Unknown, "reads and writes of containers: cgroups of version 1 do not count "+
				"them, and "+r.blocks.why)
		}
	}
	r.host = observe.OpenMeter(observe.Subject{Host: true}, o.Roots)
	r.servers = openServers(o)
	r.last = time.Now()
	return r, nil
}

// describeHost returns what is known of the host.
func describeHost(roots hostfs.Roots) recording.Host {
	h := hostinfo.New()
	h.Roots = roots
	capacity := h.Capacity()
	name, _ := os.Hostname()                                       // "" names no host
	kernel, _ := os.ReadFile(roots.InProc("sys/kernel/osrelease")) // likewise
	return recording.Host{Name: name, Kernel: strings.TrimSpace(string(kernel)), CPUs: capacity.CPUs,
		MemoryBytes: float64(capacity.MemoryBytes)}
}

// Header returns the header of the recording.
func (r *Recorder) Header() recording.Header { return r.header }

// Close closes what the recorder reads.
func (r *Recorder) Close() {
	for _, s := range r.servers {
		s.close()
	}
	r.blocks.close()
	r.host.Close()
	for _, d := range r.drives {
		d.meter.Close()
	}
	for _, g := range r.groups {
		g.meter.Close()
	}
}

// Run calls write with each interval, until ctx ends. An interval that begins late is as much longer.
func (r *Recorder) Run(ctx context.Context, write func(recording.Row)) error {
	next := r.last.Add(r.interval)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		write(r.Row())
		if time.Since(r.looked) >= lookEvery {
			if err := r.look(); err != nil {
				return err
			}
		}
		for next = next.Add(r.interval); time.Until(next) <= 0; {
			next = next.Add(r.interval) // a host that was suspended misses intervals
		}
		timer.Reset(time.Until(next))
	}
}

// Row returns the interval since the last call.
func (r *Recorder) Row() recording.Row {
	now := time.Now()
	row := recording.Row{Time: now.UTC().Round(0), Seconds: now.Sub(r.last).Seconds()}
	r.last = now
	row.Amounts = append(row.Amounts, recording.Amounts{Thing: recording.Thing{Kind: recording.OfHost},
		Values: amounts(r.host, hostAmounts)})
	for _, number := range slices.Sorted(maps.Keys(r.drives)) {
		d := r.drives[number]
		row.Amounts = append(row.Amounts, recording.Amounts{
			Thing: recording.Thing{Kind: recording.OfDrive, Name: d.device.Name}, Values: amounts(d.meter, driveAmounts)})
	}
	uses := r.uses()
	for _, path := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[path]
		values := amounts(g.meter, containerAmounts)
		if math.IsNaN(values[0]) {
			continue // it ended
		}
		row.Amounts = append(row.Amounts, recording.Amounts{Thing: g.thing, Values: values})
		for _, number := range slices.Sorted(maps.Keys(uses[path])) {
			use := uses[path][number]
			drive := r.drives[number]
			if drive == nil || use == (cgroup.IO{}) {
				continue
			}
			row.Amounts = append(row.Amounts, recording.Amounts{
				Thing: recording.Thing{Kind: recording.OfUse, Name: g.thing.Name, Copy: g.thing.Copy, Drive: drive.device.Name},
				Values: []float64{float64(use.Reads), float64(use.Writes), float64(use.ReadBytes),
					float64(use.WrittenBytes)}})
		}
	}
	row.Amounts = append(row.Amounts, served(r.servers, r.interval, row.Seconds)...)
	return row
}

// amountOf is an amount of a row, as the sum of metrics of a meter times factor.
type amountOf struct {
	metric  recording.Metric
	sources []string
	factor  float64
}

var (
	hostAmounts = []amountOf{
		{recording.CPU, []string{"cpu.user", "cpu.system"}, 1e6},
		{recording.Steal, []string{"cpu.steal"}, 1e6},
		{recording.Available, []string{"memory.available"}, 1. / 1024},
		{recording.Cache, []string{"memory.file"}, 1. / 1024},
		{recording.CPUPressure, []string{"pressure.cpu.some"}, 1e6},
		{recording.MemoryPressure, []string{"pressure.memory.some"}, 1e6},
		{recording.IOPressure, []string{"pressure.io.some"}, 1e6},
	}
	driveAmounts = []amountOf{
		{recording.Reads, []string{"io.reads"}, 1},
		{recording.Writes, []string{"io.writes"}, 1},
		{recording.ReadBytes, []string{"io.read_bytes"}, 1},
		{recording.WriteBytes, []string{"io.write_bytes"}, 1},
		{recording.RequestTime, []string{"io.queue"}, 1e6},
		{recording.Busy, []string{"io.utilisation"}, 1e6},
	}
	containerAmounts = []amountOf{
		{recording.CPU, []string{"cpu.user", "cpu.system"}, 1e6},
		{recording.Throttled, []string{"cpu.throttled"}, 1e6},
		{recording.Anonymous, []string{"memory.anonymous"}, 1. / 1024},
		{recording.SharedMemory, []string{"memory.shared"}, 1. / 1024},
		{recording.Cache, []string{"memory.file"}, 1. / 1024},
		{recording.ActiveFile, []string{"memory.active"}, 1. / 1024},
		{recording.MajorFaults, []string{"memory.major_faults"}, 1},
		{recording.Refaults, []string{"memory.refaults"}, 1},
		{recording.CPUPressure, []string{"pressure.cpu.some"}, 1e6},
		{recording.MemoryPressure, []string{"pressure.memory.some"}, 1e6},
		{recording.IOPressure, []string{"pressure.io.some"}, 1e6},
	}
)

// amounts reads a meter.
func amounts(meter *observe.Meter, wanted []amountOf) []float64 {
	values := make([]float64, len(wanted))
	meter.Read(func(got observe.Reading) {
		for i, a := range wanted {
			if !slices.Contains(a.sources, got.Metric) {
				continue
			}
			v := got.Value * a.factor
			if !a.metric.Levels() {
				v *= got.Seconds
			}
			values[i] += v
		}
	})
	return values
}

// uses returns what groups did on devices since the last call, by path and MAJ:MIN.
func (r *Recorder) uses() map[string]map[string]cgroup.IO {
	uses := map[string]map[string]cgroup.IO{}
	if !r.unified {
		return r.followed(uses)
	}
	for path, g := range r.groups {
		if g.group == nil {
			continue
		}
		now, err := g.group.Devices()
		if err != nil {
			continue // it ended
		}
		uses[path] = map[string]cgroup.IO{}
		for device, io := range now {
			early := g.io[device] // a device that is new to the group begins at 0
			if g.io == nil || io.Reads < early.Reads || io.Writes < early.Writes {
				continue
			}
			uses[path][device] = cgroup.IO{Reads: io.Reads - early.Reads, Writes: io.Writes - early.Writes,
				ReadBytes:    io.ReadBytes - min(early.ReadBytes, io.ReadBytes),
				WrittenBytes: io.WrittenBytes - min(early.WrittenBytes, io.WrittenBytes)}
		}
		g.io = now
	}
	return uses
}

// follow makes block requests of the drives be followed, where cgroups do not count them.
func (r *Recorder) follow() {
	if r.options.NoLatency {
		r.blocks.why = "block requests are not followed: see --follow"
		return
	}
	devices := slices.Sorted(maps.Keys(r.drives))
	r.blocks.follow(devices[:min(len(devices), mostTraced)], r.lost)
}

// followed adds requests that were followed to uses.
func (r *Recorder) followed(uses map[string]map[string]cgroup.IO) map[string]map[string]cgroup.IO {
	done, _, _, lost := r.blocks.since()
	r.lost = lost
	numbers := map[string]string{}
	for number, d := range r.drives {
		numbers[d.device.Name] = number
	}
	for key, s := range done {
		path := r.enclosing(key.path)
		number := numbers[key.device]
		if path == "" || number == "" {
			continue
		}
		if uses[path] == nil {
			uses[path] = map[string]cgroup.IO{}
		}
		io := uses[path][number]
		if key.write {
			io.Writes, io.WrittenBytes = io.Writes+s.requests, io.WrittenBytes+s.bytes
		} else {
			io.Reads, io.ReadBytes = io.Reads+s.requests, io.ReadBytes+s.bytes
		}
		uses[path][number] = io
	}
	return uses
}

// above returns the path of the recorded group that a path is in; "" for none.
func (r *Recorder) enclosing(groupPath string) string {
	for groupPath != "" && groupPath != "/" {
		if r.groups[groupPath] != nil {
			return groupPath
		}
		groupPath = groupPath[:max(0, strings.LastIndexByte(groupPath, '/'))]
	}
	return ""
}

// look looks for drives and groups that came and went.
func (r *Recorder) look() error {
	r.looked = time.Now()
	devices, err := findDevices(r.options.Roots)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, d := range devices {
		found[d.MajMin] = true
		if known := r.drives[d.MajMin]; known == nil || known.device.Name != d.Name {
			r.drives[d.MajMin] = &recordedDrive{d, observe.OpenMeter(observe.Subject{Devices: []result.Device{d}},
				r.options.Roots)}
		}
	}
	for number, d := range r.drives {
		if !found[number] {
			d.meter.Close()
			delete(r.drives, number)
		}
	}
	if r.blocks.recorder != nil {
		r.follow()
	}
	if err := r.lookForGroups(); err != nil {
		return err
	}
	if time.Since(r.limited) >= limitsEvery {
		r.limited = time.Now()
		r.readLimits()
	}
	return nil
}

// lookForGroups looks for groups that came and went. A container is recorded once its engine has named it.
func (r *Recorder) lookForGroups() error {
	select {
	case got := <-r.answers:
		maps.Copy(r.names, got)
		r.answers = nil
	default:
	}
	known := r.engines.readContainerd()
	groups, _, err := findGroups(r.options.Roots, known.groups)
	if err != nil {
		return err
	}
	var outer []Group
	found := map[string]bool{}
	enclosing := ""
	for _, g := range groups { // by path: a group before those below it
		if g.Kind != Slice && (enclosing == "" || !strings.HasPrefix(g.Path, enclosing+"/")) {
			enclosing = g.Path
			found[g.Path] = true
			outer = append(outer, g)
		}
	}
	for path, g := range r.groups { // first, so that the next of their name takes their number
		if !found[path] {
			g.meter.Close()
			delete(r.groups, path)
		}
	}
	unnamed := false
	for _, g := range outer {
		name, named := r.names[g.ID]
		switch {
		case r.groups[g.Path] != nil:
		case g.Kind == Container && !named:
			unnamed = true
		default:
			r.record(g, name)
		}
	}
	if unnamed && r.answers == nil {
		r.ask(groups, known)
	}
	return nil
}

// ask asks engines about containers, and remembers those that no engine knows by their ID.
func (r *Recorder) ask(groups []Group, known answers) {
	var containers []Group
	for _, g := range groups {
		if _, named := r.names[g.ID]; g.Kind == Container && !named {
			containers = append(containers, g)
		}
	}
	answer := make(chan map[string]asked, 1)
	r.answers = answer
	r.looked = time.Time{} // so that the answer is taken after the next interval
	go func() {
		got := r.engines.ask(context.Background(), known) // bounded by engines.longest
		for _, g := range containers {
			if _, named := got.containers[g.ID]; !named {
				got.containers[g.ID] = asked{Engine: g.Engine, Name: g.Name}
			}
		}
		answer <- got.containers
	}()
}

// record begins to record a group.
func (r *Recorder) record(g Group, name asked) {
	thing := recording.Thing{Kind: recording.OfContainer, Name: g.Name, Manager: cmp.Or(name.Engine, g.Engine)}
	switch {
	case g.Kind == Container && name.Service != "":
		thing.Name, thing.Manager = name.Service, name.Manager
	case g.Kind == Container:
		thing.Name = cmp.Or(name.Name, g.Name)
	case g.Kind == Service || g.Kind == Scope:
		thing.Name = unitName(g.Path)
	}
	used := map[int]bool{}
	for _, other := range r.groups {
		if other.thing.Name == thing.Name {
			used[other.thing.Copy] = true
		}
	}
	for thing.Copy = 1; used[thing.Copy] && thing.Copy < mostCopies; {
		thing.Copy++
	}
	location, err := observe.GroupAt(r.options.Roots, g.Path)
	if err != nil {
		return // it ended
	}
	subject := observe.Subject{NoGroupIO: true, Instances: []observe.Instance{{Group: location, Devices: []string{}}}}
	recorded := &recordedGroup{thing: thing, meter: observe.OpenMeter(subject, r.options.Roots)}
	if r.unified {
		group, err := cgroup.At(r.options.Roots, g.Path)
		if err == nil {
			recorded.io, err = group.Devices()
		}
		if err == nil {
			recorded.group = group
		} else {
			recorded.thing.IOUnknown = true
		}
	}
	r.groups[g.Path] = recorded
}

// readLimits reads the limits in force of all groups.
func (r *Recorder) readLimits() {
	k := &kernel{roots: r.options.Roots, read: map[string]*inForce{}}
	for path, g := range r.groups {
		var limits []recording.Limit
		for _, l := range k.limits(path, nil) {
			if !(l.Held > 0) {
				continue
			}
			drive := ""
			if d := r.drives[l.Device]; d != nil {
				drive = d.device.Name
			} else if l.Device != "" {
				continue
			}
			limits = append(limits, recording.Limit{Of: l.Of, Drive: drive, Value: l.Held})
		}
		g.thing.Limits = limits
	}
}
