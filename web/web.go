// Package web holds the report's own styles and scripts, embedded.
//
// The scripts are bundled with the libraries that draw by `make build`, which
// needs Node. A plain `go build` works without the bundle: reports then show
// the figures that Go draws, and say so.
package web

import (
	"embed"
	"errors"
	"io/fs"
)

// ReportCSS is the style sheet of report.html.
//
//go:embed report.css
var ReportCSS string

// dist has nothing but a README until `make build` bundled the scripts.
//
//go:embed all:dist
var dist embed.FS

// ReportScript is the script of report.html, minified, with the notices of the
// libraries in it. ok is false when this program was built without Node.
func ReportScript() (script string, ok bool) {
	b, err := fs.ReadFile(dist, "dist/report.js")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false
	case err != nil:
		panic(err) // it is in memory
	}
	return string(b), len(b) > 0
}
