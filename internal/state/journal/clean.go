package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/statedir"
)

// Report is the result of Clean for one journal.
type Report struct {
	Run    string   `json:"run"`
	Live   bool     `json:"live"`             // left alone: its run is still under way
	Kept   bool     `json:"kept,omitempty"`   // left alone: its changes are meant to stay, as those of an export
	Undone []string `json:"undone"`           // newest first
	Failed []string `json:"failed,omitempty"` // with the reason
	Left   []string `json:"left,omitempty"`   // changes that Preview found, newest first
}

// Clean undoes what runs left behind below the state directory. Journals of
// live runs and those that are kept on purpose are left alone. The error joins
// whatever could not be undone.
func Clean(ctx context.Context, state string) ([]Report, error) {
	return clean(state, false, open, undo(ctx))
}

// CleanKept is Clean that also undoes changes that are kept on purpose.
func CleanKept(ctx context.Context, state string) ([]Report, error) {
	return clean(state, true, open, undo(ctx))
}

// Preview returns what Clean, or CleanKept, would undo. It writes nothing.
func Preview(state string, kept bool) ([]Report, error) {
	return clean(state, kept, look, func(j *Journal, r *Report) error {
		for _, e := range slices.Backward(j.entries) {
			r.Left = append(r.Left, e.Change.What())
		}
		return nil
	})
}

// look opens a journal to read it, unless its run is under way.
func look(path string, _ int) (*Journal, error) {
	f, err := openOwn(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, file: f, readOnly: true}
	err = filelock.Try(f, filelock.Alone)
	if errors.Is(err, filelock.ErrHeld) {
		err = ErrLive
	}
	if err == nil {
		err = j.replay()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// undo returns what undoes all of a journal.
func undo(ctx context.Context) func(*Journal, *Report) error {
	return func(j *Journal, r *Report) error {
		if j.kept {
			if err := j.Release(); err != nil {
				return errors.Join(err, j.undoAllInto(ctx, r))
			}
		}
		return j.undoAllInto(ctx, r)
	}
}

// undoAllInto is UndoAll that adds its results to r.
func (j *Journal) undoAllInto(ctx context.Context, r *Report) error {
	return j.UndoAll(ctx, func(change string, err error) {
		if err != nil {
			r.Failed = append(r.Failed, err.Error())
		} else {
			r.Undone = append(r.Undone, change)
		}
	})
}

// clean opens every journal, and calls do with it.
func clean(state string, kept bool, open func(string, int) (*Journal, error), do func(*Journal, *Report) error,
) ([]Report, error) {
	if err := statedir.Check(state); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	files, err := os.ReadDir(journalDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for journals: %w", err)
	}
	var (
		reports []Report
		errs    []error
	)
	for _, file := range files {
		run, ok := strings.CutSuffix(file.Name(), suffix)
		if !ok {
			continue
		}
		r := Report{Run: run}
		j, err := open(filepath.Join(journalDir(state), file.Name()), 0)
		switch {
		case errors.Is(err, ErrLive):
			r.Live = true
			reports = append(reports, r)
			continue
		case errors.Is(err, os.ErrNotExist):
			continue // its run ended cleanly meanwhile
		case err != nil:
			r.Failed = append(r.Failed, err.Error())
			reports, errs = append(reports, r), append(errs, err)
			continue
		case j.kept && !kept:
			r.Kept = true
			reports, errs = append(reports, r), append(errs, j.Close())
			continue
		}
		err = do(j, &r)
		errs = append(errs, err, j.Close())
		reports = append(reports, r)
	}
	return reports, errors.Join(errs...)
}
