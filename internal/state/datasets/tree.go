package datasets

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

// Tree replaces the directory name in to by a copy of dir in from. Files are cloned where the file system can share
// blocks, and keep their modes and owners. Copied data is on the device when it returns, and not in the page cache.
// Only files and directories are copied. No process may have any of them open.
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
			err = errors.Join(to.Mkdir(at, 0o700), copyOwnership(to, at, info))
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

// copyOwnership sets the mode and the owner of a path to those of the original.
func copyOwnership(to *os.Root, at string, of fs.FileInfo) error {
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
	defer func() { err = errors.Join(err, out.Close(), copyOwnership(to, at, info)) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, forget(in), forget(out))
}

// Forget drops the files below a directory from the page cache. They must have been synced.
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

// forget drops a file from the page cache. Otherwise its pages would be charged to this process, and would serve the
// next reader.
func forget(f *os.File) error {
	err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	if err != nil {
		return fmt.Errorf("drop %s from the page cache: %w", f.Name(), err)
	}
	return nil
}
