// Package web holds the report's own styles, embedded. There are no scripts:
// the report reads the same without JavaScript, offline and on paper.
package web

import _ "embed"

// ReportCSS is the style sheet of report.html.
//
//go:embed report.css
var ReportCSS string
