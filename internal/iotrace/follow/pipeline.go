package follow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// analysis is one call of Analyze.
type analysis struct {
	ctx        context.Context
	options    Options
	readers    []*blktrace.Reader
	total      int64
	unsized    bool // the size of some source is unknown
	damage     *DamageError
	follower   *follower
	accountant *accountant

	err   error      // of PerIO
	perIO iotrace.IO // its argument
}

// sum returns the function that handles finished bios: it adds them to the account and calls PerIO.
func (a *analysis) sum() func(*finishedBio) {
	if a.options.PerIO == nil {
		return a.accountant.add
	}
	return func(b *finishedBio) {
		a.accountant.add(b)
		if a.err == nil {
			a.err = a.options.PerIO(a.io(b))
		}
	}
}

// read calls take until the end. take handles records in the order of time and returns their number, 0 at the end.
func (a *analysis) read(take func(*blktrace.Merge) (int, error)) error {
	merge := blktrace.NewMerge(a.readers, a.damage.add)
	const often = 4096 // records
	for n := often; ; {
		if n >= often {
			n = 0
			if err := a.check(); err != nil {
				return err
			}
		}
		taken, err := take(merge)
		if err != nil {
			return err
		}
		if taken == 0 {
			return a.check()
		}
		n += taken
	}
}

// check reports progress, and returns an error when the context has ended.
func (a *analysis) check() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if a.options.Strict && len(a.damage.Places) > 0 {
		return a.damage
	}
	if a.options.Progress != nil {
		a.progress()
	}
	return nil
}

func (a *analysis) progress() {
	var done int64
	for _, r := range a.readers {
		done += r.Offset()
	}
	total := a.total
	if a.unsized {
		total = 0
	}
	a.options.Progress(done, total)
}

func (a *analysis) serial() error {
	a.follower.done = a.sum()
	err := a.read(func(merge *blktrace.Merge) (int, error) {
		records := merge.Next()
		for i := range records {
			a.follower.follow(&records[i])
		}
		return len(records), a.err
	})
	if err != nil {
		return err
	}
	a.follower.dropAll()
	return a.err
}

// batch is records on their way from one goroutine to another.
type batch struct {
	records []blktrace.Record
	pdus    []byte // of those whose PDU the follower looks at
}

func newBatch() *batch { return &batch{records: make([]blktrace.Record, 0, 4096)} }

// fill adds records, and returns how many; 0 at the end.
func (b *batch) fill(merge *blktrace.Merge) int {
	before := len(b.records)
	n := merge.Fill(b.records[before:cap(b.records)])
	b.records = b.records[:before+n]
	added := b.records[before:]
	for i := range added {
		r := &added[i]
		if !r.Action.IsNote() && r.Action.Event() < blktrace.Split {
			r.PDU = nil
			continue
		}
		begin := len(b.pdus)
		b.pdus = append(b.pdus, r.PDU...)
		r.PDU = b.pdus[begin:]
	}
	return n
}

func (b *batch) full() bool { return len(b.records) == cap(b.records) }

func (b *batch) clear() *batch {
	b.records, b.pdus = b.records[:0], b.pdus[:0]
	return b
}

// parallel runs the stages side by side. Batches go round: there are as many as
// the channels hold.
func (a *analysis) parallel() error {
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	a.ctx = ctx

	const ahead = 4
	full, empty := make(chan *batch, ahead), make(chan *batch, ahead)
	for range ahead - 1 {
		empty <- newBatch()
	}
	decoded := make(chan error, 1)
	go func() {
		defer close(full)
		b := newBatch()
		err := a.read(func(merge *blktrace.Merge) (int, error) {
			if b.full() {
				full <- b // never waits: there are no more batches than it holds
				select {
				case b = <-empty:
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
			}
			return b.fill(merge), nil
		})
		if err == nil {
			full <- b
		}
		decoded <- err
	}()

	summed := a.summing()
	for b := range full {
		if a.err == nil {
			for i := range b.records {
				a.follower.follow(&b.records[i])
			}
		}
		if a.err != nil {
			cancel(a.err)
		}
		empty <- b.clear()
	}
	if a.err == nil && ctx.Err() == nil {
		a.follower.dropAll()
	}
	summed()
	if err := <-decoded; err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	return a.err
}

// summing starts the third stage, and returns what waits for its end. An IO
// names its owner, which only the follower's own goroutine can look up: with
// PerIO there is no third stage.
func (a *analysis) summing() (wait func()) {
	if a.options.PerIO != nil {
		a.follower.done = a.sum()
		return func() {}
	}
	const ahead, size = 8, 1024
	full, empty := make(chan []finishedBio, ahead), make(chan []finishedBio, ahead)
	for range ahead - 1 {
		empty <- make([]finishedBio, 0, size)
	}
	done := make([]finishedBio, 0, size)
	a.follower.done = func(b *finishedBio) {
		if done = append(done, *b); len(done) == size {
			full <- done
			done = <-empty
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for done := range full {
			for i := range done {
				a.accountant.add(&done[i])
			}
			empty <- done[:0]
		}
	}()
	return func() {
		full <- done
		close(full)
		<-ended
	}
}

// io describes a bio for PerIO.
func (a *analysis) io(b *finishedBio) *iotrace.IO {
	start := a.follower.start
	sinceStart := func(t int64) int64 {
		if t == never {
			return -1
		}
		return max(0, t-start)
	}
	a.perIO = iotrace.IO{
		Device: a.follower.devices[b.device].name, Op: b.op, Sector: b.sector, Bytes: uint64(b.bytes),
		Owner: a.follower.owners.owner(b.owner), CPU: b.cpu,
		Q: sinceStart(b.q), G: sinceStart(b.g), I: sinceStart(b.i), M: sinceStart(b.m),
		D: sinceStart(b.d), N: sinceStart(b.n), C: sinceStart(b.c),
		Merged: b.merges, Requeued: uint32(b.requeues), Error: int32(b.errno),
	}
	return &a.perIO
}

// tellMissing adds what files and records lack.
func (a *analysis) tellMissing(out *iotrace.Account, sources []Source) {
	for _, r := range a.readers {
		if r.IsText() {
			out.Missing = append(out.Missing, r.Name()+": this is text of blkparse, which has no cgroups, and nothing of "+
				"when an NVMe device got a command (N)")
			if len(a.readers) > 1 {
				out.Missing = append(out.Missing, r.Name()+": its times count from its own first event, which may be another "+
					"time than that of the other files: give the captures themselves")
			}
		}
		if n := r.Disordered(); n > 0 {
			out.Missing = append(out.Missing, fmt.Sprintf("%s: %d records come after later ones, and may not have "+
				"been matched", r.Name(), n))
		}
	}
	for _, m := range missingFiles(sources) {
		out.Missing = append(out.Missing,
			fmt.Sprintf("CPU %d has no file (%s.%d): what happened there is not shown", m.cpu, m.name, m.cpu))
		out.MissingCPUs = append(out.MissingCPUs, m.cpu)
	}
	a.noteAbsentCPUs(out, sources)
	slices.Sort(out.MissingCPUs)
	out.MissingCPUs = slices.Compact(out.MissingCPUs)
	switch n := len(a.damage.Places) + a.damage.More; n {
	case 0:
	case 1:
		out.Missing = append(out.Missing, "the capture is damaged in one place: what was there is not shown")
	default:
		out.Missing = append(out.Missing, fmt.Sprintf("the capture is damaged in %d places: what was there is not "+
			"reported", n))
	}
	slices.Sort(out.Missing)
}

// noteAbsentCPUs names the CPUs of which an incomplete capture has no record, where files' names do not show them.
func (a *analysis) noteAbsentCPUs(out *iotrace.Account, sources []Source) {
	if len(out.MissingCPUs) > 0 || !slices.ContainsFunc(a.follower.devices, func(d *device) bool { return d.strict }) {
		return
	}
	var seen []bool
	for _, d := range a.follower.devices {
		for cpu, c := range d.cpus {
			if c.last != 0 {
				seen = append(seen, make([]bool, max(0, cpu+1-len(seen)))...)
				seen[cpu] = true
			}
		}
	}
	for _, s := range sources {
		if _, cpu, ok := fileOfCPU(s.Name); ok && cpu < len(seen) {
			seen[cpu] = true
		}
	}
	var names []string
	for cpu, known := range seen {
		if !known {
			out.MissingCPUs = append(out.MissingCPUs, cpu)
			names = append(names, strconv.Itoa(cpu))
		}
	}
	if len(names) > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("no event is of CPU %s, of %d, and events are missing: "+
			"the files of these CPUs may be, or of others above", strings.Join(names, ", "), len(seen)))
	}
}

// fileOfCPU splits a file's name into capture and CPU.
func fileOfCPU(name string) (capture string, cpu int, ok bool) {
	const infix = ".blktrace."
	i := strings.LastIndex(name, infix)
	if i < 0 {
		return "", 0, false
	}
	cpu, err := strconv.Atoi(name[i+len(infix):])
	return name[:i+len(infix)-1], cpu, err == nil && cpu >= 0 && cpu < maxCPU
}

// missingFile is the file of a CPU that is not there.
type missingFile struct {
	name string // without the CPU
	cpu  int
}

// missingFiles returns the missing files of CPUs below the highest of each capture.
func missingFiles(sources []Source) (missing []missingFile) {
	captures := map[string]map[int]bool{}
	for _, s := range sources {
		name, cpu, ok := fileOfCPU(s.Name)
		if !ok {
			continue
		}
		if captures[name] == nil {
			captures[name] = map[int]bool{}
		}
		captures[name][cpu] = true
	}
	for name, cpus := range captures {
		highest := 0
		for cpu := range cpus {
			highest = max(highest, cpu)
		}
		for cpu := range highest {
			if !cpus[cpu] {
				missing = append(missing, missingFile{name, cpu})
			}
		}
	}
	return missing
}
