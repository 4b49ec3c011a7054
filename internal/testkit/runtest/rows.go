package runtest

import (
	"strings"

	"plimsoll/internal/section"
)

// Rows are the rows of a table as tests compare them: cells as they are shown, with | between.
func Rows(t section.Table) (all []string) {
	for _, r := range t.Rows {
		var row []string
		for _, c := range r.Cells {
			row = append(row, c.String())
		}
		all = append(all, strings.Join(row, "|"))
	}
	return all
}
