package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/journal"
)

// Golden returns the directory on the base's own file system, made when it is asked for
// first, for data of which places get copies: it is laid out once, and copies of it are
// clones where the file system can. It goes with the base.
func (b *Base) Golden(ctx context.Context) (string, error) {
	if b.golden != "" {
		return b.golden, nil
	}
	parent := b.dir
	if parent == "" {
		parent = b.env.Work // a base whose places alone have files
	}
	dir := filepath.Join(parent, "golden-"+filepath.Base(b.name))
	entry, err := b.env.Journal.Do(ctx, &journal.Dir{Path: dir}, func(string) error { return os.Mkdir(dir, 0o700) })
	if entry != nil {
		b.undo = append(b.undo, entry)
	}
	if err != nil {
		return "", fmt.Errorf("make a directory for data that is copied: %w", err)
	}
	b.golden = dir
	return dir, nil
}

// Replace puts a copy of the directory at from in the place's target, in place of what
// is there under that name. No process may have either open. What it copied, and did not
// clone, is on the device when it returns, and in no page cache.
func (p *Place) Replace(ctx context.Context, from, name string) error {
	at, err := p.root()
	if err != nil {
		return err
	}
	to, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer to.Close()
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	err = errors.Join(to.RemoveAll(name), to.Mkdir(name, 0o755))
	if err != nil {
		return fmt.Errorf("make room for a copy of the data: %w", err)
	}
	err = fs.WalkDir(source.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			return to.Mkdir(filepath.Join(name, path), 0o755)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", filepath.Join(from, path))
		}
		return cloneFile(source, path, to, filepath.Join(name, path))
	})
	if err != nil {
		return fmt.Errorf("copy %s to place %d of stack %s: %w", from, p.config.Number, p.base.line, err)
	}
	return nil
}

// root is where the host finds the files of the place's target.
func (p *Place) root() (string, error) {
	if p.dir != "" {
		return p.dir, nil
	}
	if in, ok := p.execute.(*contained); ok {
		return in.container.Inside(p.Target.Path), nil
	}
	return "", fmt.Errorf("stack %s ends in a block device, which has no files", p.base.line)
}

// cloneFile makes a new file that has the bytes of another: the same blocks where the
// file system can share them.
func cloneFile(source *os.Root, from string, to *os.Root, name string) (err error) {
	in, err := source.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, forget(in), forget(out))
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
