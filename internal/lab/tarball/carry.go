// Package tarball carries directories between machines as tar archives.
package tarball

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/state/inputfile"
)

// Bounds of an archive, whoever made it: far above those of all results.
const (
	mostEntries = 1 << 20
	longestPath = 1000    // of an entry: each directory in it is made
	mostBehind  = 1 << 20 // bytes behind its end, where tar fills up its last block
)

// Extract unpacks those entries of the directory name that target lacks, and returns their names, below target. A
// hostile archive can neither write outside of target, nor more than limit bytes of files in all.
func Extract(archive io.Reader, name, target string, limit int64) ([]string, error) {
	root, err := os.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	take := map[string]bool{} // by entry
	var brought []string
	entries := tar.NewReader(archive)
	for n := 0; ; n++ {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return brought, atEnd(archive)
		}
		if err != nil {
			return brought, fmt.Errorf("read the archive: %w", err)
		}
		if n == mostEntries {
			return brought, fmt.Errorf("the archive has more than the %d files that are taken", mostEntries)
		}
		if len(h.Name) > longestPath {
			return brought, fmt.Errorf("the archive has a name of %d bytes, and at most %d are taken", len(h.Name), longestPath)
		}
		path := filepath.Clean(h.Name)
		relative, ok := strings.CutPrefix(path, name+"/")
		if path == name {
			if err := root.MkdirAll(name, 0o755); err != nil {
				return brought, err
			}
		}
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(relative, "/")
		if _, seen := take[first]; !seen {
			_, err := root.Lstat(filepath.Join(name, first))
			if take[first] = errors.Is(err, fs.ErrNotExist); take[first] {
				brought = append(brought, filepath.Join(name, first))
			}
		}
		if !take[first] {
			continue
		}
		if limit -= h.Size; limit < 0 {
			return brought, fmt.Errorf("the archive holds more than is taken: %s is left out, and what is behind it", path)
		}
		if err := place(root, path, h, entries); err != nil {
			return brought, err
		}
	}
}

// atEnd reads the rest behind an archive.
func atEnd(archive io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(archive, mostBehind+1))
	if err == nil && n > mostBehind {
		err = errors.New("more follows behind the end of the archive")
	}
	return err
}

// place makes one file or directory. Others, such as links, no result has.
func place(root *os.Root, path string, h *tar.Header, content io.Reader) error {
	perm := fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(path, perm|0o700)
	case tar.TypeReg:
		f, err := root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return root.Chtimes(path, h.ModTime, h.ModTime)
	}
	return nil
}

// Pack writes an archive of files and directories, each under its own name. Links and devices are left out.
func Pack(w io.Writer, paths ...string) error {
	out := tar.NewWriter(w)
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				return err
			}
			h, err := tar.FileInfoHeader(info, "")
			if err != nil {
				return err
			}
			if h.Name, err = filepath.Rel(filepath.Dir(path), name); err != nil {
				return err
			}
			if err := out.WriteHeader(h); err != nil || info.IsDir() {
				return err
			}
			f, err := inputfile.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(out, f)
			return err
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}
