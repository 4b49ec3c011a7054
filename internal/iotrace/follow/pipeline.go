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
	unsized    bool // the size of a source is not known
	damage     *DamageError
	follower   *follower
	accountant *accountant

	err error      // of PerIO
	one iotrace.IO // its argument
}

const doneSize = 128

// sum adds a batch to the account.
func (a *analysis) sum(done []finished) []finished {
	for i := range done {
		a.accountant.add(&done[i])
		if a.options.PerIO != nil && a.err == nil {
			a.err = a.options.PerIO(a.io(&done[i]))
		}
	}
	return done[:0]
}

// decode fills batches until the end, and gives each to put, which returns the
// next one to fill.
func (a *analysis) decode(b *batch, put func(*batch) (*batch, error)) error {
	merge := blktrace.NewMerge(a.readers, a.damage.add)
	for {
		b.events, b.texts = b.events[:0], b.texts[:0]
		for len(b.events) < batchSize {
			r := merge.Next()
			if r == nil {
				break
			}
			b.add(r)
		}
		if len(b.events) == 0 {
			return nil
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if a.options.Strict && len(a.damage.Places) > 0 {
			return a.damage
		}
		if a.options.Progress != nil {
			a.progress()
		}
		var err error
		if b, err = put(b); err != nil {
			return err
		}
	}
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

func newBatch() *batch { return &batch{events: make([]event, 0, batchSize)} }

func (a *analysis) serial() error {
	a.follower.done, a.follower.hand = make([]finished, 0, doneSize), a.sum
	err := a.decode(newBatch(), func(b *batch) (*batch, error) {
		a.follower.follow(b)
		return b, a.err
	})
	if err != nil {
		return err
	}
	a.follower.end()
	return a.err
}

// parallel runs the stages side by side. Batches go round: there are as many as
// the channels hold.
func (a *analysis) parallel() error {
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	a.ctx = ctx

	const ahead = 8
	full, empty := make(chan *batch, ahead), make(chan *batch, ahead)
	for range ahead - 1 {
		empty <- newBatch()
	}
	decoded := make(chan error, 1)
	go func() {
		defer close(full)
		decoded <- a.decode(newBatch(), func(b *batch) (*batch, error) {
			full <- b // never waits: there are no more batches than it holds
			select {
			case b := <-empty:
				return b, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
	}()

	summed := a.summing()
	for b := range full {
		if a.err == nil {
			a.follower.follow(b)
		}
		if a.err != nil {
			cancel(a.err)
		}
		empty <- b
	}
	if a.err == nil && ctx.Err() == nil {
		a.follower.end()
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
		a.follower.done, a.follower.hand = make([]finished, 0, doneSize), a.sum
		return func() {}
	}
	const ahead = 16
	full, empty := make(chan []finished, ahead), make(chan []finished, ahead)
	for range ahead - 1 {
		empty <- make([]finished, 0, doneSize)
	}
	a.follower.done = make([]finished, 0, doneSize)
	a.follower.hand = func(done []finished) []finished {
		full <- done
		return <-empty
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for done := range full {
			empty <- a.sum(done)
		}
	}()
	return func() {
		close(full)
		<-ended
	}
}

// io describes a bio for PerIO.
func (a *analysis) io(b *finished) *iotrace.IO {
	start := a.follower.start
	at := func(t int64) int64 {
		if t == never {
			return -1
		}
		return max(0, t-start)
	}
	a.one = iotrace.IO{
		Device: a.follower.devices[b.device].name, Op: b.op, Sector: b.sector, Bytes: uint64(b.bytes),
		Owner: a.follower.owners.owner(b.owner), CPU: b.cpu,
		Q: at(b.q), G: at(b.g), I: at(b.i), M: at(b.m), D: at(b.d), N: at(b.n), C: at(b.c),
		Merged: b.merges, Requeued: uint32(b.again), Error: b.errno,
	}
	return &a.one
}

// tellMissing adds what files and records lack.
func (a *analysis) tellMissing(out *iotrace.Account, sources []Source) {
	for _, r := range a.readers {
		out.Lost += r.Lost()
		if n := r.Lost(); n > 0 {
			out.Missing = append(out.Missing, fmt.Sprintf("%s: gaps in the numbers of its records say that %d are lost: requests that they were of are not told of, or in part", r.Name(), n))
		}
		if n := r.Disordered(); n > 0 {
			out.Missing = append(out.Missing, fmt.Sprintf("%s: %d records come after later ones, and may not have been matched", r.Name(), n))
		}
	}
	out.Missing = append(out.Missing, missingCPUs(sources)...)
	switch n := len(a.damage.Places) + a.damage.More; n {
	case 0:
	case 1:
		out.Missing = append(out.Missing, "the capture is damaged in one place: what was there is not told of")
	default:
		out.Missing = append(out.Missing, fmt.Sprintf("the capture is damaged in %d places: what was there is not told of", n))
	}
	slices.Sort(out.Missing)
}

// missingCPUs names the CPUs below the highest of each capture that have no
// file.
func missingCPUs(sources []Source) (missing []string) {
	captures := map[string]map[int]bool{}
	for _, s := range sources {
		const infix = ".blktrace."
		at := strings.LastIndex(s.Name, infix)
		if at < 0 {
			continue
		}
		cpu, err := strconv.Atoi(s.Name[at+len(infix):])
		if err != nil || cpu < 0 || cpu > 1<<14 {
			continue
		}
		name := s.Name[:at+len(infix)-1]
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
				missing = append(missing, fmt.Sprintf("CPU %d has no file (%s.%d): what happened there is not told of", cpu, name, cpu))
			}
		}
	}
	return missing
}
