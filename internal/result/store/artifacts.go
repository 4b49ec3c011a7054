package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/state/sudouser"
)

// ArtifactsOf returns the name of the directory of a trial's artifacts.
func ArtifactsOf(t result.Trial) string {
	plain := func(name string) string {
		return strings.Map(func(r rune) rune {
			if r == '/' || r == 0 || r <= ' ' {
				return '_'
			}
			return r
		}, name)
	}
	return fmt.Sprintf("%03d-%s-%s-%d", t.Seq, plain(t.Stack), plain(t.Mix), t.Repeat)
}

// KeepArtifacts copies the directories and regular files of a directory to a name below the artifacts of the run, and
// returns its path relative to the run's. What an earlier attempt left there is removed. Only this process may rename
// the directory that is copied.
func (s *Store) KeepArtifacts(name, from string) (path string, err error) {
	path = filepath.Join(ArtifactsDir, name)
	err = s.intoArtifacts(name, func(dir string) error { return s.copyTree(dir, from) })
	if err != nil {
		return "", explain("keeping the artifacts "+name, s.dir, errors.Join(err, s.DropArtifacts(name)))
	}
	return path, nil
}

// KeepFiles writes files, by their base names, to a directory below the artifacts of the run.
func (s *Store) KeepFiles(name string, files map[string][]byte) error {
	err := s.intoArtifacts(name, func(dir string) error {
		return s.worker.Do(func() error {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return explain("keeping the artifacts "+name, s.dir, err)
	}
	return nil
}

// intoArtifacts calls fill with the path of a directory below the artifacts of the run, which is not there.
func (s *Store) intoArtifacts(name string, fill func(dir string) error) error {
	if err := s.DropArtifacts(name); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, ArtifactsDir)
	err := s.worker.Do(func() error {
		if err := checkNoLinks(s.dir); err != nil {
			return err
		}
		_, err := sudouser.MkdirAll(dir, 0o755)
		return err
	})
	if err != nil {
		return err
	}
	return fill(filepath.Join(dir, name))
}

// DropArtifacts removes a directory below the artifacts of the run, if it is there.
func (s *Store) DropArtifacts(name string) error {
	return s.worker.Do(func() error {
		root, err := os.OpenRoot(s.dir) // no link leads out of it
		if err == nil {
			err = errors.Join(root.RemoveAll(filepath.Join(ArtifactsDir, name)), root.Close())
		}
		if err != nil {
			return explain("removing the artifacts "+name, s.dir, err)
		}
		return nil
	})
}

// copyTree copies the directories and regular files below a directory of this process, as files of the worker.
func (s *Store) copyTree(to, from string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return s.worker.Do(func() error { return os.Mkdir(filepath.Join(to, name), 0o755) })
		case entry.Type().IsRegular():
			return s.copyFile(filepath.Join(to, name), source, name)
		}
		return nil
	})
}

// copyFile copies a regular file, which a server's user may exchange for another file meanwhile.
func (s *Store) copyFile(to string, source *os.Root, name string) error {
	in, err := source.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	var out *os.File
	err = s.worker.Do(func() (err error) {
		out, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
