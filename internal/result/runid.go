package result

import (
	"fmt"
	"regexp"
)

// runID matches valid ids of runs: no slash, no leading dot.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// CheckRunID returns why no run can have that id, nil when one can. An id
// becomes part of paths that root writes, and may come from a file that another
// user wrote.
func CheckRunID(id string) error {
	if runID.MatchString(id) {
		return nil
	}
	return fmt.Errorf("%q cannot be the id of a run: one is made of up to 200 letters, digits, dots, hyphens and "+
		"underscores, and starts with a letter or digit", id)
}
