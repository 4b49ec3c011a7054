package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is one that is installed. It has no owner and no time of its own.
type file struct {
	path string // below the prefix: "bin/plimsoll"
	from string // where its bytes are
	mode fs.FileMode
	link string // what it points to, for a symbolic link
	size int64
}

// filesBelow returns the files and links of a tree, sorted by path. Directories follow from them.
func filesBelow(tree string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel), from: name, mode: info.Mode().Perm(), size: info.Size()}
		if info.Mode().Type() == fs.ModeSymlink {
			f.link, err = os.Readlink(name)
			f.size, f.mode = 0, 0o777
		}
		files = append(files, f)
		return err
	})
	return files, err // WalkDir goes in the order of names
}

// writeTarGz writes files below a directory, as root's and of one time.
func writeTarGz(w io.Writer, dir string, files []file, date time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(z, dir, files, date), z.Close())
}

func writeTar(w io.Writer, dir string, files []file, date time.Time) error {
	t := tar.NewWriter(w)
	made := map[string]bool{".": true, "": true}
	for _, f := range files {
		name := path.Join(dir, f.path)
		for _, above := range directoriesOf(name, made) {
			err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: above + "/", Mode: 0o755, ModTime: date})
			if err != nil {
				return err
			}
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode), Size: f.size, ModTime: date}
		if f.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		}
		err := t.WriteHeader(h)
		if err == nil && f.link == "" {
			err = copyFile(t, f.from)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return t.Close()
}

// directoriesOf returns the directories above a name that were not made yet, outermost first.
func directoriesOf(name string, made map[string]bool) (parents []string) {
	for dir := path.Dir(name); !made[dir]; dir = path.Dir(dir) {
		made[dir] = true
		parents = append([]string{dir}, parents...)
	}
	return parents
}

func copyFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// writeSums writes SHA256SUMS of all files in a directory, as sha256sum --check reads it.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		h := sha256.New()
		err := copyFile(h, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", h.Sum(nil), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644) //nolint:gosec // as all of them
}
