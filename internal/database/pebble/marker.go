package pebble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/database"
)

// markerName is the file that is written last, once all else is on the device.
const markerName = "plimsoll.json"

// marker describes the data in a directory.
type marker struct {
	Format  int              `json:"format"`
	Layout  string           `json:"layout"`
	Dataset database.Dataset `json:"dataset"`
}

// readMarker returns the marker of a directory that was loaded completely.
func readMarker(dir string) (marker, error) {
	text, err := os.ReadFile(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := os.Stat(filepath.Join(dir, loadingName)); gone == nil {
			return marker{}, fmt.Errorf("%s %s", dir, database.PebbleTorn)
		}
		return marker{}, fmt.Errorf("%s %s", dir, database.PebbleNoData)
	}
	if err != nil {
		return marker{}, err
	}
	var m marker
	if err := json.Unmarshal(text, &m); err != nil || m.Dataset.Check() != nil {
		return marker{}, fmt.Errorf("%s in %s %s", markerName, dir, database.PebbleCorrupt)
	}
	if m.Format != database.PebbleFormat {
		return marker{}, fmt.Errorf("%s %s: %d, and this program reads %d", dir, database.PebbleVersion, m.Format,
			database.PebbleFormat)
	}
	return m, nil
}

// write writes the marker so that it is there whole or not at all, and on the device
// when write returns.
func (m marker) write(dir string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, markerName+".new")
	if err := writeSynced(temporary, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(dir, markerName)); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeSynced(name string, text []byte) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
