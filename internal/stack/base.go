package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/sudouser"
)

// Base is a stack that is up, without the places in which its workloads run. Only Place can be called concurrently.
type Base struct {
	Devices []result.Device // top first, down to the disk under a loop
	Disks   []blockdev.Disk // that hold its bytes; none if they are unknown
	Facts   []result.Fact   // read back from the host
	Region  int             // Number of the region of the disk that it stands on; 0 for none of the run's making
	Remote  Remote          // identity of a remote device at its host; zero for a local device

	env       *Env
	line      line.Line
	name      string
	block     string   // device that file systems are made on, and raw workloads use
	blocks    []string // devices of the sources that are joined, before a layer makes one of them
	sizeBytes int64    // of block
	ownsBlock bool     // the base removes block at its end
	exclusive []string // kernel names of the sources' devices, which no one else may use
	hostFS    string   // type of the host's file systems that hold the sources, if any do
	dir       string   // mounted directory, on the host
	golden    string   // directory of data that is copied to places; "" until it is made
	elsewhere bool     // another party started the server that is measured
	pooled    string   // ZFS pool of its dataset; "" for none
	pool      *pool    // from which a storage driver makes thin devices; nil for none
	flush     []string
	ready     []func() error // before each trial, in this order
	undo      []*journal.Entry
	locks     []*os.File     // on devices, while the base is up
	view      *layer         // of the places; nil for the host's
	engine    *engine        // runs the base's containers; nil for none
	shared    bool           // other bases use the engine too
	worker    *sudouser.User // owner of the processes in its directory; nil for this process's user
	mu        sync.Mutex     // guards places, which goroutines add to
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
		if p.Gives == line.View {
			if err := checkViewIsRoots(parts[0].node, b.base.worker); err != nil {
				return err
			}
		}
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
	return b.do(ctx, &journal.Dir{Path: path}, func(string) error { return b.base.mkdir(path) })
}

// mkdir makes a directory with the rights that the base's files are worked with.
func (b *Base) mkdir(path string) error {
	if b.worker == nil {
		return os.Mkdir(path, 0o755)
	}
	return b.worker.Do(func() error { return os.Mkdir(path, 0o755) })
}

// recordHostFS notes the type of the host's file system that holds a source.
func (b *build) recordHostFS(dir string) error {
	m, err := blockdev.MountOf(b.env.Host.Roots, dir)
	if err != nil {
		return err
	}
	if b.base.hostFS == "" || b.base.hostFS == m.FSType {
		b.base.hostFS = m.FSType
	} else {
		b.base.hostFS += "+" + m.FSType
	}
	return nil
}

func (b *build) fact(name, value string) {
	b.base.Facts = append(b.base.Facts, result.Fact{Name: name, Value: strings.TrimSpace(value)})
}

// finish fills in what follows from the layers.
func (b *build) finish() error {
	path := b.base.dir
	if path == "" || b.base.pooled != "" { // the mount of a dataset names no device
		path = b.base.block
	}
	devices, err := blockdev.Chain(b.env.Host.Roots, path)
	if err != nil {
		return fmt.Errorf("find the devices under %s: %w", path, err)
	}
	if b.base.pooled != "" {
		devices[0].Pool = b.base.pooled
	}
	b.base.Devices, b.base.Disks = devices, b.base.disks(devices)
	b.base.Facts = append(b.base.Facts, schedulers(devices, nil)...)
	if b.base.dir != "" && (b.base.view == nil || b.base.view == volume) { // a writable layer passes no promise on
		if u, err := blockdev.FileAtomicWrites(b.base.dir); err == nil {
			b.base.Facts = append(b.base.Facts, result.AtomicFact(u))
		}
	}
	if b.base.dir != "" {
		b.base.flush = slices.Insert(b.base.flush, 0, b.base.dir)
	}
	return nil
}

// schedulers returns the I/O schedulers of those devices that were not reported before.
func schedulers(devices, reported []result.Device) (facts []result.Fact) {
	for _, d := range devices {
		if slices.ContainsFunc(reported, func(other result.Device) bool { return other.Name == d.Name }) {
			continue
		}
		text, err := os.ReadFile("/sys/block/" + d.Name + "/queue/scheduler")
		if err == nil {
			facts = append(facts, result.Fact{Name: "I/O scheduler of " + d.Name, Value: strings.TrimSpace(string(text))})
		}
	}
	return facts
}

// disks returns the disks under devices of the base; none where they cannot be found, in which case other processes'
// use of them is not reported.
func (b *Base) disks(devices []result.Device) []blockdev.Disk {
	disks, err := blockdev.Disks(b.env.Host.Roots, devices, b.exclusive, b.hostFS)
	if err != nil {
		return nil
	}
	return disks
}

// Down takes down the places, the last one first, and then the base, topmost layer
// first.
func (b *Base) Down(ctx context.Context) error {
	var failures []error
	if b.shared && !b.engine.docker.Answers(ctx) {
		// Its containers would stay, and hold what is below them.
		failures = append(failures, b.env.release(ctx, b.engine))
	}
	b.shared = false
	places := slices.Clone(b.places)
	errs := make([]error, len(places))
	var group sync.WaitGroup
	for i, p := range places {
		group.Go(func() { errs[i] = p.takeDown(ctx) })
	}
	group.Wait()
	for _, p := range places {
		p.forget()
	}
	failures = append(failures, errs...)
	failures = append(failures, b.env.Journal.UndoEach(ctx, b.undo))
	b.undo = nil
	for _, l := range b.locks {
		l.Close()
	}
	b.locks = nil
	return errors.Join(failures...)
}

// flushLimit bounds the time for writing back data that a trial left in memory.
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
	return doWithLimit("flush "+strings.Join(paths, ", "), func() error {
		for _, path := range paths {
			if err := flush(path); err != nil {
				return fmt.Errorf("flush %s: %w", path, err)
			}
		}
		return nil
	})
}

// Ready runs the layers' preparations for the next trial. Call Flush first.
func (b *Base) Ready() error {
	return doWithLimit("make the stack ready for a trial", func() error {
		for _, ready := range b.ready {
			if err := ready(); err != nil {
				return err
			}
		}
		return nil
	})
}

// doWithLimit runs do, and gives up on it after a while: a system call on a device that does not answer ignores
// signals.
func doWithLimit(operation string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(flushLimit):
		return fmt.Errorf("%s: no end after %s: is the device still there? (dmesg may show)", operation, flushLimit)
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
