package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"plimsoll/internal/result/export"
)

// snapshot replaces run.json: whoever reads it sees the old or the new one.
func (s *Store) snapshot() error {
	err := replaceFile(filepath.Join(s.dir, RunFile), func(f *os.File) error { return export.JSON(f, &s.run) })
	if err != nil {
		return explain("writing "+RunFile, s.dir, err)
	}
	return nil
}

// replaceFile writes a file beside path, syncs it and renames it to path.
func replaceFile(path string, fill func(*os.File) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if err := errors.Join(tmp.Chmod(0o644), fill(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDirs makes dir and the parents it lacks, gives them to the user behind
// sudo, and tells which it made, outermost first.
func makeDirs(dir string) (made []string, err error) {
	if _, err := os.Stat(dir); err == nil {
		return nil, nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = makeDirs(parent); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	if uid, gid, ok := behindSudo(); ok {
		_ = os.Lchown(dir, uid, gid)
	}
	return append(made, dir), syncDir(filepath.Dir(dir))
}

// HandOver gives a run directory and what it holds to the user behind sudo,
// who would otherwise need root to remove the results. What cannot be given
// stays root's: a nuisance, not a failure.
func HandOver(dir string) {
	uid, gid, ok := behindSudo()
	if !ok {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			_ = os.Lchown(path, uid, gid)
		}
		return nil
	})
}

// behindSudo gives the user who called sudo, when there is one.
func behindSudo() (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	uid, err1 := strconv.Atoi(os.Getenv("SUDO_UID"))
	gid, err2 := strconv.Atoi(os.Getenv("SUDO_GID"))
	return uid, gid, err1 == nil && err2 == nil && uid > 0
}
