package inputfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
)

// Missing is the error of a name that nothing has.
type Missing struct {
	What string // "file", "directory"
	Name string
	Near string // a suggestion, as a question; "" for none
}

func (e *Missing) Error() string {
	text := "there is no " + e.What + " " + Located(e.Name)
	if e.Near != "" {
		text += ": " + e.Near
	}
	return text
}

// Is reports whether target is fs.ErrNotExist or problem.Invalid: a wrong name is the mistake of the user.
func (e *Missing) Is(target error) bool { return target == fs.ErrNotExist || target == problem.Invalid }

// Located returns a name as it was given, and the directory in which a relative one was looked up.
func Located(name string) string {
	full, err := filepath.Abs(name)
	if err != nil || full == filepath.Clean(name) {
		return name
	}
	return name + " (" + full + ")"
}

// NotThere returns the error of a missing file or directory, with the nearest name of the same directory.
func NotThere(kind, name string) *Missing {
	e := &Missing{What: kind, Name: name}
	if near := nearest(filepath.Base(name), namesIn(filepath.Dir(name))); near != "" {
		e.Near = "did you mean " + filepath.Join(filepath.Dir(name), near) + "?"
	}
	return e
}

// nearest returns the one of names that has the stem of a name, or that is most like it and has its extension: an
// extension that two names share makes them no more alike.
func nearest(name string, names []string) string {
	var stems []string
	for _, n := range names {
		if n != name && stem(n) == stem(name) {
			return n
		}
		if filepath.Ext(n) == filepath.Ext(name) {
			stems = append(stems, stem(n))
		}
	}
	near := suggest.Closest(stem(name), stems)
	at := slices.IndexFunc(names, func(n string) bool { return stem(n) == near && filepath.Ext(n) == filepath.Ext(name) })
	if near == "" || at < 0 {
		return ""
	}
	return names[at]
}

// stem returns a name without its extension.
func stem(name string) string {
	if s := strings.TrimSuffix(name, filepath.Ext(name)); s != "" {
		return s
	}
	return name
}

// maxNames is how many names of a directory are compared.
const maxNames = 1000

// namesIn returns names in a directory; none when it cannot be read.
func namesIn(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxNames)
	return names
}

// explain rewords a system error about a name.
func explain(name string, err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return NotThere("file", name)
	case errors.As(err, &path):
		return problem.New(problem.Invalid, name, path.Err.Error(), "").CausedBy(err)
	}
	return err
}
