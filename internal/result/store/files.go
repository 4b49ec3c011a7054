package store

import (
	"io"
	"path/filepath"

	"plimsoll/internal/result/export"
	"plimsoll/internal/state/sudouser"
)

// writeSnapshot replaces run.json atomically: readers see the old or the new one.
func (s *Store) writeSnapshot() error {
	err := sudouser.Replace(filepath.Join(s.dir, RunFile), func(w io.Writer) error { return export.JSON(w, &s.run) })
	if err != nil {
		return explain("writing "+RunFile, s.dir, err)
	}
	return nil
}
