// Package sudouser gives what this process makes for a user to the user who
// called it by sudo, who would otherwise need root to move or remove results.
//
// Hazards. Whoever may write a directory can put a link, or another file, in
// the place of what was made there a moment ago, and can do so between a look
// at it and what follows. So nothing is given away by its name: a file is while
// it is open, by who made it, and a directory is when all in it has been,
// until when nobody but root may change it. A file that was there before keeps
// its owner.
package sudouser

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/trusteddir"
)

// User is the user who called sudo.
type User struct{ UID, GID int }

// Caller returns the user behind sudo. It reports false when this process is
// not root, or root did not come by sudo, or root itself called sudo.
func Caller() (User, bool) {
	if os.Geteuid() != 0 {
		return User{}, false
	}
	uid, err := id(os.Getenv("SUDO_UID"))
	gid, gidErr := id(os.Getenv("SUDO_GID"))
	if err != nil || gidErr != nil || uid == 0 {
		return User{}, false
	}
	return User{uid, gid}, true
}

// id reads a user's or a group's number. To the kernel, the greatest of them
// means "leave it as it is".
func id(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && n == 1<<32-1 {
		err = errors.New("no user has this number")
	}
	return int(n), err
}

// Home returns the home directory of the user, without links; "" when it is
// not known.
func (u User) Home() string {
	known, err := user.LookupId(strconv.Itoa(u.UID))
	if err != nil || known.HomeDir == "" {
		return ""
	}
	home, err := filepath.EvalSymlinks(known.HomeDir)
	if err != nil || home == "/" {
		return ""
	}
	return home
}

// IsBelowHome reports whether a directory, which need not be there yet, is
// within the home of the user behind sudo.
func IsBelowHome(dir string) bool {
	u, ok := Caller()
	home := ""
	if ok {
		home = u.Home()
	}
	dir, err := filepath.Abs(dir)
	if home == "" || err != nil {
		return false
	}
	for rest := ""; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return strings.HasPrefix(filepath.Join(real, rest), home+"/")
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == "/" {
			return false // a link to nowhere, or one that cannot be read
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// Give changes the owner of a file that this process just made, and has open, to the user behind sudo, if there is
// one. A file for which that fails stays root's: a nuisance, not a failure.
func Give(f *os.File) {
	if u, ok := Caller(); ok {
		_ = f.Chown(u.UID, u.GID)
	}
}

// Create opens a file for writing, empty, as os.Create does. One that it makes
// belongs to the user behind sudo; one that is there keeps its owner.
func Create(name string) (f *os.File, err error) {
	worker, err := Worker(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if worker.UID == 0 { // in a sticky directory, a link may be anybody's
		err := trusteddir.Walk{Parents: true}.To(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	err = worker.Do(func() (err error) {
		f, err = create(name)
		return err
	})
	return f, err
}

func create(name string) (*os.File, error) {
	for {
		f, err := newFile(name, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if _, err := os.Lstat(name); err == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a link to a file that does not exist")}
		}
	}
}

// New makes a file, which must not exist, not as a link either, and gives it to
// the user behind sudo.
func New(name string, perm fs.FileMode) (f *os.File, err error) {
	worker, err := Worker(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	err = worker.Do(func() (err error) {
		f, err = newFile(name, perm)
		return err
	})
	return f, err
}

func newFile(name string, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err == nil {
		Give(f)
	}
	return f, err
}

// Replace writes a file beside path, syncs it, and renames it to path: readers see the old or the new one, and a link
// at path is replaced, not followed. The file belongs to the user behind sudo.
func Replace(path string, fill func(io.Writer) error) error { return replace(path, 0o644, fill) }

// ReplacePrivate is Replace for a file that only its owner reads.
func ReplacePrivate(path string, fill func(io.Writer) error) error { return replace(path, 0o600, fill) }

func replace(path string, perm fs.FileMode, fill func(io.Writer) error) (err error) {
	worker, err := Worker(filepath.Dir(path))
	if err != nil {
		return err
	}
	var f *os.File
	err = worker.Do(func() (err error) {
		f, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = worker.Do(func() error { return os.Remove(f.Name()) })
		}
	}()
	Give(f)
	if err := errors.Join(f.Chmod(perm), fill(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return worker.Do(func() error {
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
		return SyncDir(filepath.Dir(path))
	})
}

// Remove removes a file that this process made for the user.
func Remove(name string) error {
	worker, err := Worker(filepath.Dir(name))
	if err != nil {
		return err
	}
	return worker.Do(func() error { return os.Remove(name) })
}

// SyncDir writes a directory's entries to its disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Mkdir makes a directory and gives it to the user behind sudo, unless it is where that user does not come.
func Mkdir(dir string, perm fs.FileMode) error {
	worker, err := Worker(filepath.Dir(dir))
	if err != nil {
		return err
	}
	if err := worker.Do(func() error { return os.Mkdir(dir, perm) }); err != nil || worker != self() {
		return err // what another user makes is that user's
	}
	if caller, ok := Caller(); !ok || !caller.reaches(dir) {
		return nil
	}
	f, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return nil // it was made, which is all that was asked for
	}
	defer f.Close()
	// Another directory may have got its name by now: one with something in it.
	if _, err := f.Readdirnames(1); err == io.EOF {
		Give(f)
	}
	return nil
}

// MkdirAll makes a directory and the parents that it lacks, gives them to the
// user behind sudo, and returns those that it made, outermost first, also
// beside an error.
func MkdirAll(dir string, perm fs.FileMode) (made []string, err error) {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			err = &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		return nil, err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = MkdirAll(parent, perm); err != nil {
			return made, err
		}
	}
	if err := Mkdir(dir, perm); err != nil {
		if errors.Is(err, fs.ErrExist) { // another process was faster
			return made, nil
		}
		return made, err
	}
	return append(made, dir), SyncDir(filepath.Dir(dir))
}

// GiveTree changes the owner of a directory that this process made, and of files that it and its child processes made
// in it, to the user behind sudo. It only changes directories that root owns and nobody else may write, and regular
// files with one link: it follows no link, and leaves other file systems alone.
func GiveTree(dir string) {
	u, ok := Caller()
	if !ok {
		return
	}
	f, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) == nil {
		u.giveTree(f, st.Dev, 0)
	}
}

// maxDepth bounds the depth of a tree; results are not as deep.
const maxDepth = 32

func (u User) giveTree(dir *os.File, device uint64, depth int) {
	var st unix.Stat_t
	err := unix.Fstat(int(dir.Fd()), &st)
	if err != nil || st.Uid != 0 || st.Mode&0o022 != 0 || st.Dev != device || depth > maxDepth {
		return
	}
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		u.giveEntry(dir, name, device, depth)
	}
	_ = dir.Chown(u.UID, u.GID)
}

// giveEntry changes the owner of an entry of a directory that only root can change.
func (u User) giveEntry(dir *os.File, name string, device uint64, depth int) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Uid != 0 || st.Dev != device {
		return
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		below, err := openDir(int(dir.Fd()), name)
		if err != nil {
			return
		}
		defer below.Close()
		u.giveTree(below, device, depth+1)
	case unix.S_IFREG:
		if st.Nlink == 1 {
			_ = unix.Fchownat(fd, "", u.UID, u.GID, unix.AT_EMPTY_PATH)
		}
	}
}

// openDir opens a directory that is no link.
func openDir(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the directory %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
