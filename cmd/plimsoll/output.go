package main

import (
	"io"

	"plimsoll/internal/printable"
)

// Three kinds of output. What is said to people goes to app.stdout and
// app.stderr, which let no codes pass, whoever's names and texts are in it. What
// has styles goes to styled, which lets those pass; and what programs read, to
// data, which changes nothing unless a terminal shows it.

// styles are the codes that reports and tables are painted with.
var styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;32m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// styled is where text goes that may be painted, and has been made printable
// before it was.
func (a *app) styled() io.Writer {
	if !wantsColor(a.stdout) {
		return a.stdout
	}
	return printable.NewWriter(unfiltered(a.stdout), styles...)
}

// data is where JSON, CSV and scripts go.
func (a *app) data() io.Writer {
	if isTerminal(a.stdout) {
		return a.stdout
	}
	return unfiltered(a.stdout)
}

// unfiltered is what stands behind standard output or standard error. It is for
// what steers the terminal on purpose (a progress bar, another program that was
// asked for), and not for texts that were not made printable.
func unfiltered(w io.Writer) io.Writer {
	if filter, ok := w.(*printable.Writer); ok {
		return filter.Unwrap()
	}
	return w
}
