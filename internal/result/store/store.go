// Package store keeps a run on disk, in a directory of its own:
//
//	results.db   SQLite: the truth. A trial is committed and synced when it ends
//	run.json     a snapshot for people and scripts, replaced at the start and at every end
//	artifacts/   one directory per trial: <seq>-<stack>-<workload>-<repeat>
//	report.html  written by the report
//	run.lock     while a process writes the run
//
// One process writes a run, held to that by a lock that dies with it; any
// number may read meanwhile. A crash or a power loss at any moment leaves
// every trial that SaveTrial acknowledged. docs/reference/results.md describes the
// files for those who read them without this package.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/runid"
	"plimsoll/internal/state/sudouser"
)

// What a run directory holds.
const (
	RunFile      = "run.json"
	ResultsFile  = "results.db"
	ReportFile   = "report.html"
	ArtifactsDir = "artifacts"
	lockFile     = "run.lock"
)

// Store is a run directory that this process writes. Its methods may be
// called from several goroutines. What it makes belongs to the user behind
// sudo, when there is one: it is made with that user's rights on files.
type Store struct {
	dir    string
	worker sudouser.User // as whom files of the directory are opened
	db     *sql.DB
	lock   *lock

	mu  sync.Mutex // guards run and the database
	run result.Run
}

// Create makes dir, with the parents it lacks, and stores the run's header
// and its planned trials there. It refuses a directory that holds a run.
// When it fails, what it made is gone again.
func Create(dir string, run result.Run) (_ *Store, err error) {
	if err := runid.Check(run.ID); err != nil {
		return nil, err
	}
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	made, err := sudouser.MkdirAll(dir, 0o755)
	defer func() {
		if err != nil {
			for _, d := range slices.Backward(made) {
				_ = os.Remove(d)
			}
		}
	}()
	if err != nil {
		return nil, explain("making the run directory", dir, err)
	}
	s := &Store{dir: dir, run: copyRun(run)}
	s.run.Schema = result.SchemaVersion
	if s.worker, err = sudouser.Worker(dir); err != nil {
		return nil, err
	}
	if err := s.worker.Do(s.create); err != nil {
		return nil, err
	}
	return s, nil
}

// create makes the files of a new run.
func (s *Store) create() (err error) {
	if s.lock, err = acquire(s.dir); err != nil {
		return err
	}
	// Another process may have been faster between the first look and the lock.
	if err := Vacant(s.dir); err != nil {
		s.lock.release()
		return err
	}
	defer func() {
		if err != nil {
			_ = s.Close()
			for _, name := range []string{RunFile, ResultsFile, ResultsFile + "-journal"} {
				_ = os.Remove(filepath.Join(s.dir, name))
			}
		}
	}()
	if err := newDatabase(s.dir); err != nil {
		return explain("making the result database", s.dir, err)
	}
	if s.db, err = openDB(s.dir, readWrite); err != nil {
		return explain("making the result database", s.dir, err)
	}
	if err := createRun(s.db, s.run); err != nil {
		return explain("storing the plan of the run", s.dir, err)
	}
	return s.writeSnapshot()
}

// Open opens a run to go on with it, and marks it as running. It refuses a
// run that another process is writing.
func Open(dir string) (*Store, error) {
	if err := checkIsRun(dir); err != nil {
		return nil, err
	}
	worker, err := sudouser.Worker(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, worker: worker}
	if err := worker.Do(s.open); err != nil {
		return nil, err
	}
	return s, nil
}

// open opens the files of a run that is there.
func (s *Store) open() (err error) {
	if err := checkNoLinks(s.dir); err != nil {
		return err
	}
	if err := checkSnapshot(s.dir); err != nil {
		return explain("opening the run", s.dir, err)
	}
	if s.lock, err = acquire(s.dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.db, err = openDB(s.dir, readWrite); err != nil {
		return explain("opening the result database", s.dir, err)
	}
	if s.run, err = loadRun(s.db); err != nil {
		return explain("reading the run", s.dir, err)
	}
	s.run.Status, s.run.Finished = result.RunRunning, time.Time{}
	return s.saveHeader()
}

// change calls f, which writes the run, with the rights of the worker, one at a time.
func (s *Store) change(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker.Do(f)
}

// Read reads a run without changing anything: its directory may be
// read-only, and another process may be writing the run.
func Read(dir string) (*result.Run, error) {
	if err := checkIsRun(dir); err != nil {
		return nil, err
	}
	if err := checkSnapshot(dir); err != nil {
		return nil, explain("reading the run", dir, err)
	}
	run, err := readRun(dir)
	if needsRollback(err) {
		run, err = readRolledBack(dir)
	}
	if err != nil {
		return nil, explain("reading the run", dir, err)
	}
	return &run, nil
}

// ReadSeries reads what was sampled while the trial of that number ran; nothing
// for a trial without series. It changes nothing, as Read does.
func ReadSeries(dir string, seq int) ([]result.Series, error) {
	if err := checkIsRun(dir); err != nil {
		return nil, err
	}
	db, err := openDB(dir, readOnly)
	if err != nil {
		return nil, explain("reading the series of the run", dir, err)
	}
	defer db.Close()
	all, err := loadSeries(db, seq)
	if err != nil {
		return nil, explain("reading the series of the run", dir, err)
	}
	return all, nil
}

// Dir is the run directory.
func (s *Store) Dir() string { return s.dir }

// Run returns a copy of the run as it is stored.
func (s *Store) Run() *result.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := copyRun(s.run)
	return &run
}

// SaveTrial stores a trial that ended: done, failed or skipped. Once it
// returns nil, the trial outlives a power loss. Stack, workload and place in
// the plan must be those that were planned, and a trial ends only once.
//
// When the disk is full, errors.Is(err, syscall.ENOSPC) holds, nothing of
// the trial is stored, and SaveTrial may be called again.
func (s *Store) SaveTrial(t result.Trial) error {
	return s.change(func() error { return s.saveTrial(t) })
}

func (s *Store) saveTrial(t result.Trial) error {
	subject := fmt.Sprintf("storing trial %d (%s, %s, repeat %d)", t.Seq, t.Stack, t.Mix, t.Repeat)
	i := t.Seq - 1
	if i < 0 || i >= len(s.run.Trials) || s.run.Trials[i].Seq != t.Seq {
		return fmt.Errorf("%s: the run has no such trial", subject)
	}
	planned := s.run.Trials[i]
	switch {
	case t.Status == result.TrialPlanned || t.Status == "":
		return fmt.Errorf("%s: it has not ended", subject)
	case planned.Status != result.TrialPlanned:
		return fmt.Errorf("%s: it is stored already, as %s", subject, planned.Status)
	case planned.Stack != t.Stack || planned.Mix != t.Mix || planned.Repeat != t.Repeat || planned.Block != t.Block:
		return fmt.Errorf("%s: planned was %s, %s, repeat %d in round %d", subject, planned.Stack, planned.Mix,
			planned.Repeat, planned.Block)
	}
	if err := endTrial(s.db, t); err != nil {
		return explain(subject, s.dir, err)
	}
	t.Series = nil // see ReadSeries
	s.run.Trials[i] = t
	return nil
}

// Plan adds trials to the plan, behind those that are there.
func (s *Store) Plan(trials []result.Trial) error {
	return s.change(func() error { return s.plan(trials) })
}

func (s *Store) plan(trials []result.Trial) error {
	for i, t := range trials {
		if t.Seq != len(s.run.Trials)+i+1 || t.Status != result.TrialPlanned {
			return fmt.Errorf("planning trial %d (%s) in %s: planned trials follow upon the %d that are there", t.Seq,
				t.Status, s.dir, len(s.run.Trials))
		}
	}
	if err := addTrials(s.db, trials); err != nil {
		return explain("storing more of the plan", s.dir, err)
	}
	s.run.Trials = append(s.run.Trials, trials...)
	return nil
}

// Withdraw removes the last trials of the plan, which must not have been run. Seq stays without gaps.
func (s *Store) Withdraw(trials int) error {
	return s.change(func() error { return s.withdraw(trials) })
}

func (s *Store) withdraw(trials int) error {
	keep := len(s.run.Trials) - trials
	if trials < 0 || keep < 0 {
		return fmt.Errorf("withdrawing %d trials from %s: it has %d", trials, s.dir, len(s.run.Trials))
	}
	for _, t := range s.run.Trials[keep:] {
		if t.Status != result.TrialPlanned {
			return fmt.Errorf("withdrawing trial %d from %s: it was run (%s)", t.Seq, s.dir, t.Status)
		}
	}
	if err := removeTrials(s.db, keep); err != nil {
		return explain("withdrawing trials from the plan", s.dir, err)
	}
	s.run.Trials = s.run.Trials[:keep]
	return nil
}

// SaveHeader stores everything of the run but its id, its schema and its
// trials, which stay as they are.
func (s *Store) SaveHeader(run result.Run) error {
	return s.change(func() error { return s.replaceHeader(run) })
}

func (s *Store) replaceHeader(run result.Run) error {
	if run.ID != s.run.ID {
		return fmt.Errorf("storing the header of run %s in %s: it holds run %s", run.ID, s.dir, s.run.ID)
	}
	old := s.run
	s.run = copyRun(run)
	s.run.Schema, s.run.Trials = old.Schema, old.Trials
	if err := s.saveHeader(); err != nil {
		s.run = old
		return err
	}
	return nil
}

// SetStack stores what became known of a stack, by its name.
func (s *Store) SetStack(stack result.Stack) error {
	return s.change(func() error { return s.setStack(stack) })
}

func (s *Store) setStack(stack result.Stack) error {
	i := slices.IndexFunc(s.run.Stacks, func(p result.Stack) bool { return p.Name == stack.Name })
	if i < 0 {
		return fmt.Errorf("storing stack %q in %s: the run has no such stack", stack.Name, s.dir)
	}
	old := s.run.Stacks[i]
	s.run.Stacks[i] = stack
	if err := saveHeader(s.db, s.run); err != nil {
		s.run.Stacks[i] = old
		return explain("storing stack "+stack.Name, s.dir, err)
	}
	return nil
}

// Finish stores how the run ended, and when, and replaces run.json.
func (s *Store) Finish(status result.RunStatus) error {
	return s.change(func() error { return s.finish(status) })
}

func (s *Store) finish(status result.RunStatus) error {
	s.run.Status, s.run.Finished = status, time.Now().UTC()
	return s.saveHeader()
}

// minRoom is the space in bytes that a trial's record and the smallest artifacts take.
const minRoom = 64 << 10

// IsFull reports whether the file system of the run directory has no room for
// another trial.
func (s *Store) IsFull() bool {
	var room unix.Statfs_t
	if err := unix.Statfs(s.dir, &room); err != nil {
		return false
	}
	noInodes := room.Files > 0 && room.Ffree == 0
	return noInodes || room.Bavail*uint64(room.Bsize) < minRoom
}

// Close releases the run's lock. It does not finish the run.
func (s *Store) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.worker.Do(func() error {
		s.lock.release()
		return nil
	}))
}

// saveHeader stores the header and replaces run.json.
func (s *Store) saveHeader() error {
	if err := saveHeader(s.db, s.run); err != nil {
		return explain("storing the header of the run", s.dir, err)
	}
	return s.writeSnapshot()
}

// copyRun copies those parts of a run that the store changes.
func copyRun(run result.Run) result.Run {
	run.Stacks, run.Trials = slices.Clone(run.Stacks), slices.Clone(run.Trials)
	return run
}

// Vacant returns an error if dir cannot take a new run.
func Vacant(dir string) error {
	for _, name := range []string{ResultsFile, RunFile} {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
			return problem.New(problem.Invalid, inputfile.Located(dir)+" holds a run already ("+name+")", "",
				"choose another directory, or go on with that run: --resume "+dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return explain("looking for a run", dir, err)
		}
	}
	for path := dir; ; path = filepath.Dir(path) { // the nearest existing directory decides whether dir can be made
		err := unix.Access(path, unix.W_OK|unix.X_OK)
		if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
			continue
		}
		if err != nil {
			return explain("making the run directory", dir, &fs.PathError{Op: "write", Path: path, Err: err})
		}
		return nil
	}
}

// databaseFiles are the database, and what SQLite may open beside it.
var databaseFiles = []string{ResultsFile, ResultsFile + "-journal", ResultsFile + "-wal", ResultsFile + "-shm"}

// checkIsRun returns an error if dir cannot be read as a run.
func checkIsRun(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return explain("opening the run", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("opening the run %s: it is not a directory; a run is one, with %s in it", dir, ResultsFile)
	}
	// SQLite opens these, and would wait for whoever writes a pipe.
	for _, name := range databaseFiles {
		err = inputfile.Check(filepath.Join(dir, name))
		var other *inputfile.NotRegular
		switch {
		case errors.As(err, &other):
			return fmt.Errorf("opening the run in %s: %s is %s, which is not opened: a run keeps its results in regular files",
				dir, name, inputfile.Kind(other.Mode))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return explain("opening the run", dir, err)
		}
	}
	if _, err = os.Stat(filepath.Join(dir, ResultsFile)); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, RunFile)); err == nil {
		return fmt.Errorf("opening the run in %s: %s is missing; %s alone has no latency histograms and cannot stand "+
			"in for it", dir, ResultsFile, RunFile)
	}
	return errNoRun(
		"there is no run in "+inputfile.Located(dir),
		"a run keeps its results in "+ResultsFile+", which it has not",
	)
}

// checkNoLinks returns an error if writing into a run directory could follow a link out of it: somebody else may have
// made the directory. run.json and the report are replaced, never followed, and the lock refuses links by itself.
func checkNoLinks(dir string) error {
	for name, isDirectory := range map[string]bool{ResultsFile: false, ResultsFile + "-journal": false,
		ArtifactsDir: true} {
		path := filepath.Join(dir, name)
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return explain("looking at the run", dir, &fs.PathError{Op: "lstat", Path: path, Err: err})
		}
		kind := st.Mode & unix.S_IFMT
		switch {
		case kind == unix.S_IFLNK:
			return fmt.Errorf("writing the run in %s: %s is a link, and what is written there would go to another place:  "+
				"plimsoll makes none; copy the run without links", dir, name)
		case isDirectory && kind != unix.S_IFDIR, !isDirectory && (kind != unix.S_IFREG || st.Nlink > 1):
			return fmt.Errorf("writing the run in %s: %s was not made by plimsoll: copy the run to a new "+
				"directory", dir, name)
		}
	}
	return nil
}

// explain makes an error for people: what failed, where, why, and what to do
// when that is known. Errors of a full disk are syscall.ENOSPC in any case.
func explain(action, dir string, err error) error {
	err = cut{err}
	var path *fs.PathError
	switch {
	case isFull(err):
		return fmt.Errorf("%s in %s: the file system there is full: free some space, then go on with --resume: %w",
			action, dir, syscall.ENOSPC)
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &path) && path.Path == dir:
		return fmt.Errorf("%s: %w", action, inputfile.NotThere("directory", dir))
	case isMoved(err):
		return fmt.Errorf("%s: %s was removed or moved while the run was under way", action, dir)
	case isDamaged(err):
		return fmt.Errorf("%s in %s: %s is damaged, or another program's: %w", action, dir, ResultsFile, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s in %s: %w: run as the user who owns it, or as root", action, dir, err)
	}
	return fmt.Errorf("%s in %s: %w", action, dir, err)
}
