package store

import (
	"io"
	"path/filepath"

	"plimsoll/internal/export"
	"plimsoll/internal/owner"
)

// snapshot replaces run.json: whoever reads it sees the old or the new one.
func (s *Store) snapshot() error {
	err := owner.Replace(filepath.Join(s.dir, RunFile), func(w io.Writer) error { return export.JSON(w, &s.run) })
	if err != nil {
		return explain("writing "+RunFile, s.dir, err)
	}
	return nil
}
