// Package stack brings storage stacks up and takes them down: a source, the
// layers on it, and the path that a workload sees. Each kind of node is one
// file and one entry of the table in table.go.
//
// Hazards. This package writes to block devices, makes file systems, mounts
// them and starts Docker engines. Every such change goes through the run's
// journal first; a real block device is only written where the user named and
// allowed it and nothing uses it (see protect.go).
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

	"plimsoll/internal/hostinfo"
	"plimsoll/internal/journal"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
)

// Env is what stacks are made with.
type Env struct {
	Journal  *journal.Journal
	RunID    string   // part of every name that is made
	Work     string   // the run's own directory on disk, journalled by the runner
	Scratch  string   // holds the scratch directories of steps; seen by containers too
	Programs []string // what steps start; images carry them
	Host     *hostinfo.Host
	Allow    []Permission // what the user allowed with --destroy
	Trace    func(text string)
}

// trace tells what is being done, for people who watch.
func (e *Env) trace(format string, args ...any) {
	if e.Trace != nil {
		e.Trace(fmt.Sprintf(format, args...))
	}
}

// Unsupported is why this host cannot make a stack. Its trials are skipped.
type Unsupported struct{ result.Problem }

func (e *Unsupported) Error() string { return problemText(e.Problem) }

// Refused is why a device is protected. Nothing of the run is started.
type Refused struct{ result.Problem }

func (e *Refused) Error() string { return problemText(e.Problem) }

func problemText(p result.Problem) string {
	s := p.What + ": " + p.Why
	if p.Remedy != "" {
		s += " (" + p.Remedy + ")"
	}
	return s
}

// Stack is a stack that is up.
type Stack struct {
	Target  workload.Target
	Devices []result.Device // top first, down to the disk under a loop
	Facts   []result.Fact   // read back from the host

	block   string // device that file systems are made on, and raw workloads use
	own     bool   // block goes away with the stack
	dir     string // mounted directory, on the host
	flush   []string
	ready   []func() error // before each trial, in this order
	execute executor       // where steps run
	env     *Env
	undo    []*journal.Entry
	locks   []*os.File // on devices, while the stack is up
}

// executor runs a step's process and waits for it.
type executor interface {
	exec(ctx context.Context, p process) (workload.Exit, error)
	// sees translates a scratch directory of the host to what the process sees.
	sees(scratch string) string
}

// process is what an executor runs.
type process struct {
	argv   []string
	dir    string          // as the process sees it
	enough <-chan struct{} // when closed, the process is to end by itself; nil for never
}

// resolve gives the table's entry for each node of a line that was checked.
func resolve(l line.Line) ([]*layer, error) {
	below := line.Nothing
	out := make([]*layer, len(l.Nodes))
	for i, n := range l.Nodes {
		at := slices.IndexFunc(table, func(k *layer) bool { return k.Name == n.Name && k.Below == below })
		if at < 0 {
			return nil, fmt.Errorf("stack %s: no %q stands on %s", l, n.Name, below)
		}
		out[i] = table[at]
		below = table[at].Gives
	}
	return out, nil
}

// Marks are the caveats that a stack's numbers carry wherever they are shown.
func Marks(l line.Line) []result.Mark {
	layers, err := resolve(l)
	if err != nil {
		return nil
	}
	var marks []result.Mark
	for _, k := range layers {
		marks = append(marks, k.marks...)
	}
	return marks
}

// Plan lists what bringing the stack up changes on the host, for people.
func Plan(l line.Line) ([]string, error) {
	layers, err := resolve(l)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, k := range layers {
		if k.plan != nil {
			out = append(out, k.plan(l.Nodes[i])...)
		}
	}
	return out, nil
}

// Occupies names what only one stack at a time can stand on: the MAJ:MIN of a
// block device, or "" for a source that stacks do not take from each other.
func (e *Env) Occupies(l line.Line) string {
	if n := l.Nodes[0]; n.Name == nvmeofSource.Name {
		nqn, _ := n.Option("nqn")
		return "subsystem " + nqn // by whatever way it is reached
	}
	d, err := e.device(l.Nodes[0])
	if err != nil {
		return ""
	}
	return d.MajMin
}

// Check tells, touching nothing, what speaks against a stack that must hold
// need bytes: *Refused for a protected device, *Unsupported for what the host
// lacks.
func (e *Env) Check(ctx context.Context, l line.Line, need int64) error {
	layers, err := resolve(l)
	if err != nil {
		return err
	}
	for i, k := range layers {
		if k.check != nil {
			if err := k.check(ctx, e, l.Nodes[i], need); err != nil {
				return err
			}
		}
		if k.checkOn != nil {
			if err := k.checkOn(e, l.Nodes[:i], l.Nodes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Up brings a stack up. When a layer fails, those below it are taken down
// again.
func (e *Env) Up(ctx context.Context, name string, l line.Line) (*Stack, error) {
	layers, err := resolve(l)
	if err != nil {
		return nil, err
	}
	s := &Stack{env: e}
	b := &build{Env: e, Stack: s, name: name}
	for i, k := range layers {
		e.trace("%s: %s", name, l.Nodes[i].Name)
		if err := k.up(ctx, b, l.Nodes[i]); err != nil {
			return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
		}
	}
	if err := b.finish(); err != nil {
		return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// build is a stack that is being brought up.
type build struct {
	*Env
	*Stack
	name string
}

// do journals a change, makes it, and keeps it for Down.
func (b *build) do(ctx context.Context, c journal.Change, make func(mark string) error) error {
	entry, err := b.Journal.Do(ctx, c, make)
	if entry != nil {
		b.undo = append(b.undo, entry)
	}
	return err
}

// mkdir makes a directory of the stack's own.
func (b *build) mkdir(ctx context.Context, path string) error {
	return b.do(ctx, &journal.Dir{Path: path}, func(string) error { return os.Mkdir(path, 0o755) })
}

func (b *build) fact(name, value string) {
	b.Facts = append(b.Facts, result.Fact{Name: name, Value: strings.TrimSpace(value)})
}

// finish fills in what follows from the layers.
func (b *build) finish() error {
	path := b.dir
	if path == "" {
		path = b.block
	}
	devices, err := observe.Chain(path)
	if err != nil {
		return fmt.Errorf("find the devices under %s: %w", path, err)
	}
	b.Devices = devices
	for _, d := range devices {
		if s, err := os.ReadFile("/sys/block/" + d.Name + "/queue/scheduler"); err == nil {
			b.fact("I/O scheduler of "+d.Name, string(s))
		}
	}
	if b.execute == nil {
		b.execute = &host{journal: b.Journal}
	}
	if b.Target.Path == "" {
		b.Target.Path = path
		b.Target.Block = b.dir == ""
	}
	if b.Target.SizeBytes == 0 && b.dir != "" {
		var st unix.Statfs_t
		if err := unix.Statfs(b.dir, &st); err != nil {
			return fmt.Errorf("size of %s: %w", b.dir, err)
		}
		b.Target.SizeBytes = int64(st.Bavail) * st.Bsize
	}
	if b.dir != "" {
		b.flush = append([]string{b.dir}, b.flush...)
	}
	return nil
}

// Down takes the stack down, topmost layer first.
func (s *Stack) Down(ctx context.Context) error {
	var all []error
	for _, e := range slices.Backward(s.undo) {
		if err := s.env.Journal.Undo(ctx, e); err != nil {
			all = append(all, err)
		}
	}
	s.undo = nil
	for _, l := range s.locks {
		l.Close()
	}
	s.locks = nil
	return errors.Join(all...)
}

// flushLimit is how long writing back what a trial left in memory may take.
const flushLimit = 15 * time.Minute

// Flush waits until what was written so far is on the device, from the file
// system of the stack down to the one that holds a loop device's file, so
// that late writing of one trial is not counted in the next.
func (s *Stack) Flush() error {
	done := make(chan error, 1)
	go func() {
		for _, path := range s.flush {
			if err := flush(path); err != nil {
				done <- fmt.Errorf("flush %s: %w", path, err)
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(flushLimit):
		return fmt.Errorf("flush %s: no end after %s: is the device still there? (dmesg may tell)", strings.Join(s.flush, ", "), flushLimit)
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
