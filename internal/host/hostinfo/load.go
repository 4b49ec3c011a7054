package hostinfo

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/units"
)

// Load is the load of a host over an interval.
type Load struct {
	Seconds float64 // that it was looked at
	CPUs    int
	Busy    float64    // share of all processors' time that others than this process and its children used, from 0 to 1
	Steal   float64    // share that a hypervisor took
	Average float64    // the load average of the last minute
	Disks   []DiskLoad // that did something, busiest first
}

// DiskLoad is the load of a disk over an interval.
type DiskLoad struct {
	Name  string  // kernel name
	IOs   float64 // per second
	Bytes float64 // per second
	Util  float64 // share of the time in which something was under way
}

// From these shares and rates on a host is not quiet.
const (
	busyCPU   = 0.10
	busySteal = 0.03
	busyUtil  = 0.05
	busyIOs   = 20      // per second
	busyBytes = 1 << 20 // per second
)

// loadInterval is the default length of a load measurement of a host that is not quiet in the first third of it: whose
// load is at least quietShare of what makes it busy. A third of an interval counts few events, and may miss a load that
// is just above a threshold.
const (
	loadInterval = time.Second
	quietShare   = 0.5
)

// quietRemedy is advice on making a host quiet.
const quietRemedy = "measure when the host is quiet: top and iotop -o show who is at work"

// Watch measures the load of a host from when it is made.
type Watch struct {
	host   *Host
	before loadSample
	err    error
}

// loadSample is a reading of the kernel's counters.
type loadSample struct {
	time       time.Time
	total      procfs.CPUStat
	cpus       int
	ownSeconds float64 // seconds of this process and its children
	disks      map[string]diskSample
}

type diskSample struct{ ios, bytes, milliseconds uint64 }

// WatchLoad begins to look at the load.
func (h *Host) WatchLoad() *Watch {
	w := &Watch{host: h}
	w.before, w.err = h.loadNow()
	return w
}

// End waits until the interval is at least atLeast, and returns the load.
func (w *Watch) End(ctx context.Context, atLeast time.Duration) (Load, error) {
	if w.err != nil {
		return Load{}, w.err
	}
	if rest := atLeast - time.Since(w.before.time); rest > 0 {
		select {
		case <-ctx.Done():
			return Load{}, ctx.Err()
		case <-time.After(rest):
		}
	}
	after, err := w.host.loadNow()
	if err != nil {
		return Load{}, err
	}
	l := loadBetween(w.before, after)
	first, _, _ := strings.Cut(readTrimmed(w.host.Roots.Proc, "loadavg"), " ")
	l.Average, _ = strconv.ParseFloat(first, 64)
	return l, nil
}

func (h *Host) loadNow() (s loadSample, err error) {
	fs, err := procfs.NewFS(h.Roots.Proc)
	if err != nil {
		return s, fmt.Errorf("what the processors do: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return s, fmt.Errorf("what the processors do: %w", err)
	}
	s = loadSample{time: time.Now(), total: stat.CPUTotal, cpus: len(stat.CPU), disks: map[string]diskSample{}}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		_ = unix.Getrusage(who, &u) // fails for no valid argument
		s.ownSeconds += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	disks, err := names(h.Roots.Sys, "block")
	if err != nil {
		return s, err
	}
	for _, name := range disks {
		if d, ok := h.readDisk(name); ok {
			s.disks[name] = d
		}
	}
	return s, nil
}

// readDisk reads a disk's counters. Devices on top of others, or in memory, are left out: the devices below count
// their I/O too.
func (h *Host) readDisk(name string) (d diskSample, ok bool) {
	for _, prefix := range []string{"loop", "ram", "zram"} {
		if strings.HasPrefix(name, prefix) {
			return d, false
		}
	}
	if below, err := os.ReadDir(filepath.Join(h.Roots.Sys, "block", name, "slaves")); err == nil && len(below) > 0 {
		return d, false
	}
	const reads, sectorsRead, writes, sectorsWritten, ticks, sector = 0, 2, 4, 6, 9, 512
	f := strings.Fields(readTrimmed(h.Roots.Sys, "block", name, "stat"))
	if len(f) <= ticks {
		return d, false
	}
	n := func(i int) uint64 { v, _ := strconv.ParseUint(f[i], 10, 64); return v }
	return diskSample{ios: n(reads) + n(writes), bytes: sector * (n(sectorsRead) + n(sectorsWritten)),
		milliseconds: n(ticks)}, true
}

func loadBetween(before, after loadSample) Load {
	l := Load{Seconds: after.time.Sub(before.time).Seconds(), CPUs: after.cpus}
	if l.Seconds <= 0 || l.CPUs == 0 {
		return l
	}
	busy := func(t procfs.CPUStat) float64 { return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ }
	share := func(seconds float64) float64 { return min(1, max(0, seconds/(l.Seconds*float64(l.CPUs)))) }
	l.Busy = share(busy(after.total) - busy(before.total) - (after.ownSeconds - before.ownSeconds))
	l.Steal = share(after.total.Steal - before.total.Steal)
	for name, now := range after.disks {
		was, known := before.disks[name]
		if !known || now.ios <= was.ios {
			continue
		}
		l.Disks = append(l.Disks, DiskLoad{
			Name: name, IOs: float64(now.ios-was.ios) / l.Seconds, Bytes: float64(now.bytes-was.bytes) / l.Seconds,
			Util: min(1, float64(now.milliseconds-was.milliseconds)/1000/l.Seconds),
		})
	}
	slices.SortFunc(l.Disks,
		func(a, b DiskLoad) int { return cmp.Or(cmp.Compare(b.Util, a.Util), cmp.Compare(a.Name, b.Name)) })
	return l
}

// busy reports whether the load of the disk would affect measurements on it.
func (d DiskLoad) busy() bool { return d.reaches(1) }

// reaches reports whether the load of the disk is at least a share of what makes it busy.
func (d DiskLoad) reaches(share float64) bool {
	return d.Util >= share*busyUtil && (d.IOs >= share*busyIOs || d.Bytes >= share*busyBytes)
}

func (d DiskLoad) String() string {
	return fmt.Sprintf("%.0f I/Os and %s a second, busy %.0f%% of the time", d.IOs, units.Bytes(uint64(d.Bytes)),
		100*d.Util)
}

func (l Load) processors() string {
	text := fmt.Sprintf("%.0f%% of %d CPUs busy over %.1f s, load average %.2f", 100*l.Busy, l.CPUs, l.Seconds, l.Average)
	if l.Steal > 0 {
		text += fmt.Sprintf(", %.0f%% taken by other virtual machines", 100*l.Steal)
	}
	return text
}

// Problems returns the reasons why the host is too busy for measurements on these disks (kernel names).
func (l Load) Problems(disks []string) problem.List {
	var problems problem.List
	if l.Busy >= busyCPU || l.Steal >= busySteal {
		problems = append(problems, problem.Problem{What: "this host is busy", Why: l.processors(), Remedy: quietRemedy})
	}
	for _, d := range l.Disks {
		if slices.Contains(disks, d.Name) && d.busy() {
			problems = append(problems, problem.Problem{What: "others use " + d.Name, Why: d.String(), Remedy: quietRemedy})
		}
	}
	return problems
}

// reaches reports whether the load is at least a share of what would affect measurements.
func (l Load) reaches(share float64) bool {
	return l.Busy >= share*busyCPU || l.Steal >= share*busySteal ||
		slices.ContainsFunc(l.Disks, func(d DiskLoad) bool { return d.reaches(share) })
}

// load reports the current load of the host. A host that is not quiet is watched for longer: a short interval makes
// much of a single burst.
func (h *Host) load(ctx context.Context) Section {
	s := Section{Name: "load"}
	watch := h.WatchLoad()
	l, err := watch.End(ctx, h.moment/3)
	if err == nil && l.reaches(quietShare) {
		l, err = watch.End(ctx, h.moment)
	}
	if err != nil {
		s.Items = append(s.Items,
			Item{Name: "processors", OK: Unknown, Why: err.Error(), Remedy: "mount proc and sysfs, or name their roots"})
		return s
	}
	cpu := Item{Name: "processors", OK: Yes, Value: l.processors()}
	if len(l.Problems(nil)) > 0 {
		cpu.OK, cpu.Remedy = Limited, quietRemedy
		cpu.Why = "other processes are using this host; results will include their load"
	}
	s.Items = append(s.Items, cpu)
	for _, d := range l.Disks {
		i := Item{Name: d.Name, OK: Yes, Value: d.String()}
		if d.busy() {
			i.OK, i.Remedy = Limited, quietRemedy
			i.Why = "other processes are using this disk; results on it will include their load"
		}
		s.Items = append(s.Items, i)
	}
	for _, id := range h.calls.runs() {
		s.Items = append(s.Items, Item{
			Name: "run", OK: Limited, Value: id + " of plimsoll is under way",
			Why:    "runs at the same time measure each other's load",
			Remedy: "run one after the other",
		})
	}
	return s
}
