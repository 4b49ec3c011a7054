package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/blockdev"
	"plimsoll/internal/journal"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
)

// Base is a stack that is up, but for what its workloads see of it: these are its
// places. It has no methods that can be called concurrently.
type Base struct {
	Devices []result.Device // top first, down to the disk under a loop
	Disks   []blockdev.Disk // that hold its bytes; none where they cannot be told
	Facts   []result.Fact   // read back from the host
	Region  int             // Number of the region of the disk that it stands on; 0 for none of the run's making
	Remote  Remote          // what the host that holds the device knows it by; zero for a device of this host

	env       *Env
	line      line.Line
	name      string
	block     string   // device that file systems are made on, and raw workloads use
	blocks    []string // devices of the sources that are joined, before a layer makes one of them
	sizeBytes int64    // of block
	own       bool     // block goes away with the base
	alone     []string // kernel names of the sources' devices, which nobody else uses
	between   string   // type of the host's file systems that hold the sources, if any do
	dir       string   // mounted directory, on the host
	golden    string   // directory of data that places get copies of; "" for none yet
	elsewhere bool     // a server is measured that somebody else started
	pool      *pool    // that a storage driver makes thin devices of; nil for none
	flush     []string
	ready     []func() error // before each trial, in this order
	undo      []*journal.Entry
	locks     []*os.File // on devices, while the base is up
	view      *layer     // what places are; nil for the host's
	engine    *engine    // that has their containers; nil for none
	shared    bool       // other bases use the engine too
	places    []*Place
}

// build is a base that is being brought up.
type build struct {
	env  *Env
	base *Base
	name string
}

// Up brings up all of a stack but its view, which are the places on it. When a layer
// fails, those below it are taken down again.
func (e *Env) Up(ctx context.Context, name string, l line.Line) (*Base, error) {
	parts, err := resolve(l)
	if err != nil {
		return nil, err
	}
	base := &Base{env: e, line: l, name: name}
	b := &build{env: e, base: base, name: name}
	if err := b.up(ctx, parts, len(l.Sources())); err != nil {
		return nil, errors.Join(err, base.Down(context.WithoutCancel(ctx)))
	}
	return base, nil
}

func (b *build) up(ctx context.Context, parts []part, sources int) error {
	if sources > 1 {
		if err := b.upSources(ctx, parts[:sources]); err != nil {
			return err
		}
		parts = parts[sources:]
	}
	for _, p := range parts {
		b.env.trace("%s: %s", b.name, p.node.Name)
		if err := p.up(ctx, b, p.node); err != nil {
			return err
		}
		if p.Gives == line.View {
			b.base.view = p.layer
		}
	}
	return b.finish()
}

// do journals a change, makes it, and keeps it for Down.
func (b *build) do(ctx context.Context, c journal.Change, make func(mark string) error) error {
	entry, err := b.env.Journal.Do(ctx, c, make)
	if entry != nil {
		b.base.undo = append(b.base.undo, entry)
	}
	return err
}

// mkdir makes a directory of the stack's own.
func (b *build) mkdir(ctx context.Context, path string) error {
	return b.do(ctx, &journal.Dir{Path: path}, func(string) error { return os.Mkdir(path, 0o755) })
}

// within notes which file system of the host holds a source.
func (b *build) within(dir string) error {
	m, err := blockdev.MountOf(b.env.Host.Roots, dir)
	if err != nil {
		return err
	}
	if b.base.between == "" || b.base.between == m.FSType {
		b.base.between = m.FSType
	} else {
		b.base.between += "+" + m.FSType
	}
	return nil
}

func (b *build) fact(name, value string) {
	b.base.Facts = append(b.base.Facts, result.Fact{Name: name, Value: strings.TrimSpace(value)})
}

// finish fills in what follows from the layers.
func (b *build) finish() error {
	path := b.base.dir
	if path == "" {
		path = b.base.block
	}
	devices, err := blockdev.Chain(b.env.Host.Roots, path)
	if err != nil {
		return fmt.Errorf("find the devices under %s: %w", path, err)
	}
	b.base.Devices, b.base.Disks = devices, b.base.disks(devices)
	b.base.Facts = append(b.base.Facts, schedulers(devices, nil)...)
	if b.base.dir != "" {
		b.base.flush = slices.Insert(b.base.flush, 0, b.base.dir)
	}
	return nil
}

// schedulers returns the I/O schedulers of devices, but for those that were told of.
func schedulers(devices, told []result.Device) (facts []result.Fact) {
	for _, d := range devices {
		if slices.ContainsFunc(told, func(other result.Device) bool { return other.Name == d.Name }) {
			continue
		}
		text, err := os.ReadFile("/sys/block/" + d.Name + "/queue/scheduler")
		if err == nil {
			facts = append(facts, result.Fact{Name: "I/O scheduler of " + d.Name, Value: strings.TrimSpace(string(text))})
		}
	}
	return facts
}

// disks returns what is under devices of the base. Where that cannot be told, nothing
// is told of neighbours either.
func (b *Base) disks(devices []result.Device) []blockdev.Disk {
	disks, err := blockdev.Disks(b.env.Host.Roots, devices, b.alone, b.between)
	if err != nil {
		return nil
	}
	return disks
}

// Down takes down the places, the last one first, and then the base, topmost layer
// first.
func (b *Base) Down(ctx context.Context) error {
	var all []error
	if b.shared && !b.engine.docker.Answers(ctx) {
		// Its containers would stay, and hold what is below them.
		all = append(all, b.env.release(ctx, b.engine))
	}
	b.shared = false
	for _, p := range slices.Backward(slices.Clone(b.places)) {
		all = append(all, p.Down(ctx))
	}
	all = append(all, b.env.Journal.UndoEach(ctx, b.undo))
	b.undo = nil
	for _, l := range b.locks {
		l.Close()
	}
	b.locks = nil
	return errors.Join(all...)
}

// flushLimit is how long writing back what a trial left in memory may take.
var flushLimit = 15 * time.Minute

// Flush waits until what was written so far is on the device, from the file
// system of the base down to the one that holds a loop device's file, so
// that late writing of one trial is not counted in the next.
func (b *Base) Flush() error {
	var paths []string
	for _, p := range b.places {
		if p.files != "" {
			paths = append(paths, p.files)
		}
	}
	paths = append(paths, b.flush...)
	return limited("flush "+strings.Join(paths, ", "), func() error {
		for _, path := range paths {
			if err := flush(path); err != nil {
				return fmt.Errorf("flush %s: %w", path, err)
			}
		}
		return nil
	})
}

// Ready does what the layers want done right before each trial. It
// comes after Flush.
func (b *Base) Ready() error {
	return limited("make the stack ready for a trial", func() error {
		for _, ready := range b.ready {
			if err := ready(); err != nil {
				return err
			}
		}
		return nil
	})
}

// limited does not wait for what no signal can end: a system call that waits
// for a device that does not answer.
func limited(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(flushLimit):
		return fmt.Errorf("%s: no end after %s: is the device still there? (dmesg may tell)", what, flushLimit)
	}
}

// flush writes a file back, or the file system of a directory.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, statErr := f.Stat(); statErr == nil && st.IsDir() {
		return unix.Syncfs(int(f.Fd()))
	}
	return f.Sync()
}
