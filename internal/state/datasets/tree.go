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

// Sharing states whether a copy may have the blocks of the original.
type Sharing bool

// The ways to copy a tree.
const (
	Cloned Sharing = true  // blocks are shared where the file system can, until either file is written
	Copied Sharing = false // every file has blocks of its own
)

// Tree replaces the directory name in to by a copy of dir in from, and returns the bytes of files that share their
// blocks with the originals. Files keep their modes and owners. Copied data is on the device when it returns, not in
// the page cache. Only files and directories are copied. No process may have any of them open.
func Tree(ctx context.Context, from, to *os.Root, dir, name string, sharing Sharing) (cloned int64, err error) {
	source, err := from.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	if err := to.RemoveAll(name); err != nil {
		return 0, fmt.Errorf("make room for a copy: %w", err)
	}
	err = fs.WalkDir(source.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
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
		target := filepath.Join(name, path)
		switch {
		case entry.IsDir():
			err = errors.Join(to.Mkdir(target, 0o700), copyOwnership(to, target, info))
		case entry.Type().IsRegular():
			var shared bool
			shared, err = copyFile(source, path, to, target, info, sharing)
			if shared {
				cloned += info.Size()
			}
		default:
			err = errors.New("it is neither a file nor a directory")
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(source.Name(), path), err)
		}
		return nil
	})
	return cloned, err
}

// copyOwnership sets the mode and the owner of a path to those of the original.
func copyOwnership(to *os.Root, path string, original fs.FileInfo) error {
	err := to.Chmod(path, original.Mode().Perm())
	stat, ok := original.Sys().(*syscall.Stat_t)
	if ok && (int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid()) && os.Geteuid() == 0 {
		err = errors.Join(err, to.Lchown(path, int(stat.Uid), int(stat.Gid)))
	}
	return err
}

// copyFile makes a new file that has the bytes of another, and reports whether both share their blocks.
func copyFile(source *os.Root, from string, to *os.Root, name string, info fs.FileInfo, sharing Sharing) (shared bool,
	err error,
) {
	in, err := source.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, out.Close(), copyOwnership(to, name, info)) }()
	if sharing == Cloned && unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return true, nil
	}
	// Between two files io.Copy has the kernel copy (copy_file_range), which clones where the file system can.
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 1<<20))
	if err == nil {
		err = out.Sync()
	}
	return false, errors.Join(err, forget(in), forget(out))
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
