// Package trusteddir reports who may change what is below a directory.
//
// Hazards. Whoever may write a directory, or one above it, can rename what is in it and put a link in its place, also
// between a look at it and what follows. A name below such a directory is safe only for a process that has no more
// rights than they have. A sticky directory above, such as /tmp, is safe: others cannot rename what is not theirs.
package trusteddir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
)

// Untrusted is the error for a directory that another user may change.
type Untrusted struct {
	Path  string // of the directory or link
	Why   string
	Above bool // Path is above the directory that was asked for
}

// Error implements error.
func (u *Untrusted) Error() string {
	return u.Path + ": " + u.Why + ", so that what is below it may be replaced at any time"
}

// Is makes errors.Is(err, problem.Unsupported) hold.
func (u *Untrusted) Is(target error) bool { return target == error(problem.Unsupported) }

// Walk describes a walk from the root directory to another one.
type Walk struct {
	UID     int  // whose directory it is to be; root may change it in any case
	Parents bool // the directories above are checked, too
	Make    bool // what is missing is made, for its owner alone
}

// maxLinks is how many links a path may have, as for the kernel.
const maxLinks = 40

// Check returns an error if another user than uid and root may rename what uid makes in a directory, or a directory on
// the way to it. The error is an *Untrusted for that, and fs.ErrNotExist for a directory that is not there. What is
// already in a sticky directory may be of any user.
func Check(dir string, uid int) error {
	// The walk checks all but the last name of a path.
	err := Walk{UID: uid, Parents: true}.To(filepath.Join(dir, ".plimsoll-would-be-made-here"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return err
		}
		return nil
	}
	return err
}

// Owner returns the user as whom root may work by name below a directory: root where nobody else may change it, its
// owner where only root and that user may, else the error of Check.
func Owner(dir string) (uid, gid int, err error) {
	err = Check(dir, 0)
	var untrusted *Untrusted
	if !errors.As(err, &untrusted) {
		return 0, 0, err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, 0, &os.PathError{Op: "look at", Path: dir, Err: err}
	}
	if st.Uid == 0 {
		return 0, 0, untrusted
	}
	// The directory that is worked in may be another one by then: it is still not worked in as root.
	return int(st.Uid), int(st.Gid), Check(dir, int(st.Uid))
}

// To checks the parents of a directory, and with Make makes the missing ones and the directory.
func (w Walk) To(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent, rest := "/", names(dir)
	for links := 0; len(rest) > 0; {
		if w.Parents {
			if err := check(parent, w.UID, true); err != nil {
				return err
			}
		}
		next := filepath.Join(parent, rest[0])
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) && w.Make {
			if err := os.Mkdir(next, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		rest = rest[1:]
		if info.Mode().Type() != fs.ModeSymlink {
			parent = next
			continue
		}
		if links++; links > maxLinks {
			return &os.PathError{Op: "open", Path: dir, Err: unix.ELOOP}
		}
		if err := check(next, w.UID, true); err != nil {
			return err
		}
		to, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(to) {
			parent = "/"
		}
		rest = append(names(to), rest...)
	}
	return nil
}

// names returns the names in a path. It keeps "..", as the kernel resolves it after links.
func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// CheckOne returns an error if another user than uid and root may change a directory, sticky or not. Those above it are
// not looked at.
func CheckOne(dir string, uid int) error { return check(dir, uid, false) }

// check returns an error if another user may change the content of a directory, or the target of a link.
func check(path string, uid int, isAbove bool) error {
	var st unix.Stat_t
	stat := unix.Stat
	if isAbove {
		stat = unix.Lstat
	}
	if err := stat(path, &st); err != nil {
		return &os.PathError{Op: "look at", Path: path, Err: err}
	}
	isLink, isDir := st.Mode&unix.S_IFMT == unix.S_IFLNK, st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case !isLink && !isDir:
		return &os.PathError{Op: "open", Path: path, Err: unix.ENOTDIR}
	case st.Uid != 0 && int(st.Uid) != uid:
		return &Untrusted{Path: path, Why: fmt.Sprintf("it belongs to user %d", st.Uid), Above: isAbove}
	case isDir && Writable(st, uid) && (!isAbove || st.Mode&unix.S_ISVTX == 0):
		return &Untrusted{Path: path, Why: fmt.Sprintf("others may write it (mode %04o)", st.Mode&0o7777), Above: isAbove}
	}
	return nil
}

// Writable reports whether others than root and the user may write a directory. A user's own group has no other member.
func Writable(st unix.Stat_t, uid int) bool {
	private := uid != 0 && int(st.Uid) == uid && st.Gid == st.Uid
	return st.Mode&unix.S_IWOTH != 0 || st.Mode&unix.S_IWGRP != 0 && !private
}
