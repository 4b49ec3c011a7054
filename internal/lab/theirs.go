package lab

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/statedir"
	"plimsoll/internal/state/sudouser"
)

// What a lab keeps in the home of the user who called sudo belongs to her, so
// that she can use it without, and remove it. Elsewhere it is root's.

// makeDir makes a part of a lab's directory.
func makeDir(lab, part string, perm fs.FileMode) error {
	dir := filepath.Join(lab, part)
	if !sudouser.IsBelowHome(dir) {
		_, err := statedir.Make(lab, part)
		return err
	}
	_, err := sudouser.MkdirAll(dir, perm)
	return err
}

// checkTrusted returns an error if a lab's directory, which need not exist, is unsafe for this user to work in.
func checkTrusted(lab string) error {
	if sudouser.IsBelowHome(lab) {
		return nil
	}
	err := statedir.Check(lab)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openOrMake opens a file for reading and writing, and makes it when it is not
// there.
func openOrMake(name string, perm fs.FileMode) (*os.File, error) {
	if sudouser.IsBelowHome(name) {
		f, err := sudouser.New(name, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, perm)
}

// replace writes a small file in the place of one that is there.
func replace(name string, text []byte) error {
	if !sudouser.IsBelowHome(name) {
		return os.WriteFile(name, text, 0o644)
	}
	return sudouser.Replace(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// giveTree makes a directory that this process made the property of the user behind sudo.
func giveTree(dir string) {
	if sudouser.IsBelowHome(dir) {
		sudouser.GiveTree(dir)
	}
}
