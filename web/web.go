// Package web holds the report's own style sheet and script, embedded as they
// are: a plain `go build` makes the whole program.
package web

import _ "embed"

// ReportCSS is the style sheet of report.html.
//
//go:embed report.css
var ReportCSS string

// ReportScript is the script of report.html. It draws nothing: it reads the
// marks of the figures that Go drew, and highlights series.
//
//go:embed report.js
var ReportScript string
