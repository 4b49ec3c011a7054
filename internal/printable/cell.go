package printable

import (
	"strconv"
	"strings"
)

// Cells returns the cells of a record for a file of CSV, each as Line has it. What a spreadsheet would take for a
// formula begins with ' there, and is text; numbers stay.
func Cells(texts ...string) []string {
	safe := make([]string, len(texts))
	for i, text := range texts {
		safe[i] = Cell(text)
	}
	return safe
}

// Cell returns one of Cells.
func Cell(text string) string {
	if text == "" {
		return text
	}
	formula := strings.ContainsRune("=+-@\t\r", rune(text[0]))
	text = Line(text)
	if formula {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "'" + text
		}
	}
	return text
}
