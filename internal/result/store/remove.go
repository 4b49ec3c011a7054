package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/state/sudouser"
)

// Remove deletes a run directory. It refuses a run that a process is writing, a link, and a directory that holds
// anything that is no part of a run: nothing of it is deleted then.
func Remove(dir string) error {
	if name := filepath.Base(dir); name == "." || name == ".." || name == "/" {
		return fmt.Errorf("removing the run %s: name its directory, as plimsoll runs does", dir)
	}
	if err := checkIsRun(dir); err != nil {
		return err
	}
	worker, err := sudouser.Worker(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return worker.Do(func() error { return remove(dir) })
}

func remove(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(strings.TrimRight(dir, "/")))
	if err != nil {
		return explain("removing the run", dir, err)
	}
	defer parent.Close()
	name := filepath.Base(dir)
	info, err := parent.Lstat(name)
	if err != nil {
		return explain("removing the run", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("removing the run %s: it is a link: name the directory that it leads to", dir)
	}
	inside, err := parent.OpenRoot(name)
	if err != nil {
		return explain("removing the run", dir, err)
	}
	defer inside.Close()
	// A path such as link/../run leads to another place for the kernel than its text says.
	named, err1 := os.Stat(dir)
	opened, err2 := inside.Stat(".")
	if err := errors.Join(err1, err2); err != nil {
		return explain("removing the run", dir, err)
	}
	if !os.SameFile(named, opened) {
		return fmt.Errorf("removing the run %s: its path leads through a link: name the directory without one", dir)
	}
	held, err := acquire(dir)
	if err != nil {
		return err
	}
	defer held.release()
	entries, err := fs.ReadDir(inside.FS(), ".")
	if err != nil {
		return explain("removing the run", dir, err)
	}
	for _, e := range entries {
		if !isPart(e) {
			return fmt.Errorf("removing the run %s: %s is no part of a run, and nothing was removed: move it away first",
				dir, e.Name())
		}
	}
	// The results go last: after an interruption, the directory is still a run that can be removed.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(strings.Count(a.Name(), ResultsFile), strings.Count(b.Name(), ResultsFile))
	})
	for _, e := range entries {
		if err := inside.RemoveAll(e.Name()); err != nil {
			return explain("removing the run", dir, err)
		}
	}
	if err := parent.Remove(name); err != nil {
		return explain("removing the run", dir, err)
	}
	return nil
}

// isPart reports whether an entry of a run directory is one that plimsoll makes.
func isPart(e fs.DirEntry) bool {
	if e.Name() == ArtifactsDir {
		return e.IsDir()
	}
	name := e.Name()
	for _, file := range []string{RunFile, ReportFile} { // and what replaces it, where that was cut off
		if strings.HasPrefix(name, "."+file+"-") {
			name = file
		}
	}
	return e.Type().IsRegular() && slices.Contains(append([]string{RunFile, ReportFile, lockFile}, databaseFiles...), name)
}
