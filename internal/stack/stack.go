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

	"plimsoll/internal/cgroup"
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
	Regions  *Regions // that loop devices stand on in turn; nil for a file of each one's own

	volumes map[string]*volumeEngine // by storage driver
	engines int                      // of volumes that were started so far
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
	Disks   []observe.Disk  // that hold its bytes; none where they cannot be told
	Facts   []result.Fact   // read back from the host
	Region  int             // Number of the region of the disk that it stands on; 0 for none of the run's making
	Remote  Remote          // what the host that holds the device knows it by; zero for a device of this host

	block   string   // device that file systems are made on, and raw workloads use
	blocks  []string // devices of the sources that are joined, before a layer makes one of them
	own     bool     // block goes away with the stack
	alone   []string // kernel names of the sources' devices, which nobody else uses
	between string   // type of the host's file systems that hold the sources, if any do
	dir     string   // mounted directory, on the host
	pool    *pool    // that a storage driver makes thin devices of; nil for none
	holds   string   // block device that holds the workload's files, when it is not the one below dir
	files   string   // where the host finds these files then
	flush   []string
	ready   []func() error // before each trial, in this order
	execute executor       // where steps run
	env     *Env
	undo    []*journal.Entry
	shared  *volumeEngine // whose container it is, where stacks share the engine
	locks   []*os.File    // on devices, while the stack is up
}

// Remote is a namespace of a target, as that tells of it.
type Remote struct {
	Metrics   string // where it tells what it does; "" for nowhere
	NQN, UUID string
}

// executor runs a step's process and waits for it.
type executor interface {
	// stepGroup is the control group that steps run in, and nothing else; the
	// error is why they have none of their own.
	stepGroup() (*cgroup.Group, error)
	// ownGroup is that of all that runs for the steps: it is stepGroup, or above it.
	ownGroup() (*cgroup.Group, error)
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

// part is a source or layer of a line.
type part struct {
	*layer
	node  line.Node
	below []line.Node // of a layer: what is under it, source first
}

// resolve gives the parts of a line that was checked: its sources, and then
// what stands on them.
func resolve(l line.Line) ([]part, error) {
	below := line.Nothing
	var out []part
	add := func(n line.Node, under []line.Node) error {
		at := slices.IndexFunc(table, func(k *layer) bool { return k.Name == n.Name && k.Below == below })
		if at < 0 {
			return fmt.Errorf("stack %s: no %q stands on %s", l, n.Name, below)
		}
		out = append(out, part{table[at], n, under})
		return nil
	}
	sources := l.Sources()
	for _, n := range sources {
		if err := add(n, nil); err != nil {
			return nil, err
		}
	}
	for i := 1; i < len(l.Nodes); i++ {
		below = out[len(out)-1].Gives
		if i == 1 && len(sources) > 1 {
			below = line.Blocks
		}
		if err := add(l.Nodes[i], l.Nodes[:i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Marks are the caveats that a stack's numbers carry wherever they are shown.
func Marks(l line.Line) []result.Mark {
	parts, err := resolve(l)
	if err != nil {
		return nil
	}
	var marks []result.Mark
	for _, p := range parts {
		for _, m := range p.marks {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
	}
	return marks
}

// Plan lists what bringing the stack up changes on the host, for people.
func Plan(l line.Line) ([]string, error) {
	parts, err := resolve(l)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range parts {
		if p.plan != nil {
			out = append(out, p.plan(p.node)...)
		}
	}
	return out, nil
}

// Occupies names, for each source in its order, what only one stack at a time
// can stand on: the MAJ:MIN of a block device, or "" for a source that stacks
// do not take from each other.
func (e *Env) Occupies(l line.Line) []string {
	var out []string
	for _, source := range l.Sources() {
		if source.Name == nvmeofSource.Name {
			nqn, _ := source.Option("nqn")
			out = append(out, "subsystem "+nqn) // by whatever way it is reached
			continue
		}
		d, err := e.device(source)
		if err != nil {
			d.MajMin = ""
		}
		out = append(out, d.MajMin)
	}
	return out
}

// Check tells, touching nothing, what speaks against a stack that must hold
// need bytes: *Refused for a protected device, *Unsupported for what the host
// lacks.
func (e *Env) Check(ctx context.Context, l line.Line, need int64) error {
	parts, err := resolve(l)
	if err != nil {
		return err
	}
	sources := l.Sources()
	if err := e.checkSources(ctx, parts[:len(sources)], need); err != nil {
		return err
	}
	for _, p := range parts[len(sources):] {
		if p.check != nil {
			if err := p.check(ctx, e, p.node, need); err != nil {
				return err
			}
		}
		if p.checkOn != nil {
			if err := p.checkOn(e, p.below, p.node); err != nil {
				return err
			}
		}
	}
	return nil
}

// Up brings a stack up. When a layer fails, those below it are taken down
// again.
func (e *Env) Up(ctx context.Context, name string, l line.Line) (*Stack, error) {
	parts, err := resolve(l)
	if err != nil {
		return nil, err
	}
	s := &Stack{env: e}
	b := &build{Env: e, Stack: s, name: name, piecesUsed: map[string]int{}}
	sources := len(l.Sources())
	if sources > 1 {
		err, parts = b.upSources(ctx, parts[:sources]), parts[sources:]
		if err != nil {
			return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
		}
	}
	for _, p := range parts {
		e.trace("%s: %s", name, p.node.Name)
		if err := p.up(ctx, b, p.node); err != nil {
			return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
		}
	}
	if err := b.finish(ctx); err != nil {
		return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// build is a stack that is being brought up.
type build struct {
	*Env
	*Stack
	name       string
	piecesUsed map[string]int // by directory: loop devices that have their piece of the region
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

// within notes which file system of the host holds a source.
func (b *build) within(dir string) error {
	m, err := observe.MountOf(dir)
	if err != nil {
		return err
	}
	if b.between == "" || b.between == m.FSType {
		b.between = m.FSType
	} else {
		b.between += "+" + m.FSType
	}
	return nil
}

func (b *build) fact(name, value string) {
	b.Facts = append(b.Facts, result.Fact{Name: name, Value: strings.TrimSpace(value)})
}

// finish fills in what follows from the layers.
func (b *build) finish(ctx context.Context) error {
	path := b.dir
	if path == "" {
		path = b.block
	}
	if b.holds != "" {
		path = b.holds
	}
	devices, err := observe.Chain(path)
	if err != nil {
		return fmt.Errorf("find the devices under %s: %w", path, err)
	}
	b.Devices = devices
	if disks, err := observe.Disks(devices, b.alone, b.between); err == nil { // else nothing is told of neighbours
		b.Disks = disks
	}
	for _, d := range devices {
		if s, err := os.ReadFile("/sys/block/" + d.Name + "/queue/scheduler"); err == nil {
			b.fact("I/O scheduler of "+d.Name, string(s))
		}
	}
	if b.execute == nil {
		if b.execute, err = b.newHost(ctx); err != nil {
			return err
		}
	}
	if b.Target.Path == "" {
		b.Target.Path = path
		b.Target.Block = b.dir == ""
	}
	if b.Target.SizeBytes == 0 && b.dir != "" && b.holds == "" {
		var st unix.Statfs_t
		if err := unix.Statfs(b.dir, &st); err != nil {
			return fmt.Errorf("size of %s: %w", b.dir, err)
		}
		b.Target.SizeBytes = int64(st.Bavail) * st.Bsize
	}
	if b.dir != "" {
		b.flush = slices.Insert(b.flush, 0, b.dir)
	}
	if b.files != "" {
		b.flush = slices.Insert(b.flush, 0, b.files)
	}
	return nil
}

// Down takes the stack down, topmost layer first.
func (s *Stack) Down(ctx context.Context) error {
	var all []error
	if s.shared != nil && !s.shared.engine.Answers(ctx) {
		// Its containers would stay, and hold what is below them.
		all = append(all, s.env.release(ctx, s.shared))
	}
	s.shared = nil
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

// StepGroup returns the control group that the stack's steps run in, and nothing
// else. The error is why they have none of their own, and run where we do.
func (s *Stack) StepGroup() (*cgroup.Group, error) { return s.execute.stepGroup() }

// OwnGroup returns the control group of all that runs for the stack's steps: the
// steps themselves, and a container's engine. The error is why there is none.
func (s *Stack) OwnGroup() (*cgroup.Group, error) { return s.execute.ownGroup() }

// flushLimit is how long writing back what a trial left in memory may take.
var flushLimit = 15 * time.Minute

// Flush waits until what was written so far is on the device, from the file
// system of the stack down to the one that holds a loop device's file, so
// that late writing of one trial is not counted in the next.
func (s *Stack) Flush() error {
	return limited("flush "+strings.Join(s.flush, ", "), func() error {
		for _, path := range s.flush {
			if err := flush(path); err != nil {
				return fmt.Errorf("flush %s: %w", path, err)
			}
		}
		return nil
	})
}

// Ready does what the stack's layers want done right before each trial. It
// comes after Flush.
func (s *Stack) Ready() error {
	return limited("make the stack ready for a trial", func() error {
		for _, ready := range s.ready {
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
