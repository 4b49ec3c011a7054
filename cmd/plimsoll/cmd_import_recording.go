package main

import (
	"errors"
	"fmt"

	"plimsoll/internal/printable"
	"plimsoll/internal/recording/imports"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// mostImportedRecording bounds a recording that is imported: nothing of it is removed.
const mostImportedRecording = 1 << 40

// importRecording makes a recording of metrics of other programs.
func (a *app) importRecording(names []string, dir string) error {
	var files []imports.File
	var wrong []error
	for _, name := range names {
		text, err := readWhole(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		files = append(files, imports.File{Name: name, Text: text})
	}
	if len(wrong) > 0 {
		return &exitError{exitUsage, errors.Join(wrong...)}
	}
	made, problems := imports.Read(files)
	if len(problems) > 0 {
		return &exitError{exitUsage, fmt.Errorf("no recording was imported:\n  %s", problems.Join("\n  "))}
	}
	var lost string
	w, err := segments.Open(dir, made.Header, segments.Options{Bytes: mostImportedRecording, New: true,
		Warn: func(text string) { lost = text }})
	if err != nil {
		return &exitError{codeOf(err), err}
	}
	for _, row := range made.Rows {
		w.Add(row)
	}
	if err := w.Close(); err != nil || lost != "" {
		return &exitError{exitFailure, errors.Join(err, errors.New(lost))}
	}
	first, last := made.Rows[0], made.Rows[len(made.Rows)-1]
	fmt.Fprintf(a.stdout, "%s has %s of %s each, from %s of host %s\n", printable.Line(dir),
		plural.Count(len(made.Rows), "interval"), units.Elapsed(made.Header.Interval),
		units.Elapsed(last.Time.Sub(first.Time).Seconds()+first.Seconds), printable.Line(made.Header.Host.Name))
	for _, note := range made.Notes {
		fmt.Fprintf(a.stdout, "  %s\n", printable.Line(note))
	}
	return nil
}
