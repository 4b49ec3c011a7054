package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/printable"
)

// style paints text, or leaves it as it is when false.
type style bool

func (s style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) plain(text string) string { return text }
func (s style) bold(text string) string  { return s.paint("1", text) }
func (s style) dim(text string) string   { return s.paint("2", text) }
func (s style) good(text string) string  { return s.paint("1;32", text) }
func (s style) warn(text string) string  { return s.paint("33", text) }

// line prints a line that holds nothing but what is printable.
func (t *terminal) line(text string) { fmt.Fprintln(t.out, strings.TrimRight(text, " ")) }

// section begins a part of the report.
func (t *terminal) section(title string) {
	t.line("")
	t.line(t.style.bold(printable.Line(title)))
}

// text prints wrapped text behind an indent, its first line behind another.
func (t *terminal) text(first, indent, text string, paint func(string) string) {
	for i, line := range wrap(printable.Line(text), t.width, utf8.RuneCountInString(first),
		utf8.RuneCountInString(indent)) {
		if i > 0 {
			first = indent
		}
		t.line(first + paint(line))
	}
}

// wrap breaks text into lines that fit width behind their indents, at spaces
// only: a word that is longer gets a line for itself.
func wrap(text string, width, first, indent int) []string {
	var lines []string
	line, used := "", first
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = "", indent
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
