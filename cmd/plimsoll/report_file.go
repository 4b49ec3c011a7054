package main

import (
	"fmt"
	"io"
	"path/filepath"

	"plimsoll/internal/fact"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/sudouser"
)

// writeReport writes the HTML report of the run in a directory, in the place of
// one that is there.
func writeReport(path string, run *result.Run, findings []fact.Finding) error {
	opt := report.PageOptions{Series: func(trial int) ([]result.Series, error) {
		return store.ReadSeries(filepath.Dir(path), trial)
	}}
	if err := sudouser.Replace(path, func(w io.Writer) error { return report.HTML(w, run, findings, opt) }); err != nil {
		return fmt.Errorf("write the report %s: %w", path, err)
	}
	return nil
}
