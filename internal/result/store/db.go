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
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/owner"
	"plimsoll/internal/result"
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
	seq      INTEGER PRIMARY KEY,
	block    INTEGER NOT NULL,
	stack    TEXT NOT NULL,
	workload TEXT NOT NULL,
	repeat   INTEGER NOT NULL,
	status   TEXT NOT NULL,
	record   TEXT NOT NULL                        -- result.Trial without the bins of its histograms
);
CREATE TABLE histogram (
	seq       INTEGER NOT NULL REFERENCES trial,
	direction TEXT NOT NULL,                      -- read, write
	latency   TEXT NOT NULL,                      -- submission, completion, total
	bins      BLOB NOT NULL,                      -- pairs of varints: nanoseconds since the bin before, count
	PRIMARY KEY (seq, direction, latency)
) WITHOUT ROWID;
`

// traceSchema is made when the first traced trial is stored: versions that know
// of no traces read the rest.
const traceSchema = `
CREATE TABLE IF NOT EXISTS trace_histogram (
	seq       INTEGER NOT NULL REFERENCES trial,
	direction TEXT NOT NULL,                      -- read, write
	part      TEXT NOT NULL,                      -- result.PartName
	bins      BLOB NOT NULL,                      -- as in histogram
	PRIMARY KEY (seq, direction, part)
) WITHOUT ROWID;
`

type access string

const (
	readOnly  access = "ro"
	readWrite access = "rwc"
)

// openDB opens the database of a run directory. Commits are synced, the
// directory included; there is no write-ahead log, which readers of a
// read-only directory could not open.
func openDB(dir string, mode access) (*sql.DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, ResultsFile))
	if err != nil {
		return nil, err
	}
	query := url.Values{
		"mode":    {string(mode)},
		"_pragma": {"busy_timeout(10000)", "synchronous(extra)", "foreign_keys(on)"},
		"_txlock": {"immediate"},
	}
	if mode == readOnly {
		query["_txlock"] = []string{"deferred"}
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	// One connection: writes are serial anyway, and pragmas belong to it.
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// newDatabase makes the file of the database, empty, which SQLite takes for a
// new one. The files that SQLite makes beside it get its owner.
func newDatabase(dir string) error {
	f, err := owner.New(filepath.Join(dir, ResultsFile), 0o644)
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
		_, err = tx.Exec("INSERT INTO trial (seq, block, stack, workload, repeat, status, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
			t.Seq, t.Block, t.Stack, t.Workload, t.Repeat, string(t.Status), record)
		if err != nil {
			return fmt.Errorf("trial %d: %w", t.Seq, err)
		}
		if err := saveHistograms(tx, t); err != nil {
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
	_, err = db.Exec("UPDATE run SET record = ?", header)
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
		return saveHistograms(tx, t)
	})
}

// saveHistograms stores the bins that a trial's record leaves out.
func saveHistograms(tx *sql.Tx, t result.Trial) error {
	insert := func(into string, histograms []histogram) error {
		for _, h := range histograms {
			if len(h.of.Bins) == 0 {
				continue
			}
			if _, err := tx.Exec(into, t.Seq, h.direction, h.name, encodeBins(h.of.Bins)); err != nil {
				return err
			}
		}
		return nil
	}
	if t.Measurement != nil {
		if err := insert("INSERT INTO histogram (seq, direction, latency, bins) VALUES (?, ?, ?, ?)", histogramsOf(t.Measurement)); err != nil {
			return err
		}
	}
	if t.Trace == nil {
		return nil
	}
	if _, err := tx.Exec(traceSchema); err != nil {
		return err
	}
	return insert("INSERT INTO trace_histogram (seq, direction, part, bins) VALUES (?, ?, ?, ?)", traceHistogramsOf(t.Trace))
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
	for _, name := range []string{ResultsFile, ResultsFile + "-journal"} {
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
	var header string
	if err := tx.QueryRow("SELECT record FROM run").Scan(&header); err != nil {
		return run, err
	}
	if err := json.Unmarshal([]byte(header), &run); err != nil {
		return run, fmt.Errorf("the header of the run: %w", err)
	}
	if err := otherSchema(run.Schema); err != nil {
		return run, err
	}
	if run.Trials, err = loadTrials(tx); err != nil {
		return run, err
	}
	return run, nil
}

// checkSchema says why a database cannot be read as a run of this version.
func checkSchema(tx *sql.Tx) error {
	var id, version int
	if err := tx.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case id == 0 && version == 0:
		return fmt.Errorf("%s is empty: plimsoll was stopped before it had stored the plan; no trial was run, the directory can go", ResultsFile)
	case id != applicationID:
		return fmt.Errorf("%s is a database, but not plimsoll's", ResultsFile)
	}
	return otherSchema(version)
}

// otherSchema says why what carries a schema cannot be read.
func otherSchema(version int) error {
	switch {
	case version > result.SchemaVersion:
		return fmt.Errorf("it was written by a newer plimsoll (schema %d, this one reads %d): use that version, or export the run with it", version, result.SchemaVersion)
	case version < result.SchemaVersion:
		return fmt.Errorf("it was written by an older plimsoll (schema %d, this one reads %d): use that version, or export the run with it", version, result.SchemaVersion)
	}
	return nil
}

func loadTrials(tx *sql.Tx) (trials []result.Trial, err error) {
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
		if err := json.Unmarshal([]byte(record), &t); err != nil {
			return nil, fmt.Errorf("trial %d: %w", len(trials)+1, err)
		}
		index[t.Seq] = len(trials)
		trials = append(trials, t)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}

	err = loadHistograms(tx, "SELECT seq, direction, latency, bins FROM histogram", func(seq int) ([]histogram, string) {
		if i, ok := index[seq]; ok && trials[i].Measurement != nil {
			return histogramsOf(trials[i].Measurement), ""
		}
		return nil, "measurement"
	})
	var traced int
	if err == nil {
		err = tx.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'trace_histogram'").Scan(&traced)
	}
	if err == nil && traced > 0 {
		err = loadHistograms(tx, "SELECT seq, direction, part, bins FROM trace_histogram", func(seq int) ([]histogram, string) {
			if i, ok := index[seq]; ok && trials[i].Trace != nil {
				return traceHistogramsOf(trials[i].Trace), ""
			}
			return nil, "trace"
		})
	}
	return trials, err
}

// loadHistograms puts bins where they belong: of gives the histograms of a
// trial, or what it lacks to have any.
func loadHistograms(tx *sql.Tx, query string, of func(seq int) (_ []histogram, lacks string)) error {
	rows, err := tx.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			seq             int
			direction, name string
			blob            []byte
		)
		if err := rows.Scan(&seq, &direction, &name, &blob); err != nil {
			return err
		}
		histograms, lacks := of(seq)
		if lacks != "" {
			return fmt.Errorf("histogram of trial %d, which has no %s", seq, lacks)
		}
		i := slices.IndexFunc(histograms, func(h histogram) bool { return h.direction == direction && h.name == name })
		if i < 0 {
			return fmt.Errorf("trial %d: unknown histogram %s %s", seq, direction, name)
		}
		if histograms[i].of.Bins, err = decodeBins(blob); err != nil {
			return fmt.Errorf("trial %d: %s %s: %w", seq, direction, name, err)
		}
	}
	return rows.Err()
}

func encodeHeader(run result.Run) (string, error) {
	run.Trials = nil
	b, err := json.Marshal(run)
	return string(b), err
}

// encodeTrial gives a trial's record, without the bins of its histograms.
func encodeTrial(t result.Trial) (record string, err error) {
	if t.Measurement != nil {
		bare := *t.Measurement
		for _, h := range histogramsOf(&bare) {
			h.of.Bins = nil
		}
		t.Measurement = &bare
	}
	if t.Trace != nil {
		t.Trace = bareTrace(*t.Trace)
	}
	b, err := json.Marshal(t)
	return string(b), err
}

// isFull tells whether an error means that the disk is full.
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

// isMoved tells whether a write failed because the database's file is not at
// its place any more.
func isMoved(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_DBMOVED
}

// needsRollback tells whether a read failed because a dead writer's
// transaction must be undone first.
func needsRollback(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}
