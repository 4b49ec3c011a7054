package trial

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
	runner *runner
	site   *site
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
	at       time.Time
	disks    []counted
	cpu      interference.HostCPU
	own      time.Duration // processor time that was ours until then
	cpuErr   error         // why the two above are not known
	children unix.Rusage   // of this process
}

// counted has the counters of a disk and of the devices on it at a moment.
type counted struct {
	disk, above blockdev.Counters
	err         error
}

// lookAround begins to watch what others do on the disks of a site, and with
// the host's processors. It is the last thing before the workload starts.
func (r *runner) lookAround(s *site) *look {
	l := &look{runner: r, site: s}
	for _, d := range s.disks() {
		l.disks = append(l.disks, disk{d, r.watched(d)})
	}
	if t := r.others.tally; t != nil && t.Reset() != nil {
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
func (r *runner) watched(d blockdev.Disk) bool {
	n := &r.others
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
	m := moment{at: time.Now()}
	for _, d := range l.disks {
		var c counted
		if c.disk, c.err = blockdev.ReadCounters(l.runner.host.Roots, []result.Device{d.Device}); c.err == nil {
			c.above, c.err = blockdev.ReadCounters(l.runner.host.Roots, d.Above)
		}
		m.disks = append(m.disks, c)
	}
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &m.children) // fails for no valid argument
	if m.own, m.cpuErr = ownTime(l.site, m.children); m.cpuErr == nil {
		m.cpu, m.cpuErr = interference.ReadHostCPU(l.runner.host.Roots.Proc)
	}
	return m
}

// disks are those that hold the site's bytes, each once.
func (s *site) disks() (all []blockdev.Disk) {
	for _, b := range s.bases {
		disks := b.Disks
		if b.of == 1 && len(b.places) == 1 {
			disks = b.places[0].Disks
		}
		for _, d := range disks {
			at := slices.IndexFunc(all, func(o blockdev.Disk) bool { return o.MajMin == d.MajMin })
			if at < 0 {
				all = append(all, d)
				continue
			}
			all[at].Alone = all[at].Alone || d.Alone
			all[at].Above = append(slices.Clone(all[at].Above), d.Above...)
		}
	}
	return all
}

// ownTime is the processor time that all who work for a site have used, and
// this process.
func ownTime(s *site, children unix.Rusage) (time.Duration, error) {
	var self unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self)
	groups, none := s.groups()
	if none != nil {
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
	if t := l.runner.others.tally; t != nil {
		rows, uncounted, err := t.Read()
		l.rows, l.whole = rows, err == nil && uncounted == 0
	}
	l.owners = l.ours()
	l.seeRuns()
}

// seeRuns notes which other runs are under way.
func (l *look) seeRuns() {
	for _, other := range activeruns.Others(l.runner.store.Run().ID) {
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
			Above: ios(after.above.Since(before.above)), Asked: asked,
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

func (l *look) seconds() float64 { return l.after.at.Sub(l.before.at).Seconds() }

func (l *look) processors() *result.CPUShare {
	if l.before.cpuErr != nil || l.after.cpuErr != nil {
		return nil
	}
	did := l.after.cpu.Since(l.before.cpu)
	c := &result.CPUShare{
		CPUs: did.CPUs, Seconds: l.seconds(), BusySeconds: did.BusySeconds, StealSeconds: did.StealSeconds,
		OwnSeconds: (l.after.own - l.before.own).Seconds(), KernelSeconds: did.KernelThreadSeconds + did.InterruptSeconds,
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
		Reads: whole(m.all.Operation(result.Read).Count), ReadBytes: whole(m.all.Operation(result.Read).Bytes),
		Writes: whole(m.all.Operation(result.Write).Count), WriteBytes: whole(m.all.Operation(result.Write).Bytes),
	}
	if !l.site.contained() {
		const block = 512 // what getrusage counts in
		asked.ReadBytes = uint64(l.after.children.Inblock-l.before.children.Inblock) * block
		asked.WriteBytes = uint64(l.after.children.Oublock-l.before.children.Oublock) * block
	}
	const page = 4096 // no late write is less
	asked.Writes = max(asked.Writes, asked.WriteBytes/page)
	return asked
}

// contained reports whether the site's steps run in containers.
func (s *site) contained() bool {
	return slices.ContainsFunc(s.bases, func(b *broughtUpBase) bool {
		return slices.ContainsFunc(b.places, func(p *upPlace) bool { return p.Target.Container })
	})
}

// ios are the I/Os that devices counted, together.
func ios(c blockdev.Counters) (sum result.IOCount) {
	for _, d := range c {
		sum = sum.Add(result.IOCount{Reads: d.Reads, Writes: d.Writes, ReadBytes: d.ReadBytes, WriteBytes: d.WriteBytes})
	}
	return sum
}

// owners tells whose control groups are which.
type owners struct {
	own   []uint64 // the site's
	above []uint64 // those that its are in: what is charged there may be the site's too
}

func (l *look) ours() owners {
	var o owners
	groups, none := l.site.groups()
	if none != nil {
		return o
	}
	for _, group := range groups {
		ids, _ := group.IDs() // what ended meanwhile did nothing for us that matters
		o.own, o.above = append(o.own, ids...), append(o.above, group.Above()...)
	}
	return o
}

// sort adds what was asked of a disk to what is known of its use.
func (o owners) sort(rows []capture.Demand, use *interference.DiskUse) {
	type who struct {
		name  string
		bytes uint64
	}
	var others []who
	for _, a := range rows {
		if a.Device != use.Disk.Name {
			continue
		}
		did := result.IOCount{Reads: a.Reads, Writes: a.Writes, ReadBytes: a.ReadBytes, WriteBytes: a.WriteBytes}
		switch {
		case a.Kind == capture.BySelf || slices.Contains(o.own, a.Cgroup):
			use.Own = use.Own.Add(did)
		case a.Kind == capture.ByKernel && (a.Cgroup == 0 || slices.Contains(o.above, a.Cgroup)):
			use.Kernel = use.Kernel.Add(did)
		default:
			use.Others = use.Others.Add(did)
			others = append(others, who{nameOf(a), did.Bytes()})
		}
	}
	slices.SortStableFunc(others, func(a, b who) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	for _, w := range others {
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
