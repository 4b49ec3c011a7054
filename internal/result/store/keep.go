package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/result"
	"plimsoll/internal/state/sudouser"
)

// Keep stores a run that is over, with its artifacts, in dir, which must not
// exist: all of it, or nothing. artifacts gives the files of a trial by their
// base names; nil for none.
func Keep(dir string, run result.Run, artifacts func(result.Trial) map[string][]byte) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s exists already: choose another directory", dir)
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
	tmp, err := os.MkdirTemp(parent, ".keep-*")
	if err != nil {
		return explain("making the run directory", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	whole := filepath.Join(tmp, filepath.Base(dir))
	if err := fill(whole, run, artifacts); err != nil {
		return fmt.Errorf("storing the run %s: %w", dir, err)
	}
	if err := os.Rename(whole, dir); err != nil {
		return explain("storing the run", dir, err)
	}
	return sudouser.SyncDir(parent)
}

// fill makes a run directory.
func fill(dir string, run result.Run, artifacts func(result.Trial) map[string][]byte) (err error) {
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
		if files := artifacts(t); len(files) > 0 {
			into, err := s.ArtifactDir(t)
			if err != nil {
				return err
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(into, filepath.Base(name)), text, 0o644); err != nil {
					return explain("keeping "+name, dir, err)
				}
			}
		}
		if err := s.SaveTrial(t); err != nil {
			return err
		}
	}
	return s.Finish(run.Status)
}
