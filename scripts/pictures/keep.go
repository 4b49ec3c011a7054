package main

import (
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver of database/sql

	"plimsoll/internal/result/store"
)

// keep writes the results.db of a run as the pages' test reads it: compressed, without time series, and with the
// command and the name of the experiment's file as a reader would type them.
func keep(w io.Writer, dir string) (err error) {
	run, err := store.Read(dir)
	if err != nil {
		return err
	}
	command := []string{"plimsoll"}
	for i := 1; i < len(run.Command); i++ {
		switch word := run.Command[i]; {
		case word == "--state-dir":
			i++ // where this machine keeps what is under way
		case strings.HasPrefix(word, "--state-dir="):
		default:
			command = append(command, word)
		}
	}
	text, err := json.Marshal(command)
	if err != nil {
		return err
	}
	file := run.Experiment.File // "" for a built-in experiment
	if file != "" {
		file = filepath.Base(file)
	}
	work, err := os.MkdirTemp("", "kept")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	small := filepath.Join(work, "results.db")
	for _, step := range []struct {
		db, statement string
		values        []any
	}{
		{filepath.Join(dir, "results.db"), "VACUUM INTO ?", []any{small}},
		{small, "DELETE FROM series", nil},
		{small, "UPDATE run SET record = json_set(record, '$.command', json(?))", []any{string(text)}},
		{small, "UPDATE run SET record = json_replace(record, '$.experiment.file', ?)", []any{file}},
		{small, "VACUUM", nil},
	} {
		if err := change(step.db, step.statement, step.values...); err != nil {
			return err
		}
	}
	database, err := os.Open(small)
	if err != nil {
		return err
	}
	defer database.Close()
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, database); err != nil {
		return err
	}
	return out.Close()
}

func change(file, statement string, values ...any) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement, values...)
	return errors.Join(err, db.Close())
}
