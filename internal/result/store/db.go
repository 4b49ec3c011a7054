package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/state/runid"
	"plimsoll/internal/state/sudouser"
)

// applicationID marks results.db as plimsoll's: "Plim".
const applicationID = 0x506c696d

// schema of the database. Records are the JSON of the types in
// internal/result, so that a new optional field needs no change here;
// histograms stand apart, because they are nine tenths of a trial.
const schema = `
CREATE TABLE run (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	record TEXT NOT NULL                          -- result.Run without its trials
);
CREATE TABLE trial (
	seq    INTEGER PRIMARY KEY,
	block  INTEGER NOT NULL,
	stack  TEXT NOT NULL,
	mix    TEXT NOT NULL,
	repeat INTEGER NOT NULL,
	status TEXT NOT NULL,
	record TEXT NOT NULL                          -- result.Trial without its series and the bins of its histograms
);
CREATE TABLE histogram (
	seq       INTEGER NOT NULL REFERENCES trial,
	instance  INTEGER NOT NULL,                   -- result.Instance.Index
	operation TEXT NOT NULL,                      -- read, write, ...
	stage     TEXT NOT NULL,                      -- result.Stage
	bins      BLOB NOT NULL,                      -- hist.Bins, packed
	PRIMARY KEY (seq, instance, operation, stage)
) WITHOUT ROWID;
CREATE TABLE trace_histogram (
	seq       INTEGER NOT NULL REFERENCES trial,
	operation TEXT NOT NULL,                      -- read, write
	part      TEXT NOT NULL,                      -- result.PartName
	bins      BLOB NOT NULL,                      -- as in histogram
	PRIMARY KEY (seq, operation, part)
) WITHOUT ROWID;
CREATE TABLE series (
	seq      INTEGER NOT NULL REFERENCES trial,
	number   INTEGER NOT NULL,                    -- of the series in its trial, from 0
	record   TEXT NOT NULL,                       -- result.Series without its values
	samples  BLOB NOT NULL,                       -- its values: 64-bit floating point, least significant byte first
	PRIMARY KEY (seq, number)
) WITHOUT ROWID;
`

type access string

const (
	readOnly  access = "ro"
	readWrite access = "rwc"
)

// openDB opens the database of a run directory, once checkFirstPage and checkJournal know it for ours. Commits are
// synced, the directory included; there is no write-ahead log, which readers of a read-only directory could not open.
func openDB(dir string, mode access) (_ *sql.DB, err error) {
	path, err := filepath.Abs(filepath.Join(dir, ResultsFile))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkFirstPage(path), checkJournal(journalOf(dir))); err != nil {
		return nil, err
	}
	query := url.Values{"mode": {string(mode)}, "_pragma": pragmas, "_txlock": {"immediate"}, "_dqs": {"0"}}
	if mode == readOnly {
		query["_txlock"] = []string{"deferred"}
	}
	db, err := sql.Open("sqlite",
		(&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	// One connection: writes are serial anyway, and pragmas and limits belong to it.
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		return nil, err
	}
	if err := setLimits(db); err != nil {
		return nil, err
	}
	if mode == readOnly {
		return db, nil
	}
	// The start of a transaction undoes one that a dead writer left, and so may bring another first page.
	if err := inTx(db, func(*sql.Tx) error { return checkFirstPage(path) }); err != nil {
		return nil, err
	}
	_, err = db.Exec("PRAGMA synchronous = extra")
	return db, err
}

// newDatabase makes the file of the database, empty, which SQLite takes for a
// new one. The files that SQLite makes beside it get its owner.
func newDatabase(dir string) error {
	f, err := sudouser.New(filepath.Join(dir, ResultsFile), 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// inTx runs change in a transaction.
func inTx(db *sql.DB, change func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// createRun stores the run in an empty database, in one transaction.
func createRun(db *sql.DB, run result.Run) error {
	return inTx(db, func(tx *sql.Tx) error {
		marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, result.SchemaVersion)
		if _, err := tx.Exec(marks + schema); err != nil {
			return err
		}
		header, err := encodeHeader(run)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO run (one, record) VALUES (1, ?)", header); err != nil {
			return err
		}
		return insertTrials(tx, run.Trials)
	})
}

func insertTrials(tx *sql.Tx, trials []result.Trial) error {
	for _, t := range trials {
		record, err := encodeTrial(t)
		if err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO trial (seq, block, stack, mix, repeat, status, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
			t.Seq, t.Block, t.Stack, t.Mix, t.Repeat, string(t.Status), record)
		if err != nil {
			return fmt.Errorf("trial %d: %w", t.Seq, err)
		}
		if err := saveBinsAndSeries(tx, t); err != nil {
			return err
		}
	}
	return nil
}

// addTrials stores further planned trials.
func addTrials(db *sql.DB, trials []result.Trial) error {
	return inTx(db, func(tx *sql.Tx) error { return insertTrials(tx, trials) })
}

// removeTrials removes the planned trials behind the first keep.
func removeTrials(db *sql.DB, keep int) error {
	_, err := db.Exec("DELETE FROM trial WHERE seq > ? AND status = ?", keep, string(result.TrialPlanned))
	return err
}

// saveHeader replaces everything of the run but its trials.
func saveHeader(db *sql.DB, run result.Run) error {
	header, err := encodeHeader(run)
	if err != nil {
		return err
	}
	_, err = db.Exec("UPDATE run SET record = ? WHERE one = 1", header)
	return err
}

// endTrial stores the end of a planned trial; a finished one is an error.
func endTrial(db *sql.DB, t result.Trial) error {
	record, err := encodeTrial(t)
	if err != nil {
		return err
	}
	return inTx(db, func(tx *sql.Tx) error {
		res, err := tx.Exec("UPDATE trial SET status = ?, record = ? WHERE seq = ? AND status = ?",
			string(t.Status), record, t.Seq, string(result.TrialPlanned))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(errors.New("the database has it as finished already"), err)
		}
		return saveBinsAndSeries(tx, t)
	})
}

// saveBinsAndSeries stores the parts of a trial that its record leaves out.
func saveBinsAndSeries(tx *sql.Tx, t result.Trial) error {
	for _, h := range histogramsOf(t) {
		if h.bins.IsEmpty() {
			continue
		}
		_, err := tx.Exec("INSERT INTO histogram (seq, instance, operation, stage, bins) VALUES (?, ?, ?, ?, ?)",
			t.Seq, h.instance, h.operation, h.name, h.bins.Packed())
		if err != nil {
			return err
		}
	}
	for _, h := range traceHistograms(t.Trace) {
		if h.bins.IsEmpty() {
			continue
		}
		_, err := tx.Exec("INSERT INTO trace_histogram (seq, operation, part, bins) VALUES (?, ?, ?, ?)",
			t.Seq, h.operation, h.name, h.bins.Packed())
		if err != nil {
			return err
		}
	}
	return saveSeries(tx, t)
}

// readRun loads the run of a directory through a connection of its own.
func readRun(dir string) (result.Run, error) {
	db, err := openDB(dir, readOnly)
	if err != nil {
		return result.Run{}, err
	}
	defer db.Close()
	return loadRun(db)
}

// readRolledBack reads a run whose writer died within a transaction, from a
// copy: undoing the transaction in place would change the directory.
func readRolledBack(dir string) (result.Run, error) {
	tmp, err := os.MkdirTemp("", "plimsoll-read-")
	if err != nil {
		return result.Run{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, name := range []string{ResultsFile, ResultsFile + journalSuffix} {
		if err := copyFile(filepath.Join(tmp, name), filepath.Join(dir, name)); err != nil {
			return result.Run{}, err
		}
	}
	db, err := openDB(tmp, readWrite)
	if err != nil {
		return result.Run{}, err
	}
	defer db.Close()
	return loadRun(db)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// loadRun reads the whole run, as it was at one moment.
func loadRun(db *sql.DB) (run result.Run, err error) {
	tx, err := db.Begin()
	if err != nil {
		return run, err
	}
	defer func() { _ = tx.Rollback() }()
	if err := checkSchema(tx); err != nil {
		return run, err
	}
	left, err := newBudget(tx)
	if err != nil {
		return run, err
	}
	if run, err = loadHeader(tx, left); err != nil {
		return run, err
	}
	if run.Trials, err = loadTrials(tx, left); err != nil {
		return run, err
	}
	return run, nil
}

// loadHeader reads everything of the run but its trials.
func loadHeader(tx *sql.Tx, left *budget) (run result.Run, err error) {
	var header string
	if err := tx.QueryRow("SELECT record FROM run WHERE one = 1").Scan(&header); err != nil {
		return run, err
	}
	if err := left.spend(len(header)); err != nil {
		return run, err
	}
	if err := json.Unmarshal([]byte(header), &run); err != nil {
		return run, fmt.Errorf("the header of the run: %w", err)
	}
	if err := schemaError(run.Schema); err != nil {
		return run, err
	}
	return run, runid.Check(run.ID)
}

func loadTrials(tx *sql.Tx, left *budget) (trials []result.Trial, err error) {
	rows, err := tx.Query("SELECT record FROM trial ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	index := map[int]int{}
	for rows.Next() {
		var (
			record string
			t      result.Trial
		)
		if err := rows.Scan(&record); err != nil {
			return nil, err
		}
		if err := left.spend(len(record)); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(record), &t); err != nil {
			return nil, fmt.Errorf("trial %d: %w", len(trials)+1, err)
		}
		if !t.Status.Known() {
			return nil, fmt.Errorf("trial %d: %q is no state of a trial", len(trials)+1,
				printable.Shorten(string(t.Status), mostText))
		}
		index[t.Seq] = len(trials)
		trials = append(trials, t)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}

	trialOf := func(seq int) *result.Trial {
		i, known := index[seq]
		if !known {
			return nil
		}
		return &trials[i]
	}
	err = loadHistograms(tx, "SELECT seq, instance, operation, stage, "+packedBins+" FROM histogram", left, trialOf,
		setBins)
	if err != nil {
		return nil, err
	}
	err = loadHistograms(tx, "SELECT seq, 0, operation, part, "+packedBins+" FROM trace_histogram", left, trialOf,
		setTraceBins)
	return trials, err
}

// packedBins are the bins of a histogram, or NULL for those that are longer than any of
// ours: fio and Dist know some two thousand bins, of 19 bytes at most.
const packedBins = "CASE WHEN length(bins) <= 1048576 THEN bins END"

// loadHistograms puts bins where they belong.
func loadHistograms(tx *sql.Tx, query string, left *budget, trial func(seq int) *result.Trial,
	set func(*result.Trial, histogram) error) error {
	rows, err := tx.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			seq  int
			h    histogram
			blob []byte
		)
		if err := rows.Scan(&seq, &h.instance, &h.operation, &h.name, &blob); err != nil {
			return err
		}
		if err := left.spend(len(h.operation) + len(h.name) + len(blob)); err != nil {
			return err
		}
		h.operation, h.name = printable.Shorten(h.operation, mostText), printable.Shorten(h.name, mostText)
		t := trial(seq)
		if t == nil {
			return fmt.Errorf("histogram of trial %d, which does not exist", seq)
		}
		if blob == nil {
			return fmt.Errorf("trial %d: %s %s: the histogram is longer than any can be", seq, h.operation, h.name)
		}
		if h.bins, err = hist.ReadBins(blob); err != nil {
			return fmt.Errorf("trial %d: %s %s: %w", seq, h.operation, h.name, err)
		}
		if err := set(t, h); err != nil {
			return err
		}
	}
	return rows.Err()
}

func encodeHeader(run result.Run) (string, error) {
	run.Trials = nil
	b, err := json.Marshal(run)
	return string(b), err
}

// encodeTrial returns a trial's record, without its series and the bins of its
// histograms.
func encodeTrial(t result.Trial) (record string, err error) {
	b, err := json.Marshal(t)
	return string(b), err
}

// isFull reports whether err means that the disk is full.
func isFull(err error) bool {
	var e *sqlite.Error
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL
}

// isDamaged reports whether the database's file is none, or not a whole one.
func isDamaged(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_NOTADB || e.Code()&0xff == sqlite3.SQLITE_CORRUPT)
}

// isMoved reports whether a write failed because the database's file was moved or removed.
func isMoved(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_DBMOVED
}

// needsRollback reports whether a read failed because a dead writer's transaction must be undone first.
func needsRollback(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}
