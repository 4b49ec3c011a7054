package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"plimsoll/internal/state/runid"
	"plimsoll/internal/state/statedir"
)

// A journal says what to undo, as root. It is obeyed only where nobody else can
// have written it, and even then every entry is checked against what a run can
// have made: a journal may be damaged, or copied from elsewhere. Each kind of
// change checks itself.

// Scope identifies the run whose changes a journal may have. Its methods are the checks that kinds have in common;
// each returns an error with ErrForeign, or nil.
type Scope struct{ state, run string }

// NewScope returns the scope of a run's journal below a state directory, which
// is absolute and without symbolic links.
func NewScope(state, run string) Scope { return Scope{state: state, run: run} }

func (j *Journal) scope() Scope {
	return NewScope(j.State(), strings.TrimSuffix(filepath.Base(j.path), suffix))
}

// State returns the state directory.
func (s Scope) State() string { return s.state }

// Run returns the run's ID, which is the journal's name.
func (s Scope) Run() string { return s.run }

// ErrForeign is in every error about an entry that no run can have written.
var ErrForeign = errors.New("the journal holds a change that no run makes, and it was not undone: " +
	"see what the journal says, and remove the entry or the journal by hand")

// Foreign returns an error with ErrForeign, of a check that is a kind's own.
func (Scope) Foreign(format string, args ...any) error { return foreign(format, args...) }

func foreign(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), ErrForeign)
}

// WorkDir returns the directory that a run has for itself, below the state
// directory.
func WorkDir(state, run string) string { return filepath.Join(state, workPrefix+run) }

const workPrefix = "work-"

// Owns returns an error unless a path is the run's: in its work directory, or with a part that contains the run's
// name, as paths that a run makes in a user's directory do (plimsoll-RUN-regions, .plimsoll-RUN-STACK).
func (s Scope) Owns(path string) error {
	if err := s.CleanPath(path); err != nil {
		return err
	}
	if err := runid.Check(s.run); err != nil {
		return err
	}
	if work := WorkDir(s.state, s.run); path == work || strings.HasPrefix(path, work+"/") {
		return nil
	}
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(strings.TrimPrefix(part, "."), "plimsoll-"+s.run+"-") {
			return nil
		}
	}
	return foreign("%q does not carry the name of run %s, and is not in its work directory", path, s.run)
}

// CleanPath refuses a path that the kernel would not name so: one that is not
// absolute, has detours, or control characters.
func (Scope) CleanPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsFunc(path, unicode.IsControl) {
		return foreign("%q is no absolute path without detours", path)
	}
	return nil
}

// devicePath matches paths of block devices.
var devicePath = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9_.!+:/-]*$`)

// Device returns an error unless the path is of the form of a block device's.
func (s Scope) Device(path string) error {
	if !devicePath.MatchString(path) || s.CleanPath(path) != nil {
		return foreign("%q is no block device", path)
	}
	return nil
}

// UUID returns an error unless id is a UUID in its usual form.
func (Scope) UUID(id string) error {
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return foreign("%q is no UUID", id)
	}
	return nil
}

// OneOf returns an error unless value is among known; what describes the value.
func (Scope) OneOf(what, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return foreign("%q is no %s", value, what)
	}
	return nil
}

// Matches returns an error unless value matches pattern, which must be anchored at both ends; what describes the
// value.
func (Scope) Matches(what, value string, pattern *regexp.Regexp) error {
	if !pattern.MatchString(value) {
		return foreign("%q is no %s", value, what)
	}
	return nil
}

// inParent calls do with a path for the same file that no symbolic link can redirect, even one made meanwhile by a
// user who may write a parent directory. If the parent is gone, it does nothing.
func inParent(path string, do func(path string) error) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, filepath.Dir(path), &how)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOSYS): // before Linux 5.6
		real, err := realPath(path)
		if err != nil || real != path {
			return errors.Join(err, foreign("%q leads over a symbolic link", path))
		}
		return do(path)
	case errors.Is(err, unix.ELOOP):
		return foreign("%q leads over a symbolic link", path)
	case err != nil:
		return &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	parent := os.NewFile(uintptr(fd), filepath.Dir(path))
	defer parent.Close()
	opened := fmt.Sprintf("/proc/self/fd/%d", fd)
	err = do(filepath.Join(opened, filepath.Base(path)))
	var named *os.PathError
	if errors.As(err, &named) {
		named.Path = strings.Replace(named.Path, opened, filepath.Dir(path), 1)
	}
	return err
}

// suffix ends the name of a journal.
const suffix = ".jsonl"

// openOwn opens a journal that nobody else can have written: the file and its directory belong to this user, nobody
// else may write them, and neither is a link.
func openOwn(path string, flag int) (*os.File, error) {
	dir := filepath.Dir(path)
	if err := statedir.Check(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("it is no directory, or a link to one: %w", errNotOwn)
		}
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // only read
	if err := checkOwned(fd, unix.S_IFDIR); err != nil {
		return nil, fmt.Errorf("directory of journals %s: %w", dir, err)
	}
	// A FIFO would be waited for.
	file, err := unix.Openat(fd, filepath.Base(path), flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("it is a link: %w", errNotOwn)
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := checkOwned(file, unix.S_IFREG); err != nil {
		_ = unix.Close(file)
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return os.NewFile(uintptr(file), path), nil
}

// errNotOwn is returned for a journal that somebody else may have written.
var errNotOwn = errors.New("another user may have written it, so it is not followed: look who owns it; " +
	"that user may clean it, and if it is yours, chown it to yourself and chmod go-w it")

// checkOwned returns an error if an open file or directory is not this user's alone.
func checkOwned(fd int, kind uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != kind:
		return fmt.Errorf("it is no journal: %w", errNotOwn)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d: %w", st.Uid, errNotOwn)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("others may write it (mode %04o): %w", st.Mode&0o777, errNotOwn)
	case kind == unix.S_IFREG && st.Nlink > 1:
		return fmt.Errorf("it has another name as well: %w", errNotOwn)
	}
	return nil
}
