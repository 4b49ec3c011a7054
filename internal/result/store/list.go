package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/result"
)

// Summary describes a run in a list of runs, without its measurements.
type Summary struct {
	Dir        string           // the run directory
	Problem    error            // why the run cannot be read, with Dir in it; then only Dir is known
	ID         string           // of the run
	Experiment string           // its name
	Question   string           // that the experiment asks
	Host       string           // "" when it is not known
	Started    time.Time        // for an imported run, the time of the import
	Finished   time.Time        // zero for a run that did not finish
	Status     result.RunStatus // as it is stored: a run that crashed is still "running"
	Written    bool             // a process is writing the run at this moment
	Imported   bool             // made from another program's files
	Stacks     int              // that were tried, without the control
	Workloads  int              // that were tried
	Trials     int              // planned
	Done       int              // trials that have a result
	Failed     int              // trials that ended with a reason
	Skipped    int              // trials that the host cannot run
}

// List returns summaries of the runs below root, newest first, and then the unreadable runs, each with the reason. A
// missing root has no runs. List reads no measurements, so that it is quick for any number of trials.
func List(root string) ([]Summary, error) {
	names, err := entries(root)
	if err != nil {
		return nil, err
	}
	summaries := []Summary{}
	for _, name := range names {
		summaries = append(summaries, Summarize(filepath.Join(root, name)))
	}
	slices.SortStableFunc(summaries, func(a, b Summary) int {
		switch {
		case (a.Problem == nil) != (b.Problem == nil):
			return map[bool]int{true: -1, false: 1}[a.Problem == nil]
		case !a.Started.Equal(b.Started):
			return b.Started.Compare(a.Started)
		}
		return strings.Compare(b.ID, a.ID)
	})
	return summaries, nil
}

// entries names the directories below root that hold a run, or were to.
func entries(root string) ([]string, error) {
	found, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for runs: %w", err)
	}
	var names []string
	for _, e := range found {
		if IsRun(filepath.Join(root, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Summarize summarizes the run in dir. What is wrong with it is in the summary.
func Summarize(dir string) Summary {
	if err := checkIsRun(dir); err != nil {
		return Summary{Dir: dir, Problem: err}
	}
	if err := checkSnapshot(dir); err != nil {
		return Summary{Dir: dir, Problem: explain("reading the run", dir, err)}
	}
	s, err := summary(dir)
	if needsRollback(err) { // its writer died within a transaction, which is rare
		s, err = rolledBackSummary(dir)
	}
	if err != nil {
		return Summary{Dir: dir, Problem: explain("reading the run", dir, err)}
	}
	s.Dir, s.Written = dir, isWritten(dir)
	return s
}

func rolledBackSummary(dir string) (s Summary, err error) {
	run, err := readRolledBack(dir)
	if err != nil {
		return s, err
	}
	s = summarizeHeader(run)
	for _, t := range run.Trials {
		s.count(t.Status)
	}
	return s, nil
}

// summary reads the header of a run, and counts its trials.
func summary(dir string) (s Summary, err error) {
	db, err := openDB(dir, readOnly)
	if err != nil {
		return s, err
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return s, err
	}
	defer func() { _ = tx.Rollback() }()
	if err := checkSchema(tx); err != nil {
		return s, err
	}
	left, err := newBudget(tx)
	if err != nil {
		return s, err
	}
	run, err := loadHeader(tx, left)
	if err != nil {
		return s, err
	}
	s = summarizeHeader(run)
	return s, s.countTrials(tx, left)
}

// summarizeHeader returns a summary of the run's header, without its trials.
func summarizeHeader(run result.Run) Summary {
	controls := 0
	for _, s := range run.Stacks {
		if s.Control != "" {
			controls++
		}
	}
	return Summary{
		ID: run.ID, Experiment: run.Experiment.Name, Question: run.Experiment.Question, Host: run.Environment.Hostname,
		Started: run.Started, Finished: run.Finished, Status: run.Status, Imported: run.Imported != nil,
		Stacks: len(run.Stacks) - controls, Workloads: len(run.Workloads),
	}
}

// countTrials counts trials by the columns beside their records, without decoding these.
func (s *Summary) countTrials(tx *sql.Tx, left *budget) error {
	rows, err := tx.Query("SELECT status FROM trial")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var status string
		if err := rows.Scan(&status); err != nil {
			return err
		}
		if err := left.spend(len(status)); err != nil {
			return err
		}
		s.count(result.TrialStatus(status))
	}
	return rows.Err()
}

func (s *Summary) count(status result.TrialStatus) {
	s.Trials++
	switch status {
	case result.TrialDone:
		s.Done++
	case result.TrialFailed:
		s.Failed++
	case result.TrialSkipped:
		s.Skipped++
	}
}

// IsRun reports whether dir holds a run, or the remains of one.
func IsRun(dir string) bool {
	for _, file := range []string{ResultsFile, RunFile} {
		if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			return true
		}
	}
	return false
}
