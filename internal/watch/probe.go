package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/observe"
	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

// Bounds of a probe.
const (
	probeSeconds = 30   // of each step, and before the first
	probeStep    = 0.95 // of the memory of the step before
	// A step ends the probe if pages are read again that often per second more than before the first step, or memory is
	// waited for in that share of the time more.
	mostRefaults = 50.0
	mostWaiting  = 0.01
	// A page cache that is so much smaller than what the container holds ends the probe: there is no more to take.
	leastCache = 16 << 20
)

// floorOf is the least memory that a probe leaves, for what a container holds that no shortage takes. With cgroups of
// version 1 the limit is a hard one, at which the kernel kills: it leaves as much again.
func floorOf(fixed float64, hard bool) float64 {
	if hard {
		return 2*fixed + 64<<20
	}
	return 1.1*fixed + leastCache
}

// Probe lowers the memory of a container by steps while it is recorded, to show what its page cache is worth. It
// restores the memory as soon as pages are read again, memory is waited for, or Close is called. Each step is
// journaled before it is made: "plimsoll clean" undoes what a crash left. Called serially.
type Probe struct {
	container string
	recorder  *Recorder
	journal   *journal.Journal
	say       func(string)

	file    string // of the limit; "" until the container was found
	hard    bool   // of version 1
	done    bool
	steps   []*journal.Entry
	held    float64 // bytes that the last step leaves; 0 before the first
	lowest  float64 // bytes of the last step that held for all of its time
	seconds float64 // of this step
	sum     probed
	before  probed // of each second before the first step
}

// probed are refaults and waiting, added up.
type probed struct{ refaults, waiting float64 }

// NewProbe returns a probe of a container by its name in the recording. say is called with what happens.
func NewProbe(container string, r *Recorder, j *journal.Journal, say func(string)) *Probe {
	return &Probe{container: container, recorder: r, journal: j, say: say}
}

// With returns a write that also calls See.
func (p *Probe) With(ctx context.Context, write func(recording.Row)) func(recording.Row) {
	return func(row recording.Row) {
		write(row)
		p.See(ctx, row)
	}
}

// See takes an interval, and makes the step that follows from it.
func (p *Probe) See(ctx context.Context, row recording.Row) {
	if p.done {
		return
	}
	if err := p.see(ctx, row); err != nil {
		p.say(fmt.Sprintf("the probe of %s ended: %v", p.container, err))
		p.Close(ctx)
	}
}

// Close restores the memory.
func (p *Probe) Close(ctx context.Context) {
	p.done = true
	if err := p.journal.UndoEach(context.WithoutCancel(ctx), p.steps); err != nil {
		p.say(fmt.Sprintf("the memory of %s could not be restored. Run %s: %v", p.container, journal.CleanCommand(), err))
	}
	p.steps = nil
}

func (p *Probe) see(ctx context.Context, row recording.Row) error {
	values, path, err := p.find(row)
	if err != nil || values == nil {
		return err
	}
	amount := func(m recording.Metric) float64 {
		return values[slices.Index(recording.OfContainer.Metrics(), m)]
	}
	if p.file == "" {
		if err := p.open(path); err != nil {
			return err
		}
		p.say(fmt.Sprintf("probing the memory of %s: %d s before the first step", p.container, probeSeconds))
	}
	if math.IsNaN(amount(recording.Refaults)) {
		return errors.New("this kernel does not count pages that are read again for the container, so that no step is safe")
	}
	fixed := 1024 * (amount(recording.Anonymous) + amount(recording.SharedMemory))
	if math.IsNaN(fixed) {
		return errors.New("what the container holds that no shortage takes is not known")
	}
	if p.held > 0 && p.held < floorOf(fixed, p.hard)*0.9 {
		return fmt.Errorf("the container holds %s now that no shortage takes: its memory is restored",
			units.Bytes(uint64(fixed)))
	}
	p.seconds += row.Seconds
	p.sum.refaults += amount(recording.Refaults)
	if waiting := amount(recording.MemoryPressure) / 1e6; waiting > 0 { // version 1 knows none
		p.sum.waiting += waiting
	}
	if p.held > 0 {
		if why := p.tooMuch(); why != "" {
			p.say(fmt.Sprintf("the probe of %s is over: with %s, %s. With %s it was well. Its memory is restored",
				p.container, units.Bytes(uint64(p.held)), why, p.wellWith()))
			p.Close(ctx)
			return nil
		}
	}
	if p.seconds < probeSeconds {
		return nil
	}
	if p.held == 0 {
		p.before = probed{p.sum.refaults / p.seconds, p.sum.waiting / p.seconds}
	}
	p.lowest = p.held
	return p.step(ctx, fixed)
}

// wellWith names the memory of the last step that held.
func (p *Probe) wellWith() string {
	if p.lowest == 0 {
		return "all of its memory"
	}
	return units.Bytes(uint64(p.lowest))
}

// tooMuch says why a step is the last; "" if it is not. A part of a step may end it.
func (p *Probe) tooMuch() string {
	const least = probeSeconds / 3 // a burst that is shorter is none
	span := max(p.seconds, least)
	refaults, waiting := p.sum.refaults/span-p.before.refaults, p.sum.waiting/span-p.before.waiting
	switch {
	case refaults > mostRefaults:
		return fmt.Sprintf("%s pages a second more were read again", units.Digits(refaults))
	case waiting > mostWaiting:
		return fmt.Sprintf("memory was waited for in %s of the time", units.Percent(waiting))
	}
	return ""
}

// find returns the amounts of the container and the path of its group; nil if it is not there yet.
func (p *Probe) find(row recording.Row) (values []float64, path string, err error) {
	var found []string
	for groupPath, g := range p.recorder.groups {
		if g.thing.Label() == p.container {
			found = append(found, groupPath)
		}
	}
	switch {
	case len(found) == 0 && p.file != "":
		return nil, "", errors.New("the container ended")
	case len(found) == 0:
		return nil, "", nil
	}
	for _, a := range row.Amounts {
		if a.Thing.Kind == recording.OfContainer && a.Thing.Label() == p.container {
			return a.Values, found[0], nil
		}
	}
	return nil, "", nil
}

// open finds the file of the container's limit.
func (p *Probe) open(path string) error {
	group, err := observe.GroupAt(p.recorder.options.Roots, path)
	if err != nil {
		return err
	}
	dir := cmp.Or(group.Memory, group.Unified)
	for _, limit := range []struct {
		name string
		hard bool
	}{{"memory.high", false}, {"memory.limit_in_bytes", true}} {
		file := filepath.Join(dir, limit.name)
		if _, err := os.Stat(file); err == nil {
			p.file, p.hard = file, limit.hard
		}
	}
	if p.file == "" {
		return fmt.Errorf("cgroup %s has no memory.high and no memory.limit_in_bytes: its memory is not limited by cgroups",
			path)
	}
	if swaps(p.recorder.options.Roots.InProc("swaps")) && !withoutSwap(dir) {
		return problem.New(problem.Unsupported, "the host has swap, and the container may use it",
			"less memory would swap what it holds, rather than show what its page cache is worth",
			"run swapoff, or set the container's memory.swap.max to 0 (memory.swappiness with cgroups of version 1)")
	}
	return nil
}

// swaps reports whether there is swap.
func swaps(file string) bool {
	text, err := os.ReadFile(file)
	return err != nil || strings.Count(strings.TrimSpace(string(text)), "\n") > 0
}

// withoutSwap reports whether a group may not swap.
func withoutSwap(dir string) bool {
	for _, name := range []string{"memory.swap.max", "memory.swappiness"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && strings.TrimSpace(string(text)) == "0" {
			return true
		}
	}
	return false
}

// step lowers the memory once more.
func (p *Probe) step(ctx context.Context, fixed float64) error {
	dir := filepath.Dir(p.file)
	usage := math.NaN()
	for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			usage, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
			if err != nil {
				return err
			}
		}
	}
	if !(usage > 0) {
		return errors.New("what it uses cannot be read")
	}
	from := usage
	if p.held > 0 {
		from = min(usage, p.held)
	}
	page := float64(os.Getpagesize())
	next := math.Floor(from*probeStep/page) * page
	if floor := floorOf(fixed, p.hard); next < floor {
		return fmt.Errorf("it was well with %s, and a step more would leave less than %s, which is the least that is safe "+
			"for it: its memory is restored", p.wellWith(), units.Bytes(uint64(floor)))
	}
	change := &journal.Setting{Path: p.file, Value: strconv.FormatInt(int64(next), 10)}
	entry, err := p.journal.Do(ctx, change, func(string) error { return change.Make() })
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("it was well with %s, and the kernel can reclaim no more: its memory is restored", p.wellWith())
	}
	if err != nil {
		return err
	}
	p.steps = append(p.steps, entry)
	p.held, p.seconds, p.sum = next, 0, probed{}
	p.say(fmt.Sprintf("%s has %s for %d s now", p.container, units.Bytes(uint64(next)), probeSeconds))
	return nil
}
