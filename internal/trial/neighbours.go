package trial

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
	"plimsoll/internal/roster"
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
	stack  *upStack
	disks  []disk
	before moment
	after  moment
	rows   []capture.Asked // who asked for what in between
	whole  bool            // and nothing is missing in them
	owners owners
	runs   []string // of plimsoll, that were under way at the start or at the end
}

// disk is one that a stack stands on.
type disk struct {
	observe.Disk
	tallied bool
}

// moment is what is known at a moment of the host.
type moment struct {
	at       time.Time
	disks    []counted
	cpu      observe.HostCPU
	own      time.Duration // processor time that was ours until then
	cpuErr   error         // why the two above are not known
	children unix.Rusage   // of this process
}

// counted is what a disk counted until a moment, and the devices on it.
type counted struct {
	disk, above observe.Counters
	err         error
}

// lookAround begins to watch what others do on the disks of a stack, and with
// the host's processors. It is the last thing before the workload starts.
func (r *runner) lookAround(s *upStack) *look {
	l := &look{runner: r, stack: s}
	for _, d := range s.Disks {
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
func (r *runner) watched(d observe.Disk) bool {
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
		if c.disk, c.err = observe.ReadCounters([]result.Device{d.Device}); c.err == nil {
			c.above, c.err = observe.ReadCounters(d.Above)
		}
		m.disks = append(m.disks, c)
	}
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &m.children) // fails for no valid argument
	if m.own, m.cpuErr = ownTime(l.stack, m.children); m.cpuErr == nil {
		m.cpu, m.cpuErr = observe.ReadHostCPU("/proc")
	}
	return m
}

// ownTime is the processor time that all who work for a stack have used, and
// this process.
func ownTime(s *upStack, children unix.Rusage) (time.Duration, error) {
	var self unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self)
	if group, none := s.OwnGroup(); none == nil {
		used, err := group.CPU()
		return used + processorTime(self), err
	}
	return processorTime(self) + processorTime(children), nil
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
	for _, other := range roster.Others(l.runner.store.Run().ID) {
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
		use := observe.DiskUse{
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

// askedFor is what the workload's processes asked for, at most: on the host the
// kernel accounts for it, of a container the workload says so.
func (l *look) askedFor(m measured) result.IOCount {
	whole := func(n uint64) uint64 {
		if m.share <= 0 {
			return n
		}
		return uint64(float64(n) / m.share)
	}
	asked := result.IOCount{
		Reads: whole(m.all.Read.IOs), ReadBytes: whole(m.all.Read.Bytes),
		Writes: whole(m.all.Write.IOs), WriteBytes: whole(m.all.Write.Bytes),
	}
	if !l.stack.Target.Container {
		const block = 512 // what getrusage counts in
		asked.ReadBytes = uint64(l.after.children.Inblock-l.before.children.Inblock) * block
		asked.WriteBytes = uint64(l.after.children.Oublock-l.before.children.Oublock) * block
	}
	const page = 4096 // no late write is less
	asked.Writes = max(asked.Writes, asked.WriteBytes/page)
	return asked
}

// ios are the I/Os that devices counted, together.
func ios(c observe.Counters) (sum result.IOCount) {
	for _, d := range c {
		sum = sum.Add(result.IOCount{Reads: d.Reads, Writes: d.Writes, ReadBytes: d.ReadBytes, WriteBytes: d.WriteBytes})
	}
	return sum
}

// owners tells whose control groups are which.
type owners struct {
	own   []uint64 // the stack's
	above []uint64 // those that its are in: what is charged there may be the stack's too
}

func (l *look) ours() owners {
	var o owners
	group, none := l.stack.OwnGroup()
	if none != nil {
		return o
	}
	o.own, _ = group.IDs() // what ended meanwhile did nothing for us that matters
	o.above = group.Above()
	return o
}

// sort adds what was asked of a disk to what is known of its use.
func (o owners) sort(rows []capture.Asked, use *observe.DiskUse) {
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
func nameOf(a capture.Asked) string {
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
