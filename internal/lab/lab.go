package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"plimsoll/internal/state/filelock"
)

// Options describe a lab.
type Options struct {
	Dir      string // of the lab: images, and a directory for each lab that runs
	Binary   string // plimsoll, which the guests get
	Machines []Machine
	Keep     bool         // keep the machines' files when they end
	Note     func(string) // called with each step
}

// Validate returns all problems with the machines.
func (o Options) Validate() error {
	var problems []error
	for _, m := range o.Machines {
		if m.CPUs < 0 || m.CPUs > 64 {
			problems = append(problems, fmt.Errorf("%s: %d CPUs; it takes 1 to 64", m.Name, m.CPUs))
		}
		if m.Memory < leastMemory {
			problems = append(problems,
				fmt.Errorf("%s: %d MiB of memory; the guest needs %d", m.Name, m.Memory>>20, leastMemory>>20))
		}
		if n := len(m.Drives); n > mostDrives {
			problems = append(problems, fmt.Errorf("%s: %d drives; there is room for %d", m.Name, n, mostDrives))
		}
	}
	return errors.Join(problems...)
}

const (
	leastMemory = 512 << 20
	mostDrives  = 16 // slots of the emulated mainboard
)

// LeastDrive is the size in bytes from which on a drive holds a file system.
const LeastDrive = 64 << 20

// Lab is machines that run.
type Lab struct {
	Accelerator Accelerator
	Dir         string // of these machines: one directory for each, and the lock

	machines []*machine
	lock     *os.File
	keep     bool
	once     sync.Once
}

// upName is the directory of the lab that stays until it is taken down.
const upName = "up"

// Start starts the machines and waits until all answer. They end with Close,
// and with this process.
func Start(ctx context.Context, o Options, name string) (_ *Lab, err error) {
	if err := errors.Join(o.Validate(), needQEMU()); err != nil {
		return nil, err
	}
	image, err := FindImage(o.Dir, DefaultRecipe())
	if err != nil {
		return nil, err
	}
	if err := checkBinary(o.Binary); err != nil {
		return nil, err
	}
	if err := Sweep(ctx, o.Dir); err != nil {
		return nil, err
	}
	accel, err := accelerator(ctx, o.Dir, image, o.Note)
	if err != nil {
		return nil, err
	}
	l := &Lab{Accelerator: accel, keep: o.Keep}
	if err := l.claim(ctx, o.Dir, name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, m := range o.Machines { // the server listens on the links, and is the first
		if m.CPUs == 0 {
			m.CPUs = accel.defaultCPUs(len(o.Machines))
		}
		o.Note("starting " + m.Name)
		if accel.stalls(m) {
			o.Note("this QEMU emulates " + strconv.Itoa(m.CPUs) +
				" processors in turns, and I/O may then stop for a minute: one processor, or QEMU 9.1, does not")
		}
		v, err := startMachine(filepath.Join(l.Dir, m.Name), m, files{Links: ".."}, accel,
			o.Binary, image)
		if err != nil {
			return nil, fmt.Errorf("start the virtual machine %s: %w", m.Name, err)
		}
		l.machines = append(l.machines, v)
		if m.Name == Server {
			if err := l.waitForLinks(ctx, v); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range l.machines {
		o.Note("waiting for " + v.Name + " to boot (" + accel.Name + ")")
		if err := v.ready(ctx, accel.Name); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// claim makes the lab's directory and locks it, as long as this process lives.
func (l *Lab) claim(ctx context.Context, dir, name string) error {
	vms := filepath.Join(dir, "vms")
	if err := makeDir(dir, "vms", 0o700); err != nil {
		return err
	}
	// Between making a directory and locking it, it looks like one left behind.
	turn, err := takeTurn(ctx, filepath.Join(dir, turnFile))
	if err != nil {
		return err
	}
	defer turn.Close()
	if name == "" {
		l.Dir, err = os.MkdirTemp(vms, "run-")
	} else {
		l.Dir = filepath.Join(vms, name)
		err = os.Mkdir(l.Dir, 0o700)
	}
	if err != nil {
		return err
	}
	l.lock, err = lockFile(filepath.Join(l.Dir, "lock"))
	return err
}

// waitForLinks waits until the server listens for its peers.
func (l *Lab) waitForLinks(ctx context.Context, v *machine) error {
	for _, peer := range v.Peers {
		if err := waitFor(ctx, filepath.Join(l.Dir, linkFile(peer)), v.ended); err != nil {
			return fmt.Errorf("the private network: %w%s", err, v.errorOutput())
		}
	}
	return nil
}

// Close stops the machines and removes their files.
func (l *Lab) Close() error {
	var err error
	l.once.Do(func() {
		for _, v := range l.machines {
			v.stop()
		}
		if l.keep {
			err = os.WriteFile(filepath.Join(l.Dir, keptFile), nil, 0o600)
			giveTree(l.Dir)
		} else {
			err = os.RemoveAll(l.Dir)
		}
		l.lock.Close()
	})
	return err
}

// turnFile is the lock for making, and sweeping away, directories of labs.
const turnFile = "vms.lock"

// keptFile marks the directory of machines that ended and were to be kept.
const keptFile = "kept"

// Machine returns the directory of a machine, in which Run runs commands.
func (l *Lab) Machine(name string) string { return filepath.Join(l.Dir, name) }

// Ended returns a channel that is closed when the first machine ends.
func (l *Lab) Ended() <-chan struct{} {
	first := make(chan struct{})
	var once sync.Once
	for _, v := range l.machines {
		go func() {
			<-v.ended
			once.Do(func() { close(first) })
		}()
	}
	return first
}

// Why returns the last output of machines that ended.
func (l *Lab) Why() string {
	for _, v := range l.machines {
		select {
		case <-v.ended:
			return "the virtual machine " + v.Name + " ended" + v.errorOutput()
		default:
		}
	}
	return ""
}

// Sweep removes the directories of labs whose process was killed. Their machines ended with it, so that a directory
// without a lock is unused.
func Sweep(ctx context.Context, dir string) error {
	if err := checkTrusted(dir); err != nil {
		return err
	}
	// Links in a directory that another user may write are not followed out of it.
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	found, err := fs.Glob(root.FS(), "vms/*")
	if err != nil || len(found) == 0 {
		return err
	}
	turn, err := takeTurn(ctx, filepath.Join(dir, turnFile))
	if err != nil {
		return err
	}
	defer turn.Close()
	var problems []error
	for _, vm := range found {
		if _, err := root.Stat(filepath.Join(vm, keptFile)); err == nil {
			continue
		}
		lock, err := root.OpenFile(filepath.Join(vm, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		if err == nil {
			err = filelock.Try(lock, filelock.Alone)
			if err == nil {
				err = root.RemoveAll(vm)
			}
			lock.Close()
		}
		if !errors.Is(err, filelock.ErrHeld) { // it runs
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
