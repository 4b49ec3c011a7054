package drive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/observe/interference"
	"plimsoll/internal/result"
	"plimsoll/internal/state/activeruns"
	"plimsoll/internal/trial/site"
)

// neighbours watches what others do while trials run. What it cannot find out
// is left out of the results, and ends no trial.
type neighbours struct {
	tally *capture.Tally // of the whole run; nil where the host cannot count
	tried bool           // to start it
}

// mostNames is how many of those who use a disk are named.
const mostNames = 3

func (n *neighbours) close() {
	if n.tally != nil {
		_ = n.tally.Close() // the kernel takes it back in any case
		n.tally = nil
	}
}

// look is a look at what others do while a workload runs.
type look struct {
	driver *Driver
	site   *site.Site
	disks  []disk
	before moment
	after  moment
	rows   []capture.Demand // who asked for what in between
	whole  bool             // and nothing is missing in them
	owners owners
	runs   []string // of plimsoll, that were under way at the start or at the end
}

// disk is one that a stack stands on.
type disk struct {
	blockdev.Disk
	tallied bool
}

// moment has the host's counters at a moment.
type moment struct {
	time     time.Time
	disks    []counted
	cpu      interference.HostCPU
	ownCPU   time.Duration // processor time of the site and this process until then
	cpuErr   error         // why cpu and ownCPU are not known
	children unix.Rusage   // of this process
}

// counted has the counters of a disk, and of the devices stacked on that disk, at a moment.
type counted struct {
	disk, stacked blockdev.Counters
	err           error
}

// lookAround begins to watch what others do on the disks of a site, and with
// the host's processors. It is the last thing before the workload starts.
func (r *Driver) lookAround(s *site.Site) *look {
	l := &look{driver: r, site: s}
	for _, d := range s.Disks() {
		l.disks = append(l.disks, disk{d, r.watched(d)})
	}
	if t := r.neighbours.tally; t != nil && t.Reset() != nil {
		for i := range l.disks {
			l.disks[i].tallied = false
		}
	}
	l.seeRuns()
	l.before = l.now()
	return l
}

// watched has what a disk is asked be counted by who asks, and reports whether
// it is.
func (r *Driver) watched(d blockdev.Disk) bool {
	n := &r.neighbours
	if !n.tried {
		n.tried = true
		n.tally, _ = capture.StartTally() // without it, the disk's counters tell less
	}
	if n.tally == nil {
		return false
	}
	name, err := n.tally.Watch(d.MajMin)
	return err == nil && name == d.Name
}

func (l *look) now() moment {
	m := moment{time: time.Now()}
	for _, d := range l.disks {
		var c counted
		if c.disk, c.err = blockdev.ReadCounters(l.driver.sites.Host.Roots, []result.Device{d.Device}); c.err == nil {
			c.stacked, c.err = blockdev.ReadCounters(l.driver.sites.Host.Roots, d.Above)
		}
		m.disks = append(m.disks, c)
	}
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &m.children) // fails for no valid argument
	if m.ownCPU, m.cpuErr = ownTime(l.site, m.children); m.cpuErr == nil {
		m.cpu, m.cpuErr = interference.ReadHostCPU(l.driver.sites.Host.Roots.Proc)
	}
	return m
}

// ownTime returns the processor time that a site's groups and this process have used.
func ownTime(s *site.Site, children unix.Rusage) (time.Duration, error) {
	var self unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self)
	groups, groupErr := s.Groups()
	if groupErr != nil {
		return processorTime(self) + processorTime(children), nil
	}
	sum := processorTime(self)
	for _, group := range groups {
		used, err := group.CPU()
		if err != nil {
			return sum, err
		}
		sum += used
	}
	return sum, nil
}

func processorTime(u unix.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// end ends the look, right after the workload ended.
func (l *look) end() {
	l.after = l.now()
	if t := l.driver.neighbours.tally; t != nil {
		rows, uncounted, err := t.Read()
		l.rows, l.whole = rows, err == nil && uncounted == 0
	}
	l.owners = l.ours()
	l.seeRuns()
}

// seeRuns notes which other runs are under way.
func (l *look) seeRuns() {
	for _, other := range activeruns.Others(l.driver.sites.Env.RunID) {
		if !slices.Contains(l.runs, other.ID) {
			l.runs = append(l.runs, other.ID)
		}
	}
}

// tell tells what others did. m is what the workload says of itself.
func (l *look) tell(m measured) *result.Neighbours {
	out := &result.Neighbours{CPU: l.processors(), Runs: l.runs}
	asked := l.askedFor(m)
	for i, d := range l.disks {
		before, after := l.before.disks[i], l.after.disks[i]
		if before.err != nil || after.err != nil {
			continue
		}
		disk := after.disk.Since(before.disk)
		use := interference.DiskUse{
			Disk: d.Disk, Seconds: l.seconds(), Counted: ios(disk), Flushes: disk[0].Flushes,
			Above: ios(after.stacked.Since(before.stacked)), Asked: asked,
		}
		if use.Tallied = d.tallied && l.whole; use.Tallied {
			l.owners.sort(l.rows, &use)
		}
		if share, ok := use.Share(); ok {
			out.Disks = append(out.Disks, share)
		}
	}
	return out
}

func (l *look) seconds() float64 { return l.after.time.Sub(l.before.time).Seconds() }

func (l *look) processors() *result.CPUShare {
	if l.before.cpuErr != nil || l.after.cpuErr != nil {
		return nil
	}
	did := l.after.cpu.Since(l.before.cpu)
	c := &result.CPUShare{
		CPUs: did.CPUs, Seconds: l.seconds(), BusySeconds: did.BusySeconds, StealSeconds: did.StealSeconds,
		OwnSeconds:    (l.after.ownCPU - l.before.ownCPU).Seconds(),
		KernelSeconds: did.KernelThreadSeconds + did.InterruptSeconds,
	}
	c.OthersSeconds = max(0, c.BusySeconds-c.OwnSeconds-c.KernelSeconds)
	return c
}

// askedFor returns an upper bound of the I/Os of the workload's processes: on the host by the kernel's account, in a
// container by the workload's own.
func (l *look) askedFor(m measured) result.IOCount {
	whole := func(n uint64) uint64 {
		if m.share <= 0 {
			return n
		}
		return uint64(float64(n) / m.share)
	}
	asked := result.IOCount{
		Reads: whole(m.reported.Operation(result.Read).Count), ReadBytes: whole(m.reported.Operation(result.Read).Bytes),
		Writes: whole(m.reported.Operation(result.Write).Count), WriteBytes: whole(m.reported.Operation(result.Write).Bytes),
	}
	if !l.site.Contained() {
		const block = 512 // what getrusage counts in
		asked.ReadBytes = uint64(l.after.children.Inblock-l.before.children.Inblock) * block
		asked.WriteBytes = uint64(l.after.children.Oublock-l.before.children.Oublock) * block
	}
	const page = 4096 // no late write is less
	asked.Writes = max(asked.Writes, asked.WriteBytes/page)
	return asked
}

// ios are the I/Os that devices counted, together.
func ios(c blockdev.Counters) (sum result.IOCount) {
	for _, d := range c {
		sum = sum.Add(result.IOCount{Reads: d.Reads, Writes: d.Writes, ReadBytes: d.ReadBytes, WriteBytes: d.WriteBytes})
	}
	return sum
}

// owners has the IDs of control groups by owner.
type owners struct {
	ownGroups []uint64 // the site's
	ancestors []uint64 // groups that hold the site's: their I/O may be the site's too
}

func (l *look) ours() owners {
	var o owners
	groups, groupErr := l.site.Groups()
	if groupErr != nil {
		return o
	}
	for _, group := range groups {
		ids, _ := group.IDs() // a group that ended meanwhile did too little to matter
		o.ownGroups, o.ancestors = append(o.ownGroups, ids...), append(o.ancestors, group.Above()...)
	}
	return o
}

// sort adds the requests to a disk to its use, by who made them.
func (o owners) sort(rows []capture.Demand, use *interference.DiskUse) {
	type neighbour struct {
		name  string
		bytes uint64
	}
	var neighbours []neighbour
	for _, a := range rows {
		if a.Device != use.Disk.Name {
			continue
		}
		did := result.IOCount{Reads: a.Reads, Writes: a.Writes, ReadBytes: a.ReadBytes, WriteBytes: a.WriteBytes}
		switch {
		case a.Kind == capture.BySelf || slices.Contains(o.ownGroups, a.Cgroup):
			use.Own = use.Own.Add(did)
		case a.Kind == capture.ByKernel && (a.Cgroup == 0 || slices.Contains(o.ancestors, a.Cgroup)):
			use.Kernel = use.Kernel.Add(did)
		default:
			use.Others = use.Others.Add(did)
			neighbours = append(neighbours, neighbour{nameOf(a), did.Bytes()})
		}
	}
	slices.SortStableFunc(neighbours, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name))
	})
	for _, w := range neighbours {
		if w.name != "" && !slices.Contains(use.Names, w.name) && len(use.Names) < mostNames {
			use.Names = append(use.Names, w.name)
		}
	}
}

// nameOf names one of those who use a disk.
func nameOf(a capture.Demand) string {
	switch {
	case a.Container != "":
		return "container " + a.Container
	case a.Kind == capture.ByKernel:
		return strings.TrimPrefix(a.Path, "/")
	case a.Path == "" || a.Path == "/":
		return a.Command
	}
	return a.Command + " in " + a.Path
}
