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
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/state/trusteddir"
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
	writes: func(s *dryRun, n line.Node) {
		s.dir = scratchIn(n.Arg, s.Run, s.name)
		s.makes(s.dir)
	},
	check: func(_ context.Context, e *Env, n line.Node, need int64) error { return e.checkDirectory(n.Arg, need) },
	up: func(ctx context.Context, b *build, n line.Node) (err error) {
		if b.base.worker, err = workerIn(n.Arg); err != nil {
			return err
		}
		if b.base.worker != nil {
			b.fact("user of the workload", fmt.Sprintf("%d, who owns the directory", b.base.worker.UID))
		}
		dir := scratchIn(n.Arg, b.env.RunID, b.name)
		if err := b.mkdir(ctx, dir); err != nil {
			return fmt.Errorf("make a scratch directory in %s: %w", n.Arg, err)
		}
		b.base.dir = dir
		if err := b.recordHostFS(dir); err != nil {
			return err
		}
		return b.readMount(dir)
	},
}

// checkDirectory returns an error if files of need bytes cannot be made in dir.
func (e *Env) checkDirectory(dir string, need int64) error {
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
	if _, err := workerIn(dir); err != nil {
		return err
	}
	return e.checkFree(dir, need)
}

// workerIn returns the user with whose rights a directory of the host is worked in; nil for those of this process. Root
// works as root only where nobody else may change a name on the way: a file could be exchanged for a link to any other
// while it is laid out or written. Elsewhere it works as the owner of the directory, if nobody else may change one.
func workerIn(dir string) (*sudouser.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	uid, gid, err := trusteddir.Owner(dir)
	var untrusted *trusteddir.Untrusted
	switch {
	case errors.As(err, &untrusted):
		return nil, problem.New(problem.Unsupported, "directory "+dir,
			untrusted.Path+": "+untrusted.Why+", so that root could be led to another file from there",
			"name a directory that only root, or only its owner, may write, with those above it").CausedBy(err)
	case err != nil:
		return nil, err
	case uid == 0:
		return nil, nil
	}
	return &sudouser.User{UID: uid, GID: gid}, nil
}

// refuseOwner returns the error for a directory of another user in which something would have to be done as root.
func refuseOwner(dir string, owner *sudouser.User, what string) error {
	return problem.New(problem.Unsupported, what+" in "+dir,
		fmt.Sprintf("the directory can be changed by user %d, who could lead root to another file from there", owner.UID),
		"name a directory that only root may write, with those above it, or dir:PATH alone, which is worked in as that user")
}

// checkRoots returns an error if root cannot work as root in a directory of the host.
func checkRoots(dir, subject string) error {
	worker, err := workerIn(dir)
	if err != nil || worker == nil {
		return err
	}
	return refuseOwner(dir, worker, subject)
}

// checkViewIsRoots returns an error if containers and mounts would stand in a directory of another user.
func checkViewIsRoots(source line.Node, worker *sudouser.User) error {
	if worker == nil {
		return nil
	}
	return refuseOwner(source.Arg, worker, "containers and their mounts")
}

// checkFree returns an error if dir's file system lacks room for need bytes beside what is to stay free.
func (e *Env) checkFree(dir string, need int64) error {
	free, err := e.free(dir)
	if err != nil || free >= need {
		return err
	}
	has, remedy := units.Bytes(uint64(max(0, free)))+" free", "free some space, take a smaller size, or name another directory"
	if e.KeepFree > 0 {
		has += " beside the " + units.Percent(e.KeepFree) + " of it that stay so"
		remedy += "; --keep-free 0% takes all there is"
	}
	return problem.New(problem.Unsupported, "directory "+dir,
		fmt.Sprintf("its file system has %s, the stack needs %s", has, units.Bytes(uint64(need))), remedy)
}

// free returns how many bytes files of stacks may take of a directory's file system.
func (e *Env) free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail)*st.Bsize - int64(e.KeepFree*float64(st.Blocks)*float64(st.Frsize)), nil
}
