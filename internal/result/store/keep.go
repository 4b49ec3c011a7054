package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/result"
	"plimsoll/internal/state/sudouser"
)

// ErrExists is in the error of Keep for a directory that is there.
var ErrExists = errors.New("exists already: choose another directory")

// Keep stores a run that is over, with its artifacts, in dir, which must not
// exist: all of it, or nothing, which is what the end of ctx leaves. artifacts gives the files of a trial by their
// base names; nil for none.
func Keep(ctx context.Context, dir string, run result.Run, artifacts func(result.Trial) map[string][]byte) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s %w", dir, ErrExists)
	}
	parent := filepath.Dir(dir)
	made, err := sudouser.MkdirAll(parent, 0o755)
	defer func() {
		if err != nil {
			for i := len(made) - 1; i >= 0; i-- {
				_ = os.Remove(made[i])
			}
		}
	}()
	if err != nil {
		return explain("making the run directory", dir, err)
	}
	// Two levels down, where nobody looks for runs: a crash leaves no half of one.
	worker, err := sudouser.Worker(parent)
	if err != nil {
		return err
	}
	var tmp string
	err = worker.Do(func() (err error) {
		tmp, err = os.MkdirTemp(parent, ".keep-*")
		return err
	})
	if err != nil {
		return explain("making the run directory", dir, err)
	}
	defer func() { err = errors.Join(err, worker.Do(func() error { return os.RemoveAll(tmp) })) }()
	whole := filepath.Join(tmp, filepath.Base(dir))
	if err := fill(ctx, whole, run, artifacts); err != nil {
		return fmt.Errorf("storing the run %s: %w", dir, err)
	}
	err = worker.Do(func() error { return errors.Join(os.Rename(whole, dir), sudouser.SyncDir(parent)) })
	if err != nil {
		return explain("storing the run", dir, err)
	}
	if worker.UID == os.Geteuid() { // it was made where the user behind sudo does not come
		sudouser.GiveTree(dir)
	}
	return nil
}

// fill makes a run directory.
func fill(ctx context.Context, dir string, run result.Run, artifacts func(result.Trial) map[string][]byte) (err error) {
	planned := copyRun(run)
	for i, t := range planned.Trials {
		planned.Trials[i] = result.Trial{Seq: t.Seq, Block: t.Block, Stack: t.Stack, Mix: t.Mix, Repeat: t.Repeat,
			Status: result.TrialPlanned}
	}
	s, err := Create(dir, planned)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, t := range run.Trials {
		if err := ctx.Err(); err != nil {
			return err
		}
		if files := artifacts(t); len(files) > 0 {
			t.Artifacts = filepath.Join(ArtifactsDir, ArtifactsOf(t))
			if err := s.KeepFiles(ArtifactsOf(t), files); err != nil {
				return err
			}
		}
		if err := s.SaveTrial(t); err != nil {
			return err
		}
	}
	return s.Finish(run.Status)
}
