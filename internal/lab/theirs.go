package lab

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"plimsoll/internal/owner"
)

// What a lab keeps in the home of the user who called sudo belongs to her, so
// that she can use it without, and remove it. Elsewhere it is root's.

func makeDirs(dir string, perm fs.FileMode) error {
	if !owner.IsBelowHome(dir) {
		return os.MkdirAll(dir, perm)
	}
	_, err := owner.MkdirAll(dir, perm)
	return err
}

// openOrMake opens a file for reading and writing, and makes it when it is not
// there.
func openOrMake(name string, perm fs.FileMode) (*os.File, error) {
	if owner.IsBelowHome(name) {
		f, err := owner.New(name, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, perm)
}

// replace writes a small file in the place of one that is there.
func replace(name string, text []byte) error {
	if !owner.IsBelowHome(name) {
		return os.WriteFile(name, text, 0o644)
	}
	return owner.Replace(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// giveTree gives a directory that this process made.
func giveTree(dir string) {
	if owner.IsBelowHome(dir) {
		owner.GiveTree(dir)
	}
}
