// Package runid checks the ids of runs, which become parts of paths.
package runid

import (
	"fmt"
	"regexp"

	"plimsoll/internal/printable"
)

// valid matches ids of runs: no slash, no leading dot.
var valid = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// mostQuoted is how many letters an error repeats of an id.
const mostQuoted = 250

// Check returns why no run can have that id, nil when one can. An id
// becomes part of paths that root writes, and may come from a file that another
// user wrote.
func Check(id string) error {
	if valid.MatchString(id) {
		return nil
	}
	return fmt.Errorf("%q cannot be the id of a run: one is made of up to 200 letters, digits, dots, hyphens and "+
		"underscores, and starts with a letter or digit", printable.Shorten(id, mostQuoted))
}
