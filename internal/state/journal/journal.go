// Package journal is the undo log of every change that plimsoll makes to a
// host. A change is written and synced to the journal before it is made, so
// whatever a crash, kill -9 or power loss leaves behind can be found and
// undone by Clean, in reverse order.
//
// A kind of change is a type with a Change's methods, registered by Register.
// What every run makes is here: directories, files, mounts, processes, control
// groups, settings. What belongs to one layer or one engine lives beside it.
//
// Hazards. A journal is owned by one live process, which holds a lock on it
// for as long as it lives: Clean never touches a journal that is locked. An
// undo only touches what it can recognise as made by that journal: a path
// that carries the run's name, a loop device by its backing file, a process
// by a mark in its environment, a file system, an array or a physical volume
// by the UUID it was given. The
// kernel names mounts and backing files by paths without symbolic links, so
// these are the paths that a journal keeps.
package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/runid"
	"plimsoll/internal/state/statedir"
)

// Change is one change to the host. Its exported fields are what the journal
// keeps; they are written before the change is made and, since making it may
// teach more (a pid), again after.
type Change interface {
	// What describes the change for people: "mount /dev/loop3 on /mnt".
	What() string
	// Prepare is called before the change is written. It fills in fields that Undo needs and that are unknown later,
	// and refuses a change whose undo would remove what the run did not make.
	Prepare() error
	// Check returns an error if no run of that scope can have made the change. It judges by the fields and touches
	// nothing.
	Check(s Scope) error
	// Undo reverts the change. It succeeds if there is nothing left to undo. Only a Journal calls it, for changes
	// that pass Check. mark is carried by the processes that the change started.
	Undo(ctx context.Context, mark string) error
}

// MarkVariable is the environment variable that marks every process started
// by a run; its value is JOURNAL/SEQ, the journal's path and the step in it.
// Children inherit it.
const MarkVariable = "PLIMSOLL_STEP"

// record is one line of a journal.
type record struct {
	Seq    int             `json:"seq"`
	State  string          `json:"state"` // intent, made, undone; kept, released, committed
	Kind   string          `json:"kind,omitempty"`
	Change json.RawMessage `json:"change,omitempty"`
	Boot   string          `json:"boot,omitempty"` // of kept: the kernel's boot id
	Time   time.Time       `json:"time"`
}

// Entry is a change in a journal that has not been undone.
type Entry struct {
	Seq    int
	Change Change
	mark   string
	undone bool
}

// Journal is one run's undo log, open and locked. Its methods may be called concurrently, except for those that undo
// one and the same entry.
type Journal struct {
	path string // absolute, without symbolic links

	mu      sync.Mutex // guards what follows, and undone of each entry; not held while a change is made or undone
	file    *os.File
	size    int64 // length of the records; a failed write behind them is cut off
	broken  error // the reason why nothing more can be written
	entries []*Entry
	seq     int
	kept    bool // changes stay on purpose when the process ends

	readOnly bool // somebody else's: a line that is being written is no damage
}

// ErrLive is returned for a journal whose run is still under way.
var ErrLive = errors.New("its run is still under way")

// ErrWrite is in every error of a journal that cannot be written. The change
// was not made.
var ErrWrite = errors.New("no further change is made on this host")

// journals is the part of a state directory that has them.
const journals = "journal"

func journalDir(state string) string { return filepath.Join(state, journals) }

// Create starts the journal of a run below the state directory and locks it.
// Opening a journal that exists (a run that is resumed) goes on with it.
func Create(state, run string) (*Journal, error) {
	if err := runid.Check(run); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		var j *Journal
		dir, err := statedir.Make(state, journals)
		if err == nil {
			j, err = open(filepath.Join(dir, run+suffix), os.O_CREATE)
		}
		if errors.Is(err, os.ErrNotExist) && tries < 100 {
			continue // another run ended just now, and removed the directory
		}
		return j, err
	}
}

// State is the state directory, absolute and without symbolic links.
func (j *Journal) State() string { return filepath.Dir(filepath.Dir(j.path)) }

// open locks and replays the journal at path. It returns os.ErrNotExist for one that its run removes meanwhile.
func open(path string, flag int) (_ *Journal, err error) {
	// The directory itself may be no link, which opening it tells.
	dir, err := realPath(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	path = filepath.Join(dir, filepath.Base(path))
	f, err := openOwn(path, os.O_RDWR|os.O_APPEND|flag)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, file: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := filelock.Try(f, filelock.Alone); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = ErrLive
		}
		return nil, fmt.Errorf("lock journal %s: %w", path, err)
	}
	if err := j.checkPresent(); err != nil {
		return nil, err
	}
	if err := j.replay(); err != nil {
		return nil, err
	}
	// The journal must be found after a power loss: with its directory, and
	// with those above, which may be new too.
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for _, dir := range []string{j.State(), filepath.Dir(j.State())} {
		if err := syncDir(dir); err != nil && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	return j, nil
}

// checkPresent returns an error if the journal is no longer the file at its path. Clean would not find one that was
// removed.
func (j *Journal) checkPresent() error {
	named, err := os.Stat(j.path)
	if err != nil {
		return err
	}
	mine, err := j.file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, mine) {
		return fmt.Errorf("journal %s was replaced: %w", j.path, os.ErrNotExist)
	}
	return nil
}

// realPath is the path as the kernel names it: absolute, and without symbolic
// links but for the last word, which may not exist yet.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// replay reads the changes that are not undone yet. It removes a last line that a crash cut off: acting on it would
// have waited for the sync.
func (j *Journal) replay() error {
	open := map[int]*Entry{}
	in := bufio.NewReader(j.file)
	for n := 1; ; n++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			if text != "" && !j.readOnly {
				if err := j.file.Truncate(j.size); err != nil {
					return err
				}
			}
			break
		}
		if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return fmt.Errorf("journal %s line %d is damaged: %w", j.path, n, err)
		}
		j.size += int64(len(text))
		j.seq = max(j.seq, r.Seq)
		switch r.State {
		case "undone":
			delete(open, r.Seq)
			continue
		case "kept", "released":
			j.applyKeep(r)
			continue
		case "committed":
			clear(open)
			continue
		}
		kind, ok := registered.byName[r.Kind]
		if !ok {
			return fmt.Errorf("journal %s line %d: unknown kind of change %q; "+
				"another version of plimsoll wrote it: clean with that version", j.path, n, r.Kind)
		}
		c := kind.New()
		if err := json.Unmarshal(r.Change, c); err != nil {
			return fmt.Errorf("journal %s line %d: %w", j.path, n, err)
		}
		open[r.Seq] = &Entry{Seq: r.Seq, Change: c, mark: j.mark(r.Seq)}
	}
	for _, e := range open {
		j.entries = append(j.entries, e)
	}
	slices.SortFunc(j.entries, func(a, b *Entry) int { return a.Seq - b.Seq })
	return nil
}

// mark returns a mark that is unique to a step, also among journals of one run that was resumed with another state
// directory.
func (j *Journal) mark(seq int) string { return fmt.Sprintf("%s/%d", j.path, seq) }

// write appends a record and syncs it. When it fails, the journal is unchanged, or refuses further writes.
func (j *Journal) write(e *Entry, state string) error {
	r := record{Seq: e.Seq, State: state}
	if state != "undone" {
		kind, err := kindOf(e.Change)
		if err != nil {
			return err
		}
		b, err := json.Marshal(e.Change)
		if err != nil {
			return err
		}
		r.Kind, r.Change = kind, b
	}
	return j.append(r)
}

// append writes one line.
func (j *Journal) append(r record) error {
	r.Time = time.Now().UTC()
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if j.broken != nil {
		return j.broken
	}
	if err := j.checkPresent(); err != nil {
		return fmt.Errorf("the journal of the run was removed: %w; %w", err, ErrWrite)
	}
	if _, err := j.file.Write(append(b, '\n')); err != nil {
		if cutErr := j.file.Truncate(j.size); cutErr != nil {
			j.broken = fmt.Errorf("%w; %w; %w", err, cutErr, ErrWrite)
		}
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			err = fmt.Errorf("%w; free some space there", err)
		}
		return fmt.Errorf("%w; %w", err, ErrWrite)
	}
	j.size += int64(len(b)) + 1
	if err := j.file.Sync(); err != nil {
		// The kernel tells of a lost write once; the next sync would succeed.
		j.broken = fmt.Errorf("%w; %w", err, ErrWrite)
		return j.broken
	}
	return nil
}

// Do writes the change to the journal and then calls make with the mark that processes it starts must carry in
// MarkVariable. make may fill in fields of the change that are known only afterwards. When make fails, Do undoes the
// change at once.
func (j *Journal) Do(ctx context.Context, c Change, make func(mark string) error) (*Entry, error) {
	if err := c.Prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.What(), err)
	}
	if err := c.Check(j.scope()); err != nil {
		return nil, fmt.Errorf("%s: %w", c.What(), err)
	}
	j.mu.Lock()
	j.seq++
	e := &Entry{Seq: j.seq, Change: c, mark: j.mark(j.seq)}
	err := j.write(e, "intent")
	if err == nil {
		j.entries = append(j.entries, e)
	}
	j.mu.Unlock()
	if err != nil {
		return nil, err
	}
	crashPoint(e.Seq, "intent")
	if err := make(e.mark); err != nil {
		if undoErr := j.Undo(context.WithoutCancel(ctx), e); undoErr != nil {
			return nil, errors.Join(err, undoErr)
		}
		return nil, err
	}
	j.mu.Lock()
	err = j.write(e, "made")
	j.mu.Unlock()
	if err != nil {
		return e, err
	}
	crashPoint(e.Seq, "made")
	return e, nil
}

// Undo reverts one change and records that. Undoing twice does nothing.
func (j *Journal) Undo(ctx context.Context, e *Entry) error {
	if e == nil || j.isUndone(e) {
		return nil
	}
	if err := e.Change.Check(j.scope()); err != nil {
		return fmt.Errorf("undo: %s: %w", e.Change.What(), err)
	}
	if err := inTime(undoLimit, func() error { return e.Change.Undo(ctx, e.mark) }); err != nil {
		return fmt.Errorf("undo: %s: %w", e.Change.What(), err)
	}
	crashPoint(e.Seq, "undo")
	j.mu.Lock()
	defer j.mu.Unlock()
	e.undone = true
	j.entries = slices.DeleteFunc(j.entries, func(o *Entry) bool { return o == e })
	// Where this cannot be written (a full disk), Clean undoes the change once
	// more, which does no harm.
	_ = j.write(e, "undone")
	crashPoint(e.Seq, "undone")
	return nil
}

func (j *Journal) isUndone(e *Entry) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return e.undone
}

// UndoEach reverts changes, the last one first. It goes on after a failure, and returns all failures.
func (j *Journal) UndoEach(ctx context.Context, entries []*Entry) error {
	var all []error
	for _, e := range slices.Backward(entries) {
		all = append(all, j.Undo(ctx, e))
	}
	return errors.Join(all...)
}

// undoLimit bounds the undo of one change. Undoing an engine takes longest, and less than this.
const undoLimit = 5 * time.Minute

// inTime does not wait for what no signal can end: a system call that waits
// for a device that does not answer.
func inTime(limit time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("no end after %s: the kernel waits for a device that does not answer (dmesg may show which)", limit)
	}
}

// Pending lists the changes not undone, oldest first.
func (j *Journal) Pending() []*Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// UndoAll reverts every change, newest first. It goes on after a failure, calls report for each change (nil for
// silence), and returns all failures.
func (j *Journal) UndoAll(ctx context.Context, report func(what string, err error)) error {
	var errs []error
	for _, e := range slices.Backward(j.Pending()) {
		err := j.Undo(ctx, e)
		if report != nil {
			report(e.Change.What(), err)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close releases the journal. One with nothing left to undo is removed,
// together with state directories that are empty by then.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == 0 && !j.readOnly {
		if err := os.Remove(j.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		dir := filepath.Dir(j.path)
		// Not empty means that others are at work there; that is no error.
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir))
	}
	return j.file.Close()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// CrashVariable makes a process end itself by SIGKILL at a step of its
// journal, so that tests can show that Clean repairs a crash at every single
// one: SEQ:intent, SEQ:made, SEQ:undo (undone, and not noted yet) or
// SEQ:undone.
const CrashVariable = "PLIMSOLL_CRASH_AT"

func crashPoint(seq int, state string) {
	if at := os.Getenv(CrashVariable); at != "" && at == fmt.Sprintf("%d:%s", seq, state) {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {} // until the signal arrives
	}
}
