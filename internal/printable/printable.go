// Package printable makes texts of other people safe for a terminal.
//
// Hazards. Names of files, options, devices and processes, and what programs
// say, are other people's. A terminal obeys what it is sent: an escape code in
// a name sets its title, moves the cursor over what was printed, writes into
// its clipboard, or has it answer as if somebody typed. Some characters, which
// are no codes at all, change the order in which others are shown.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text for a place within one line: what ends a line, and every
// other white space, becomes a blank; what cannot be printed, a question mark.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return visible(r)
	}, text)
}

// Text returns text that may have several lines, and tabs in them.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return visible(r)
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// visible returns what is shown in the place of a character: itself, unless it
// steers the terminal or shows nothing.
func visible(r rune) rune {
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// Shorten leaves out the middle of a text that is longer than limit letters: the end often distinguishes names.
func Shorten(text string, limit int) string {
	r := []rune(text)
	if len(r) <= limit {
		return text
	}
	return string(r[:limit/2-1]) + "…" + string(r[len(r)-limit/2:])
}
