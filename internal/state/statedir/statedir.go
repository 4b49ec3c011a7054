// Package statedir makes and checks the directories that hold a user's state: journals, images, kept data, what a
// run works on, labs. Root works there with files that it mounts, runs and removes.
//
// Hazards. Whoever may write a directory, or one above it, can put another one in the place of what is in it, at
// any time. So a directory of state belongs to who uses it or to root, nobody else may write it, and that is so
// for each directory above: then what was checked once stays. A sticky directory above, such as /tmp, does: others
// cannot rename what is not theirs.
package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/trusteddir"
)

// Make makes a state directory and a part of it, which may be several deep, where they are missing, checks them,
// and closes them to others. It returns the part.
func Make(state string, part ...string) (string, error) {
	dirs := chain(state, part)
	for i, dir := range dirs {
		err := walk(dir, true)
		if err == nil {
			err = closeToOthers(dir, i > 0)
		}
		if err == nil {
			err = checkTrusted(dir)
		}
		if err != nil {
			return "", err
		}
	}
	return dirs[len(part)], nil
}

// Check returns why a state directory, or a part of it, cannot be trusted; nil when it can. The error is
// fs.ErrNotExist when it is not there.
func Check(state string, part ...string) error {
	for _, dir := range chain(state, part) {
		err := walk(dir, false)
		if err == nil {
			err = checkTrusted(dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chain returns a state directory and those of its parts, each below the one before.
func chain(state string, part []string) []string {
	dirs := []string{state}
	for _, name := range part {
		state = filepath.Join(state, name)
		dirs = append(dirs, state)
	}
	return dirs
}

// walk checks the parents of a directory, and with missing makes the missing ones and the directory. A user without
// root is responsible for the parents.
func walk(dir string, missing bool) error {
	euid := os.Geteuid()
	return refused(trusteddir.Walk{UID: euid, Parents: euid == 0, Make: missing}.To(dir))
}

// checkTrusted returns an error if another user may change the content of a directory.
func checkTrusted(dir string) error { return refused(trusteddir.CheckOne(dir, os.Geteuid())) }

// refused adds what to do to the error for a directory that another user may change.
func refused(err error) error {
	var untrusted *trusteddir.Untrusted
	if !errors.As(err, &untrusted) {
		return err
	}
	return refusal(untrusted.Path, untrusted.Why, untrusted.Above)
}

// refusal returns the error for an untrusted path.
func refusal(path, why string, isAbove bool) error {
	subject, remedy := "directory of state "+path, fmt.Sprintf(
		"look what is in it, then chown -R %d:%d %s && chmod 700 %s; or name another --state-dir",
		os.Geteuid(), os.Getegid(), path, path)
	if os.Geteuid() == 0 {
		remedy = strings.Replace(remedy, "chown -R 0:0", "sudo chown -R root:root", 1)
		remedy = strings.Replace(remedy, "&& chmod", "&& sudo chmod", 1)
	}
	if isAbove {
		subject = "directory " + path + ", above one of state"
		remedy = "name a --state-dir in directories that only root may write, as /var/lib/plimsoll is"
	}
	return problem.New(problem.Unsupported, subject, why+", so that what is below it may be replaced at any time", remedy)
}

// closeToOthers removes others' permissions from a directory of this user, if it is part of a state directory or
// contains nothing else. Other directories that the user chose for state keep their mode.
func closeToOthers(dir string, part bool) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o077 == 0 {
		return nil
	}
	entries, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	// What others may have put into it is for the user to look at.
	if trusteddir.Writable(st, os.Geteuid()) && len(entries) > 0 || !part && slices.ContainsFunc(entries, foreign) {
		return nil
	}
	return f.Chmod(0o700)
}

// foreign reports whether a name is of nothing that a state directory, or that of a lab, has.
func foreign(name string) bool {
	known := []string{"journal", "images", "golden", "lab", "vms", "vms.lock", "lost+found"}
	return !slices.Contains(known, name) && !strings.HasPrefix(name, "work-")
}
