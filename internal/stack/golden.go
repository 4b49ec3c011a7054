package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/state/datasets"
	"plimsoll/internal/state/journal"
)

// Golden returns a directory on the base's file system for data of which places get copies. The first call makes it.
// It is removed with the base.
func (b *Base) Golden(ctx context.Context) (string, error) {
	if b.golden != "" {
		return b.golden, nil
	}
	if b.worker != nil {
		return "", refuseOwner(b.dir, b.worker, "data that root copies")
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

// Replace replaces the directory of that name in the place's target by a copy of the one in from, and returns the bytes
// that both share: see datasets.Tree.
func (p *Place) Replace(ctx context.Context, from *os.Root, name string, sharing datasets.Sharing) (cloned int64,
	err error,
) {
	dir, err := p.hostDir()
	if err != nil {
		return 0, err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	cloned, err = datasets.Tree(ctx, from, to, name, name, sharing)
	if err != nil {
		return cloned, fmt.Errorf("data for place %d of stack %s: %w", p.config.Number, p.base.line, err)
	}
	return cloned, nil
}

// Forget drops the files in the place's target from the page cache. Dirty pages stay: flush the base first. A raw
// device has no files.
func (p *Place) Forget() error {
	dir, err := p.hostDir()
	if err != nil {
		return nil //nolint:nilerr // it has no files
	}
	if err := datasets.Forget(dir); err != nil {
		return fmt.Errorf("drop the files of place %d of stack %s from the page cache: %w", p.config.Number, p.base.line, err)
	}
	return nil
}

// hostDir returns the host's path of the place's target.
func (p *Place) hostDir() (string, error) {
	if p.dir != "" {
		return p.dir, nil
	}
	if in, ok := p.execute.(*containerExecutor); ok {
		return in.container.Inside(p.Target.Path), nil
	}
	return "", fmt.Errorf("stack %s ends in a block device, which has no files", p.base.line)
}
