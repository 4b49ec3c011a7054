package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/golden"
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

// Replace puts a copy of a directory, which from has under that name, in the place's target,
// in place of what is there under it: see golden.Tree.
func (p *Place) Replace(ctx context.Context, from *os.Root, name string) error {
	at, err := p.root()
	if err != nil {
		return err
	}
	to, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := golden.Tree(ctx, from, to, name, name); err != nil {
		return fmt.Errorf("data for place %d of stack %s: %w", p.config.Number, p.base.line, err)
	}
	return nil
}

// Forget drops what the page cache has of the files in the place's target. What was not written
// back yet stays: flush the base first. A raw device has no files.
func (p *Place) Forget() error {
	at, err := p.root()
	if err != nil {
		return nil //nolint:nilerr // it has no files
	}
	if err := golden.Forget(at); err != nil {
		return fmt.Errorf("drop the files of place %d of stack %s from the page cache: %w", p.config.Number, p.base.line, err)
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
