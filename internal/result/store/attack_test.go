package store

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/result"
)

// manyRows is a query of SQLite that has no end in any time that somebody waits.
const manyRows = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 100000000000) SELECT "

// rawly changes the database of a run as any other program could: without limits.
func rawly(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// patch changes the bytes of a run's database.
func patch(t *testing.T, dir string, change func(file []byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, ResultsFile)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rootPage returns the page of a table.
func rootPage(t *testing.T, dir, table string) (page int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&page); err != nil {
		t.Fatal(err)
	}
	return page
}

// branches returns a page of a table whose children are all the same page: 400 of them.
func branches(size, child int) []byte {
	const children, cell = 400, 5
	page := make([]byte, size)
	offset := size - cell
	page[0] = 5 // a page that has pages below it
	binary.BigEndian.PutUint16(page[3:], children)
	binary.BigEndian.PutUint16(page[5:], uint16(offset))
	binary.BigEndian.PutUint32(page[8:], uint32(child))
	for i := range children {
		binary.BigEndian.PutUint16(page[12+2*i:], uint16(offset))
	}
	binary.BigEndian.PutUint32(page[offset:], uint32(child))
	page[offset+4] = 1
	return page
}

// branching makes a table of few rows have 400 to the fourth times as many, in four further pages.
func branching(table string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		root := rootPage(t, dir, table)
		patch(t, dir, func(file []byte) []byte {
			size := int(binary.BigEndian.Uint16(file[16:]))
			start := (root - 1) * size
			file = append(file, file[start:start+size]...)
			for range 3 {
				file = append(file, branches(size, len(file)/size)...)
			}
			copy(file[start:], branches(size, len(file)/size))
			binary.BigEndian.PutUint32(file[28:], uint32(len(file)/size))
			return file
		})
	}
}

// rewritten replaces the statement that made a table, in place.
func rewritten(table, from, to string) []string {
	return []string{"PRAGMA writable_schema = on", fmt.Sprintf("UPDATE sqlite_schema SET sql = replace(sql, '%s', '%s') "+
		"WHERE name = '%s'", from, to, table)}
}

// TestAttackDatabases reads, and goes on with, runs whose database another program made to cost its reader memory, disk
// or time without end, to run something of its own, or to have another file removed. Each is refused before any of it:
// a query that is run does not come back.
func TestAttackDatabases(t *testing.T) {
	const foreign = "other tables than plimsoll makes"
	statements := func(all ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { rawly(t, dir, all...) }
	}
	for _, test := range []struct {
		name, says string
		attack     func(t *testing.T, dir string)
	}{
		{"a view whose record is large", foreign, statements("ALTER TABLE run RENAME TO r",
			"CREATE VIEW run AS SELECT 1 AS one, '{\"schema\":3,\"id\":\"' || hex(zeroblob(450000000)) || '\"}' AS record")},
		{"a view of rows without end", foreign, statements("ALTER TABLE trial RENAME TO t", "CREATE VIEW trial AS "+manyRows+
			"x AS seq, 1 AS block, '' AS stack, '' AS mix, 1 AS repeat, 'done' AS status, '{}' AS record FROM c")},
		{"a view that takes long", foreign, statements("ALTER TABLE trial RENAME TO t", "CREATE VIEW trial AS "+manyRows+
			"max(x) AS seq, 1 AS block, '' AS stack, '' AS mix, 1 AS repeat, 'done' AS status, '{}' AS record FROM c")},
		{"a trigger on what a run writes that goes on", foreign, statements(
			"CREATE TRIGGER hit AFTER UPDATE ON run BEGIN DELETE FROM trial; END")},
		{"an index on an expression", foreign, statements("CREATE INDEX slow ON trial (hex(zeroblob(seq)))")},
		{"a virtual table", foreign, statements("CREATE VIRTUAL TABLE found USING fts5(text)")},
		{"a view in the place of one of five tables", foreign, statements("DROP TABLE series",
			"CREATE VIEW series AS "+manyRows+"1 AS seq, x AS number, '{}' AS record, x'' AS samples FROM c")},
		{"a computed column under a table's name", foreign, statements("DROP TABLE trial", "CREATE TABLE trial (seq INTEGER "+
			"PRIMARY KEY, block, stack, mix, repeat, status, record TEXT AS (hex(zeroblob(400000000))))")},
		{"a check that takes long", foreign, statements(rewritten("run", "one = 1",
			"one = 1 AND length(hex(zeroblob(1)))")...)},
		{"a default in a table's statement", foreign, statements(rewritten("trial", "block  INTEGER NOT NULL",
			"block  INTEGER DEFAULT 1")...)},
		{"a statement with another comment in it", foreign, statements(rewritten("run", "record TEXT",
			"record /* x */ TEXT")...)},
		{"the table of trials has billions of rows", "its rows are longer together than the file", branching("trial")},
		{"a table of histograms has billions of rows", "is damaged", branching("histogram")},
		{"a run has billions of headers", "", branching("run")}, // one alone is read, by its key
		{"the table of tables has billions of rows", foreign, func(t *testing.T, dir string) {
			patch(t, dir, func(file []byte) []byte {
				file[firstPage] = 5
				return file
			})
		}},
		{"a write-ahead log", foreign, statements("PRAGMA journal_mode = wal")},
		{"a journal that names a file to remove", "names another file to remove", func(t *testing.T, dir string) {
			const name = "/etc/hostname-mj00000001"
			end := binary.BigEndian.AppendUint32([]byte(name), uint32(len(name)))
			sum := uint32(0)
			for _, b := range []byte(name) {
				sum += uint32(b)
			}
			text := journalMagic + strings.Repeat("\x00", 1016) + string(binary.BigEndian.AppendUint32(end, sum)) + journalMagic
			if err := os.WriteFile(journalOf(dir), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"an id of a megabyte", "cannot be the id of a run", statements(
			"UPDATE run SET record = json_set(record, '$.id', hex(zeroblob(500000)))")},
		{"a number of a megabyte", "cannot unmarshal number", statements(
			"UPDATE run SET record = replace(record, '\"seed\":7', '\"seed\":' || replace(hex(zeroblob(500000)), '0', '9'))")},
		{"a name of an operation of a megabyte", "unknown histogram", statements(
			"UPDATE histogram SET operation = hex(zeroblob(500000)) WHERE stage = 'total'")},
		{"a state that no trial has", "state", statements(
			"UPDATE trial SET record = json_set(record, '$.status', 'done; reboot') WHERE seq = 1")},
		{"processors with a line of their own", "cpuset", statements(
			"UPDATE run SET record = json_set(record, '$.mixes', json('[{\"name\":\"a\",\"tenants\":[{\"name\":\"a\"," +
				"\"limits\":{\"cpuset\":\"0\\nExecStartPre=/bin/sh\"}}]}]'))")},
		{"processors of a scaled-down host", "cpuset", statements(
			"UPDATE run SET record = json_set(record, '$.mixes', json('[{\"name\":\"a\",\"host\":{\"cpuset\":\"0;1\"}}]'))")},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			run := plannedRun(2)
			run.Trials[0] = done(run.Trials[0], 3)
			if err := create(t, dir, run).Close(); err != nil {
				t.Fatal(err)
			}
			test.attack(t, dir)
			readers := map[string]func() error{
				"read":  func() error { _, err := Read(dir); return err },
				"go on": func() error { return useRun(dir) },
			}
			if test.says == foreign {
				readers["list"] = func() error { return Summarize(dir).Problem }
				readers["series"] = func() error { _, err := ReadSeries(dir, 1); return err }
			}
			for name, use := range readers {
				err := use()
				if test.says == "" {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %.500v, want %q", name, err, test.says)
				} else if len(err.Error()) > 2*mostMessage {
					t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
				}
			}
		})
	}
}

// A run that is listed costs no more than its file, either.
func TestAttackListedRuns(t *testing.T) {
	for _, table := range []string{"trial", "run"} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := create(t, dir, plannedRun(2)).Close(); err != nil {
			t.Fatal(err)
		}
		branching(table)(t, dir)
		s := Summarize(dir)
		if refused := s.Problem != nil; refused != (table == "trial") {
			t.Errorf("%s: %v", table, s.Problem)
		}
	}
}

// Every file that this package makes is one that it reads, whatever was in its tables before.
func TestOwnDatabasesAreTaken(t *testing.T) {
	if len(tables()) != 5 {
		t.Fatalf("tables %q", tables())
	}
	for _, trials := range []int{0, 1, 40} {
		dir := filepath.Join(t.TempDir(), "run")
		s := create(t, dir, plannedRun(trials))
		for _, trial := range s.Run().Trials {
			if err := s.SaveTrial(done(trial, 20)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(result.RunComplete); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := len(read(t, dir).Trials); got != trials {
			t.Errorf("%d of %d trials", got, trials)
		}
		if listed := Summarize(dir); listed.Problem != nil || listed.Done != trials {
			t.Errorf("%+v", listed)
		}
	}
}
