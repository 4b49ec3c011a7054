package stack

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
)

// dirSource is a directory that exists: it needs no root, and changes nothing
// but a scratch directory of its own.
var dirSource = &layer{
	Def: line.Def{
		Name: "dir", Summary: "an existing directory; a scratch directory is made in it and removed", Arg: "PATH",
		Below: line.Nothing, Gives: line.FileSystem,
	},
	marks: []result.Mark{result.MarkShared},
	plan:  func(n line.Node) []string { return []string{"make a scratch directory in " + n.Arg} },
	writes: func(s *sketch, n line.Node) {
		s.dir = scratchIn(n.Arg, s.Run, s.name)
		s.makes(s.dir)
	},
	check: func(_ context.Context, _ *Env, n line.Node, need int64) error { return checkDirectory(n.Arg, need) },
	up: func(ctx context.Context, b *build, n line.Node) error {
		dir := scratchIn(n.Arg, b.env.RunID, b.name)
		if err := b.mkdir(ctx, dir); err != nil {
			return fmt.Errorf("make a scratch directory in %s: %w", n.Arg, err)
		}
		b.base.dir = dir
		if err := b.within(dir); err != nil {
			return err
		}
		return b.readMount(dir)
	},
}

// checkDirectory tells whether files of need bytes can be made in dir.
func checkDirectory(dir string, need int64) error {
	unsupported := func(why, remedy string) error {
		return problem.New(problem.Unsupported, "directory "+dir, why, remedy)
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return unsupported("it does not exist", "make it, or name another one")
	case err != nil:
		return unsupported(err.Error(), "name a directory that you may read")
	case !st.IsDir():
		return unsupported("it is not a directory", "name the directory that holds it")
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return unsupported("you may not write there: "+err.Error(), "run as a user who may, or name another directory")
	}
	return checkFree(dir, need)
}

// checkFree tells whether dir's file system has room for need bytes.
func checkFree(dir string, need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	free := int64(st.Bavail) * st.Bsize
	if free >= need {
		return nil
	}
	return problem.New(problem.Unsupported, "directory "+dir,
		fmt.Sprintf("its file system has %s free, the stack needs %s", units.Bytes(uint64(free)), units.Bytes(uint64(need))),
		"free some space, take a smaller size, or name another directory")
}
