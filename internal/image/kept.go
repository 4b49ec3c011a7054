package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxKept bounds a file that Keep copies.
const maxKept = 512 << 20

// HasKept reports whether the root in dir has a regular file at a path as the image's programs see it.
func HasKept(dir, name string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(strings.TrimPrefix(name, "/"))
	return err == nil && info.Mode().IsRegular()
}

// WithoutKept returns a command line without the words that name a kept file.
func WithoutKept(argv []string, at string) []string {
	return slices.DeleteFunc(slices.Clone(argv), func(word string) bool {
		return at != "" && strings.Contains(word, path.Base(at))
	})
}

// Keep copies the file with the base name of name from a directory, which a program of the image wrote, into the root
// in dir. The copy is complete or missing, and no link leads out of either directory.
func Keep(dir, name, from string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	// Without O_NONBLOCK, opening a FIFO waits for a writer.
	in, err := source.OpenFile(path.Base(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKept {
		return fmt.Errorf("%s is no file of at most %d bytes", path.Base(name), maxKept)
	}
	final := strings.TrimPrefix(name, "/")
	part := fmt.Sprintf("%s.%d", final, os.Getpid())
	out, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxKept))
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = root.Rename(part, final)
	}
	if err != nil {
		if gone := root.Remove(part); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
