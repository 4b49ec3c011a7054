package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/state/runid"
)

// A journal is kept on purpose when its changes are meant to outlive the
// command that made them: an NVMe-oF target goes on serving. Its lock is gone
// with the process, so the journal itself says so; Clean leaves it alone until
// it is told otherwise. What is kept does not outlive the kernel: after a
// reboot it counts as left behind.

// Keep notes that the changes made so far are to stay when the process ends.
// A crash before leaves a journal that Clean undoes, so nothing half made is
// ever kept.
func (j *Journal) Keep() error { return j.keeping("kept") }

// Release reverts Keep: Clean then undoes remaining changes, also if the process dies while it undoes them.
func (j *Journal) Release() error { return j.keeping("released") }

func (j *Journal) keeping(state string) error {
	boot, err := BootID()
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(record{State: state, Boot: boot}); err != nil {
		return err
	}
	j.kept = state == "kept"
	crashPoint(0, state)
	return nil
}

// Commit notes that the changes made so far are there to stay: nothing undoes them any more, also after a reboot.
func (j *Journal) Commit() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(record{State: "committed"}); err != nil {
		return err
	}
	j.entries = nil
	crashPoint(0, "committed")
	return nil
}

// Kept reports whether the journal's changes are meant to stay.
func (j *Journal) Kept() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept
}

// applyKeep applies a record of Keep or Release while the journal is read.
func (j *Journal) applyKeep(r record) {
	boot, err := BootID()
	j.kept = r.State == "kept" && err == nil && boot == r.Boot
}

// Open locks an existing journal, to undo it. It returns os.ErrNotExist if there is none, and ErrLive if a process
// holds it.
func Open(state, run string) (*Journal, error) {
	if err := runid.Check(run); err != nil {
		return nil, err
	}
	return open(filepath.Join(journalDir(state), run+suffix), 0)
}

// Look reads what journals below the state directory have not undone, without
// locking them, so also those of runs that are under way. accept chooses by the
// journal's name. A journal that vanishes meanwhile is left out.
func Look(state string, accept func(run string) bool) (map[string][]Change, error) {
	files, err := os.ReadDir(journalDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for journals: %w", err)
	}
	found := map[string][]Change{}
	for _, file := range files {
		run, ok := strings.CutSuffix(file.Name(), suffix)
		if !ok || !accept(run) {
			continue
		}
		path := filepath.Join(journalDir(state), file.Name())
		f, err := openOwn(path, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		j := &Journal{path: path, file: f, readOnly: true}
		err = j.replay()
		f.Close()
		if err != nil {
			return nil, err
		}
		for _, e := range j.entries {
			found[run] = append(found[run], e.Change)
		}
	}
	return found, nil
}
