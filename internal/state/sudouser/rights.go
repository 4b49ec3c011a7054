package sudouser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/trusteddir"
)

// Worker returns the user as whom this process works by name below a directory, which need not be there yet. That is
// this process's user; of root, root only where nobody else may change a name on the way. Elsewhere it is the user
// behind sudo, or else the owner of the directory, with whose rights no more can be reached than they reach.
func Worker(dir string) (User, error) {
	if os.Geteuid() != 0 {
		return self(), nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return User{}, err
	}
	for {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	uid, gid, err := trusteddir.Owner(dir)
	caller, bySudo := Caller()
	var untrusted *trusteddir.Untrusted
	switch {
	case err == nil && uid == 0:
		return User{uid, gid}, nil
	case bySudo && (err != nil || caller.mayWrite(dir)):
		return caller, nil
	case err == nil:
		return User{uid, gid}, nil
	case errors.As(err, &untrusted):
		return User{}, problem.New(problem.Unsupported, "directory "+untrusted.Path,
			untrusted.Why+", so that root could be led to another file from there",
			"name a directory that only root, or only one user, may write").CausedBy(err)
	}
	return User{}, err
}

// reaches reports whether the user may look into the directory that holds a path, coming from the root directory.
func (u User) reaches(path string) bool {
	path, err := filepath.Abs(path)
	return err == nil && u.Do(func() error { _, err := os.Lstat(path); return err }) == nil
}

// mayWrite reports whether the user may make files in a directory.
func (u User) mayWrite(dir string) bool {
	return u.Do(func() error { return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) }) == nil
}

func self() User { return User{os.Geteuid(), os.Getegid()} }

// Do calls f with the rights of the user on files: what f makes belongs to the user, and what the user cannot reach, f
// cannot. f must not start goroutines that open files, since they have the rights of this process. For the user of this
// process, Do is a call of f.
func (u User) Do(f func() error) error {
	if u.UID == os.Geteuid() {
		return f()
	}
	done := make(chan error, 1)
	go u.onThread(f, done)
	return <-done
}

// onThread calls f on a thread of its own, which ends with the goroutine: its user is not changed back.
func (u User) onThread(f func() error, done chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() { // the main thread would stay, and is the one that /proc shows
		defer runtime.UnlockOSThread()
		passed := make(chan error, 1)
		go u.onThread(f, passed)
		done <- <-passed
		return
	}
	if err := u.takeRights(); err != nil {
		done <- fmt.Errorf("use files as user %d: %w", u.UID, err)
		return
	}
	done <- f()
}

// takeRights changes the user and groups by which the kernel judges the calling thread's access to files. With root,
// the thread loses the capabilities that pass over permissions.
func (u User) takeRights() error {
	groups := u.Groups()
	numbers := make([]uint32, len(groups))
	for i, gid := range groups {
		numbers[i] = uint32(gid)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(numbers)), uintptr(unsafe.Pointer(&numbers[0])), 0)
	if errno != 0 {
		return errno
	}
	// Neither call says whether it had an effect; the second of each returns what the first has set.
	for _, set := range []struct {
		call func(int) (int, error)
		id   int
	}{{unix.SetfsgidRetGid, u.GID}, {unix.SetfsuidRetUid, u.UID}} {
		if _, err := set.call(set.id); err != nil {
			return err
		}
		if is, err := set.call(set.id); err != nil || is != set.id {
			return errors.Join(unix.EPERM, err)
		}
	}
	return nil
}

// Groups returns the groups of the user but those of root; the user's main group is the first.
func (u User) Groups() []int {
	groups := []int{u.GID}
	if known, err := user.LookupId(strconv.Itoa(u.UID)); err == nil {
		names, _ := known.GroupIds()
		for _, name := range names {
			if gid, err := strconv.Atoi(name); err == nil && gid != 0 {
				groups = append(groups, gid)
			}
		}
	}
	return groups
}
