package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
)

// RunsDir is the default directory of runs, for writing and for looking them up.
const RunsDir = "plimsoll-runs"

// Last names the newest run.
const Last = "last"

// Find returns the directory of a run: name is a run directory, or the id of a run below root (or its beginning, when
// only one run begins so), or Last or "" for the newest run below root.
func Find(root, name string) (string, error) {
	if name != "" && name != Last {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return name, checkIsRun(name)
		}
	}
	ids, err := runsBelow(root)
	if err != nil {
		return "", err
	}
	if name == "" || name == Last {
		if len(ids) == 0 {
			return "", errNoRun(
				"there is no run in "+inputfile.Located(root),
				"make one with plimsoll run, or name a run directory",
			)
		}
		return filepath.Join(root, ids[len(ids)-1]), nil
	}
	matches := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, name) })
	switch {
	case slices.Contains(matches, name):
		return filepath.Join(root, name), nil
	case len(matches) == 1:
		return filepath.Join(root, matches[0]), nil
	case len(matches) > 1:
		return "", fmt.Errorf("%q is the beginning of %d runs: %s", name, len(matches), strings.Join(matches, ", "))
	case len(ids) == 0:
		return "", errNoRun("there is no run "+name, "no directory has that name, and there are no runs in "+
			inputfile.Located(root)+"; name the directory of a run, or change to where "+filepath.Base(root)+" is")
	}
	near := suggest.Closest(name, ids)
	if near != "" {
		return "", errNoRun("there is no run "+name+" in "+inputfile.Located(root), "did you mean "+near+"?")
	}
	return "", errNoRun("there is no run "+name, "no directory has that name, and no run in "+inputfile.Located(root)+
		" begins so; the newest there is "+ids[len(ids)-1])
}

// errNoRun returns the error for the name of a run that does not exist.
func errNoRun(what, why string) error { return problem.New(problem.Invalid, what, why, "") }

// runsBelow lists the ids of the runs below root in the order of their start.
// No root is no runs.
func runsBelow(root string) (ids []string, err error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for runs: %w", err)
	}
	started := map[string]time.Time{}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if _, err := os.Stat(filepath.Join(dir, ResultsFile)); err != nil {
			continue
		}
		// A run whose snapshot cannot be read sorts first; whoever names it is told why.
		ids = append(ids, e.Name())
		started[e.Name()] = startOf(dir)
	}
	slices.SortStableFunc(ids, func(a, b string) int { return started[a].Compare(started[b]) })
	return ids, nil
}

// headBytes is how much of a snapshot is read for its header. The header is short, while the trials behind it may
// take many megabytes.
const headBytes = 1 << 20

// startOf reads when a run began from the head of its snapshot; the zero time
// when it cannot be read.
func startOf(dir string) (started time.Time) {
	decodeFromHead(dir, "started", &started)
	return started
}

// checkSnapshot returns an error if a newer plimsoll wrote the run's snapshot: the run may hold data that this
// version would lose.
func checkSnapshot(dir string) error {
	schema := result.SchemaVersion
	decodeFromHead(dir, "schema", &schema)
	if schema <= result.SchemaVersion {
		return nil // an older snapshot is replaced, and one that is damaged too
	}
	return fmt.Errorf("%s: %w", RunFile, schemaError(schema))
}

// decodeFromHead decodes the value of a key near the beginning of a snapshot. It leaves value unchanged if there is
// no such key, or if the text cannot be decoded.
func decodeFromHead(dir, key string, value any) {
	f, err := inputfile.Open(filepath.Join(dir, RunFile))
	if err != nil {
		return
	}
	defer f.Close()
	head := json.NewDecoder(io.LimitReader(f, headBytes))
	if brace, err := head.Token(); err != nil || brace != json.Delim('{') {
		return
	}
	for head.More() {
		found, err := head.Token()
		if err != nil {
			return
		}
		if found == key {
			_ = head.Decode(value)
			return
		}
		var other json.RawMessage
		if head.Decode(&other) != nil {
			return
		}
	}
}

// IDs names the runs below root as Find takes them, newest first.
func IDs(root string) ([]string, error) {
	ids, err := runsBelow(root)
	slices.Reverse(ids)
	return ids, err
}
