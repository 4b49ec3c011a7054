// Package shelf keeps directories that are whole or not there: each is made under
// another name, and gets its own when all is in it. One that somebody holds is not
// removed.
package shelf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/owner"
)

// Shelf is a directory of such directories. It need not be there.
type Shelf struct{ Dir string }

// unfinished begins the names of what is not whole.
const unfinished = ".new-"

// stale is how old what is not whole has to be to be taken for what a crash left: whoever makes
// something has it locked a moment after it is there.
const stale = time.Minute

// ErrHeld is why something is not removed.
var ErrHeld = errors.New("it is in use")

// Names returns what is on the shelf, by name.
func (s Shelf) Names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
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

// Path is where something is, or would be.
func (s Shelf) Path(name string) string { return filepath.Join(s.Dir, name) }

// New makes a directory for something that is being made, and removes those that
// crashes left. done removes it, unless Put gave it away.
func (s Shelf) New() (dir string, done func() error, err error) {
	if _, err := owner.MkdirAll(s.Dir, 0o755); err != nil {
		return "", nil, err
	}
	if err := s.sweep(); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(s.Dir, unfinished)
	if err != nil {
		return "", nil, err
	}
	lock, err := alone(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// alone locks a directory for us alone, until what it returns is closed. It fails with ErrHeld where
// somebody else has it.
func alone(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrHeld
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes what crashes left: nobody has it locked.
func (s Shelf) sweep() error {
	left, err := filepath.Glob(filepath.Join(s.Dir, unfinished+"*"))
	if err != nil {
		return err
	}
	var all []error
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || time.Since(info.ModTime()) < stale {
			continue
		}
		lock, err := alone(dir)
		if err != nil {
			continue // it is being made
		}
		all = append(all, os.RemoveAll(dir), lock.Close())
	}
	return errors.Join(all...)
}

// Put gives a directory that New made its name, and says whether it did: something of
// that name may have come meanwhile, and stays. What is in it is to be on the disk.
func (s Shelf) Put(dir, name string) (put bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, s.Path(name), unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("rename %s to %s: %w", dir, name, err)
	}
	return true, owner.SyncDir(s.Dir)
}

// Hold keeps something from being removed until release is called. It fails with
// fs.ErrNotExist where it is not there.
func (s Shelf) Hold(name string) (release func(), err error) {
	f, err := os.Open(s.Path(name))
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = s.still(f, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// still reports whether what was opened has its name: it may have been removed meanwhile.
func (s Shelf) still(f *os.File, name string) error {
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
	lock, err := alone(s.Path(name))
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
