// Package dirstore keeps directories that are whole or not there: each is made under
// another name, and gets its own when all is in it. One that somebody holds is not
// removed.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/statedir"
	"plimsoll/internal/state/sudouser"
)

// Shelf is a directory of such directories, a part of a state directory. It need not be there.
type Shelf struct{ Dir string }

// unfinished begins the names of directories that are not complete.
const unfinished = ".new-"

// stale is the age from which an incomplete, unlocked directory is taken for one left by a crash. A writer locks its
// directory a moment after making it.
const stale = time.Minute

// ErrHeld is returned for a directory that is in use and cannot be removed.
var ErrHeld = errors.New("it is in use")

// Check returns why the shelf, or a directory on or below it, cannot be trusted; nil when it can.
func (s Shelf) Check(below ...string) error {
	return statedir.Check(filepath.Dir(s.Dir), append([]string{filepath.Base(s.Dir)}, below...)...)
}

// Names returns the names in the store, sorted.
func (s Shelf) Names() ([]string, error) {
	err := s.Check()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Path returns the path of a name, which need not exist.
func (s Shelf) Path(name string) string { return filepath.Join(s.Dir, name) }

// New makes a directory for something that is being made, and removes those that
// crashes left. done removes it, unless Put gave it away.
func (s Shelf) New() (dir string, done func() error, err error) {
	if _, err := statedir.Make(filepath.Dir(s.Dir), filepath.Base(s.Dir)); err != nil {
		return "", nil, err
	}
	if err := s.sweep(); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(s.Dir, unfinished)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockExclusive(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// lockExclusive locks a directory exclusively until the returned file is closed. It fails with ErrHeld where another
// process has it locked.
func lockExclusive(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f, filelock.Alone)
	if errors.Is(err, filelock.ErrHeld) {
		err = ErrHeld
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes unlocked directories that crashes left.
func (s Shelf) sweep() error {
	left, err := filepath.Glob(filepath.Join(s.Dir, unfinished+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || time.Since(info.ModTime()) < stale {
			continue
		}
		lock, err := lockExclusive(dir)
		if err != nil {
			continue // it is being made
		}
		errs = append(errs, os.RemoveAll(dir), lock.Close())
	}
	return errors.Join(errs...)
}

// Put renames a directory made by New to name, and reports whether it did: a directory of that name may exist by now,
// and stays. The content must have been synced.
func (s Shelf) Put(dir, name string) (put bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, s.Path(name), unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("rename %s to %s: %w", dir, name, err)
	}
	return true, sudouser.SyncDir(s.Dir)
}

// removeLimit bounds the time for removing a directory, which nobody may hold meanwhile.
const removeLimit = time.Minute

// Hold keeps something from being removed until release is called. It fails with
// fs.ErrNotExist where it is not there.
func (s Shelf) Hold(ctx context.Context, name string) (release func(), err error) {
	if err := s.Check(name); err != nil {
		return nil, err
	}
	f, err := os.Open(s.Path(name))
	if err != nil {
		return nil, err
	}
	err = filelock.Wait(ctx, f, filelock.Shared, removeLimit)
	if err == nil {
		err = s.isCurrent(f, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// isCurrent reports whether the name still refers to the open file: it may have been removed meanwhile.
func (s Shelf) isCurrent(f *os.File, name string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(s.Path(name))
	if err == nil && !os.SameFile(opened, there) {
		err = fs.ErrNotExist
	}
	return err
}

// Remove removes something, unless it is held (ErrHeld).
func (s Shelf) Remove(name string) error {
	if err := s.Check(); err != nil {
		return err
	}
	lock, err := lockExclusive(s.Path(name))
	if err != nil {
		return err
	}
	defer lock.Close()
	away, done, err := s.New()
	if err != nil {
		return err
	}
	// Half removed, it is none any more.
	return errors.Join(os.Rename(s.Path(name), filepath.Join(away, "removed")), done())
}
