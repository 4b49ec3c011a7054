package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// Whatever reads or continues a run opens its database by openDB, which takes a file for another program's unless it
// is exactly what createRun makes: the tables of schema, and nothing else. A view or a trigger is a program, which
// would run here with the rights of the reader. Beyond that, a budget bounds what is read by the size of the file: in a
// file that was put together by hand, many rows can share the same bytes, and a table can hold itself.

// pragmas hold for each connection. None reads the schema, which checkFirstPage looks at before.
var pragmas = []string{"busy_timeout(10000)", "foreign_keys(on)", "trusted_schema(off)", "cell_size_check(on)"}

// The longest values. The longest record known is that of a trial of a thousand instances: 4 MiB.
const (
	mostValue    = 64 << 20
	mostText     = 256     // bytes of a name of an operation, a stage or a part
	mostDatabase = 4 << 30 // bytes that are read of a database
)

// limits are those of SQLite that statements of this package, and values of runs, stay within.
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:              mostValue,
	sqlite3.SQLITE_LIMIT_SQL_LENGTH:          64 << 10,
	sqlite3.SQLITE_LIMIT_COLUMN:              32,
	sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          32,
	sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     2,
	sqlite3.SQLITE_LIMIT_VDBE_OP:             25_000,
	sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        8,
	sqlite3.SQLITE_LIMIT_ATTACHED:            0,
	sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 256,
	sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER:     32,
	sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       1,
	sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
}

// setLimits sets limits on the one connection of db.
func setLimits(db *sql.DB) (err error) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for id, most := range limits {
		if _, err := sqlite.Limit(conn, id, most); err != nil {
			return err
		}
	}
	return nil
}

// Places in a database file: https://www.sqlite.org/fileformat.html
const (
	headerBytes   = 108
	magicText     = "SQLite format 3\x00"
	writeVersion  = 18
	readVersion   = 19
	userVersion   = 60
	application   = 68
	firstPage     = 100 // header of the first page's b-tree, which is the table of tables
	cells         = 103 // number of rows in the page
	rollbackMode  = 1   // for both versions: a journal that is rolled back, no write-ahead log
	leafTable     = 13  // kind of a page that has rows, and no pages below it
	journalSuffix = "-journal"
)

// checkFirstPage returns an error if the file at path cannot be a database of ours, by its first bytes alone: SQLite
// reads the whole table of tables before it runs any statement. An empty file is left to checkSchema.
func checkFirstPage(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, headerBytes)
	n, err := io.ReadFull(f, page)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF) || err == nil && !bytes.HasPrefix(page, []byte(magicText)):
		return fmt.Errorf("%s is damaged, or another program's: it is not a database", ResultsFile)
	case err != nil:
		return err
	}
	id, version := binary.BigEndian.Uint32(page[application:]), binary.BigEndian.Uint32(page[userVersion:])
	if id == 0 && version == 0 && binary.BigEndian.Uint16(page[cells:]) == 0 {
		return nil
	}
	if id != applicationID {
		return fmt.Errorf("%s is a database, but not plimsoll's", ResultsFile)
	}
	if err := schemaError(int(version)); err != nil {
		return err
	}
	if page[writeVersion] != rollbackMode || page[readVersion] != rollbackMode || page[firstPage] != leafTable ||
		int(binary.BigEndian.Uint16(page[cells:])) != len(tables()) {
		return errForeignTables
	}
	return nil
}

// checkJournal returns an error if the journal at path names a further file: SQLite looks for that file, and may remove
// it. Only a transaction of several databases has one, which no run is.
func checkJournal(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	end := make([]byte, len(journalMagic))
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size < int64(len(end)) {
		return err
	}
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return err
	}
	if string(end) == journalMagic {
		return fmt.Errorf("%s%s names another file to remove, which no journal of plimsoll's does: the run is damaged, or "+
			"another program's", ResultsFile, journalSuffix)
	}
	return nil
}

// journalMagic begins a journal, and ends one that names a further file.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// errForeignTables is the error for a database with other tables than ours.
var errForeignTables = fmt.Errorf("%s has other tables than plimsoll makes, or views, triggers or indices: it is "+
	"damaged, or another program's, and nothing in it is read", ResultsFile)

// tables returns the statements of schema, each as normalized has it, by the table that it makes.
func tables() map[string]string {
	statements := map[string]string{}
	for statement := range strings.SplitSeq(strings.TrimSpace(schema), ";\n") {
		statement = normalized(strings.TrimSuffix(statement, ";"))
		statements[strings.Fields(statement)[2]] = statement // CREATE TABLE name
	}
	return statements
}

// normalized returns a statement without comments, and with one blank wherever there are several.
func normalized(statement string) string {
	var words []string
	for line := range strings.Lines(statement) {
		line, _, _ = strings.Cut(line, "--")
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

// checkSchema returns an error if this version cannot read the database as a run, or if it has anything but the tables
// of schema.
func checkSchema(tx *sql.Tx) (err error) {
	var id, version int
	if err := tx.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case id == 0 && version == 0:
		return fmt.Errorf("%s is empty: plimsoll was stopped before it had stored the plan; no trial was run, the "+
			"directory can go", ResultsFile)
	case id != applicationID:
		return fmt.Errorf("%s is a database, but not plimsoll's", ResultsFile)
	}
	if err := schemaError(version); err != nil {
		return err
	}
	rows, err := tx.Query("SELECT type, name, coalesce(sql, '') FROM sqlite_schema")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	missing := tables()
	for rows.Next() {
		var kind, name, statement string
		if err := rows.Scan(&kind, &name, &statement); err != nil {
			return err
		}
		if want, known := missing[name]; !known || kind != "table" || normalized(statement) != want {
			return errForeignTables
		}
		delete(missing, name)
	}
	if len(missing) > 0 && rows.Err() == nil {
		return errForeignTables
	}
	return rows.Err()
}

// schemaError returns the error for a database or snapshot of another schema version.
func schemaError(version int) error {
	const written = "it was written by %s plimsoll (schema %d, this one reads %d): " +
		"use that version, or export the run with it"
	switch {
	case version > result.SchemaVersion:
		return fmt.Errorf(written, "a newer", version, result.SchemaVersion)
	case version < result.SchemaVersion:
		return fmt.Errorf(written, "an older", version, result.SchemaVersion)
	}
	return nil
}

// budget is how many bytes may still be read of a database: no more than its file has, of which each row takes its own.
type budget struct{ bytes int64 }

// rowBytes is the least that a row takes in a file: the place of its cell in a page, and the cell's own header.
const rowBytes = 4

// newBudget returns the budget of the database that tx reads.
func newBudget(tx *sql.Tx) (*budget, error) {
	var pages, size int64
	if err := tx.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		return nil, err
	}
	if err := tx.QueryRow("PRAGMA page_size").Scan(&size); err != nil {
		return nil, err
	}
	return &budget{min(pages*size, mostDatabase)}, nil
}

// spend takes a row with values of that length from the budget.
func (b *budget) spend(length int) error {
	b.bytes -= int64(length) + rowBytes
	if b.bytes < 0 {
		return fmt.Errorf("%s is damaged: its rows are longer together than the file, or than the %d GiB that are read of "+
			"one", ResultsFile, mostDatabase>>30)
	}
	return nil
}

// cut bounds the text of an error, which may repeat what is in a file.
type cut struct{ error }

// mostMessage is the length of an error's text, in letters.
const mostMessage = 2000

func (c cut) Error() string { return printable.Shorten(c.error.Error(), mostMessage) }

func (c cut) Unwrap() error { return c.error }

// journalOf returns the path of the journal of the database in dir.
func journalOf(dir string) string { return filepath.Join(dir, ResultsFile+journalSuffix) }
