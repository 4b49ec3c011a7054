package container

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Root is an unpacked root file system that containers are made of.
type Root struct {
	Key  string   // equal keys, equal files
	Dir  string   // on the host; nobody writes to it
	User string   // that programs run as, by name or number; "" for root
	Env  []string // "NAME=value"
	Ring bool     // programs use io_uring, which the seccomp profile of its containers permits
	Self string   // path of this program, which containers see as SelfPath
}

// SelfPath is the path of this program in containers of a Root.
const SelfPath = "/plimsoll.program"

// ImportRoot makes an image of an unpacked root file system, and gives it to the engine.
// As with Import, most of it is no part of what the engine imports: the directories that
// hold programs are seen read-only where they are.
func (e *Engine) ImportRoot(ctx context.Context, r Root, dir string) (Image, error) {
	made, err := makeRoot(r, dir)
	if err != nil {
		return Image{}, fmt.Errorf("make an image of %s: %w", r.Dir, err)
	}
	defer os.RemoveAll(made.dir)
	return e.load(ctx, made)
}

func makeRoot(r Root, dir string) (made image, err error) {
	made.dir, err = os.MkdirTemp(dir, "image-")
	if err != nil {
		return image{}, err
	}
	made.tar = filepath.Join(made.dir, "root.tar")
	f, err := os.Create(made.tar)
	if err != nil {
		return image{}, err
	}
	defer f.Close()
	hash := sha256.New()
	shared, err := writeSmall(io.MultiWriter(f, hash), r.Dir)
	if err != nil {
		return image{}, err
	}
	made.noInit = true
	made.Ref = "plimsoll:" + hex.EncodeToString(hash.Sum(nil))[:12]
	for _, top := range shared {
		made.binds = append(made.binds, Bind{Host: filepath.Join(r.Dir, top), Inside: "/" + top, ReadOnly: true})
	}
	made.binds = append(made.binds, Bind{Host: r.Self, Inside: SelfPath, ReadOnly: true})
	for _, variable := range r.Env {
		name, value, _ := strings.Cut(variable, "=")
		made.changes = append(made.changes, fmt.Sprintf("ENV %s=%q", name, value))
	}
	made.changes = append(made.changes, fmt.Sprintf("CMD [%q, \"infinity\"]", idle))
	return made, nil
}

// skippedDirs are directories that no server reads.
var skippedDirs = []string{"var/cache", "var/lib/apt", "var/lib/dpkg", "proc", "sys", "dev"}

// writeSmall writes the files of a root file system that no directory of programs holds,
// and names these directories, which the archive has empty.
func writeSmall(w io.Writer, dir string) (shared []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := tar.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode().Type() == fs.ModeSymlink {
			if link, err = root.Readlink(name); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		h.Name, h.Uname, h.Gname = name, "", ""
		if info.IsDir() {
			h.Name += "/"
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			h.Uid, h.Gid = int(st.Uid), int(st.Gid)
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		switch {
		case info.IsDir() && slices.Contains(shareable, "/"+name):
			shared = append(shared, name)
			return fs.SkipDir
		case info.IsDir() && slices.Contains(skippedDirs, name):
			return fs.SkipDir
		case info.Mode().IsRegular():
			return copyTo(out, root, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return shared, out.Close()
}

func copyTo(out io.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(out, f)
	return err
}
