package lab

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/inputfile"
)

// WorkDir is the directory in which commands run in a guest.
const WorkDir = "/work"

// Bring copies a directory of a guest's working directory out into the
// directory into, if the guest has it. Of what is in it, only entries are
// taken that into does not have yet; their names, below into, are given.
func Bring(ctx context.Context, machineDir, name, into string) ([]string, error) {
	r, w := io.Pipe()
	var said bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		// An absent directory is an empty archive.
		code, err := Run(ctx, machineDir,
			Command{Args: []string{"sh", "-c", `cd "$1" && if [ -d "$2" ]; then exec tar -cf - -- "$2"; fi`, "sh",
				WorkDir, name}},
			Streams{Stdout: w, Stderr: &said})
		if err == nil && code != 0 {
			err = fmt.Errorf("tar in the lab ended with status %d: %s", code, strings.TrimSpace(said.String()))
		}
		w.CloseWithError(err) // nil: the archive is at its end
		ended <- err
	}()
	brought, err := extract(r, name, into)
	r.CloseWithError(err)
	return brought, errors.Join(err, <-ended)
}

// extract unpacks the entries of the directory name that into does not have.
// Nothing in the archive gets out of into.
func extract(archive io.Reader, name, into string) ([]string, error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	take := map[string]bool{} // by entry
	var brought []string
	entries := tar.NewReader(archive)
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, archive) // tar fills up its last block
			return brought, err
		}
		if err != nil {
			return brought, fmt.Errorf("read what the lab sends: %w", err)
		}
		path := filepath.Clean(h.Name)
		below, ok := strings.CutPrefix(path, name+"/")
		if path == name {
			if err := root.MkdirAll(name, 0o755); err != nil {
				return brought, err
			}
		}
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(below, "/")
		if _, seen := take[first]; !seen {
			_, err := root.Lstat(filepath.Join(name, first))
			if take[first] = errors.Is(err, fs.ErrNotExist); take[first] {
				brought = append(brought, filepath.Join(name, first))
			}
		}
		if !take[first] {
			continue
		}
		if err := place(root, path, h, entries); err != nil {
			return brought, err
		}
	}
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

// Send copies files and directories into a guest's working directory, each
// under its own name.
func Send(ctx context.Context, machineDir string, paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(w, paths)
		w.CloseWithError(err)
		packed <- err
	}()
	var said bytes.Buffer
	code, err := Run(ctx, machineDir, Command{Args: []string{"tar", "-C", WorkDir, "--no-same-owner", "-xf", "-"}},
		Streams{Stdin: r, Stdout: io.Discard, Stderr: &said})
	_ = r.Close() // pack ends, should it still write
	if err == nil && code != 0 {
		err = fmt.Errorf("tar in the lab ended with status %d: %s", code, strings.TrimSpace(said.String()))
	}
	if err == nil {
		err = <-packed
	}
	return err
}

// pack writes an archive.
func pack(w io.Writer, paths []string) error {
	out := tar.NewWriter(w)
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
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
			if h.Name, err = filepath.Rel(filepath.Dir(path), at); err != nil {
				return err
			}
			if err := out.WriteHeader(h); err != nil || info.IsDir() {
				return err
			}
			f, err := inputfile.Open(at)
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
