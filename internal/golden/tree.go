package golden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tree puts a copy of a directory, which from has under one name, in place of what to has
// under another: clones of its files where the file system can share blocks. They have the modes and
// owners of what they are copies of. What was copied, and not cloned, is on the device when
// it returns, and in no page cache. Nothing but files and directories is copied, and
// no process may have any of it open.
func Tree(ctx context.Context, from, to *os.Root, dir, name string) error {
	source, err := from.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := to.RemoveAll(name); err != nil {
		return fmt.Errorf("make room for a copy: %w", err)
	}
	return fs.WalkDir(source.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(name, path)
		switch {
		case entry.IsDir():
			err = errors.Join(to.Mkdir(at, 0o700), alike(to, at, info))
		case entry.Type().IsRegular():
			err = cloneFile(source, path, to, at, info)
		default:
			err = errors.New("it is neither a file nor a directory")
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(source.Name(), path), err)
		}
		return nil
	})
}

// alike gives what is at a path the mode and the owner of what it is a copy of.
func alike(to *os.Root, at string, of fs.FileInfo) error {
	err := to.Chmod(at, of.Mode().Perm())
	stat, ok := of.Sys().(*syscall.Stat_t)
	if ok && (int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid()) && os.Geteuid() == 0 {
		err = errors.Join(err, to.Lchown(at, int(stat.Uid), int(stat.Gid)))
	}
	return err
}

// cloneFile makes a new file that has the bytes of another: the same blocks where the
// file system can share them.
func cloneFile(source *os.Root, from string, to *os.Root, at string, info fs.FileInfo) (err error) {
	in, err := source.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close(), alike(to, at, info)) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, forget(in), forget(out))
}

// Forget drops what the page cache has of the files below a directory, whose bytes are on the
// device: whoever reads them next reads these.
func Forget(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return errors.Join(forget(f), f.Close())
	})
}

// forget drops what the page cache has of a file whose bytes are on the device: it would
// be charged to us, and be there for whoever reads the file next.
func forget(f *os.File) error {
	err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	if err != nil {
		return fmt.Errorf("drop %s from the page cache: %w", f.Name(), err)
	}
	return nil
}
