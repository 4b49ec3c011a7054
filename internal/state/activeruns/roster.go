// Package activeruns announces runs to other runs on the same host, since runs at the same time measure each other's
// load.
//
// A run writes a file below /run that names its devices, and holds a lock on it. A file without a lock is left from a
// run that was killed, and is ignored; nobody ever waits for a lock.
//
// Hazards. Any user may write such a file, into a directory of theirs. Their content is untrusted, and only root's
// files can do more than cause a warning.
package activeruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/journal"
)

// Run is one that is under way.
type Run struct {
	ID      string    `json:"run"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Disks   []string  `json:"disks,omitempty"` // kernel names of those that it measures
	// devices that it uses exclusively, as stack.Env.Occupies names them
	Devices []string `json:"devices,omitempty"`

	// Trusted reports whether root wrote the file.
	Trusted bool `json:"-"`
}

// Enter announces a run, until the returned function is called or the process ends. The journal removes the file.
func Enter(ctx context.Context, j *journal.Journal, r Run) (leave func(), err error) {
	file, err := FileOf(r.ID)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var lock *os.File
	change := &presence{Path: file}
	entry, err := j.Do(ctx, change, func(string) (err error) {
		lock, err = change.Make(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("show other runs of this one: %w", err)
	}
	return func() {
		_ = j.Undo(context.WithoutCancel(ctx), entry) // it stays in the journal then
		lock.Close()
	}, nil
}

// What is read of others, at most.
const (
	mostRuns  = 64
	mostBytes = 64 << 10
)

// Others returns the active runs except id, ordered by id. Files that cannot be read are ignored.
func Others(id string) []Run {
	var runs []Run
	for _, pattern := range presenceDirs {
		dirs, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, dir := range dirs {
			runs = append(runs, runsIn(dir)...)
		}
	}
	runs = slices.DeleteFunc(runs, func(r Run) bool { return r.ID == id })
	slices.SortFunc(runs, func(a, b Run) int { return strings.Compare(a.ID, b.ID) })
	return runs
}

func runsIn(dir string) (all []Run) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(mostRuns) // as many as there are
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), presenceSuffix) {
			continue
		}
		if r, err := readRun(filepath.Join(dir, e.Name())); err == nil {
			all = append(all, r)
		}
	}
	return all
}

var errNoRun = errors.New("it reports no run that is under way")

// readRun reads a file that a stranger may have made.
func readRun(path string) (r Run, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostBytes {
		return r, errNoRun
	}
	switch err := filelock.Try(f, filelock.Shared); {
	case err == nil:
		return r, errNoRun // its owner was killed
	case !errors.Is(err, filelock.ErrHeld):
		return r, err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	r.Trusted = ok && stat.Uid == 0 && filepath.Dir(path) == presenceDirs[0]
	return r, r.check()
}

// wordRE matches ids and names of devices, which are printed on the screen.
var wordRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:!-]{0,199}$`)

// nqnRE matches a target's subsystem among devices.
var nqnRE = regexp.MustCompile(`^subsystem [!-~]{1,223}$`)

func (r Run) check() error {
	if !wordRE.MatchString(r.ID) || len(r.Disks) > mostRuns || len(r.Devices) > mostRuns {
		return errNoRun
	}
	if slices.ContainsFunc(r.Disks, func(d string) bool { return !wordRE.MatchString(d) }) {
		return errNoRun
	}
	if slices.ContainsFunc(r.Devices, func(d string) bool { return !wordRE.MatchString(d) && !nqnRE.MatchString(d) }) {
		return errNoRun
	}
	return nil
}
