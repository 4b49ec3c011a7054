package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Report is what Clean did about one journal.
type Report struct {
	Run    string   `json:"run"`
	Live   bool     `json:"live"`             // left alone: its run is still under way
	Kept   bool     `json:"kept,omitempty"`   // left alone: its changes are to stay, as an export does
	Undone []string `json:"undone"`           // newest first
	Failed []string `json:"failed,omitempty"` // with the reason
}

// Clean undoes what runs left behind below the state directory. Journals of
// live runs and those that are kept on purpose are left alone. The error joins
// whatever could not be undone.
func Clean(ctx context.Context, state string) ([]Report, error) { return clean(ctx, state, false) }

// CleanKept is Clean that undoes what is kept on purpose too.
func CleanKept(ctx context.Context, state string) ([]Report, error) { return clean(ctx, state, true) }

func clean(ctx context.Context, state string, kept bool) ([]Report, error) {
	files, err := os.ReadDir(journalDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for journals: %w", err)
	}
	var (
		reports []Report
		all     []error
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
			reports, all = append(reports, r), append(all, err)
			continue
		case j.kept && !kept:
			r.Kept = true
			reports, all = append(reports, r), append(all, j.Close())
			continue
		}
		if j.kept {
			if err := j.Release(); err != nil {
				all = append(all, err)
			}
		}
		err = j.UndoAll(ctx, func(what string, err error) {
			if err != nil {
				r.Failed = append(r.Failed, err.Error())
			} else {
				r.Undone = append(r.Undone, what)
			}
		})
		all = append(all, err, j.Close())
		reports = append(reports, r)
	}
	return reports, errors.Join(all...)
}
