package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/printable"
)

// style paints text, or leaves it as it is when false.
type style bool

func (s style) paint(by printable.Style, text string) string {
	if !s {
		return text
	}
	return by.Paint(text)
}

func (s style) plain(text string) string { return text }
func (s style) bold(text string) string  { return s.paint(printable.Bold, text) }
func (s style) dim(text string) string   { return s.paint(printable.Dim, text) }
func (s style) good(text string) string  { return s.paint(printable.BoldGreen, text) }
func (s style) warn(text string) string  { return s.paint(printable.Yellow, text) }

// line prints a line that holds nothing but what is printable.
func (t *terminal) line(text string) { fmt.Fprintln(t.out, t.spelled(strings.TrimRight(text, " "))) }

// asciiFor are letters for those that not every terminal has.
var asciiFor = strings.NewReplacer("µ", "u", "★", "*", "±", "+-", "…", "...", "·", "-", "×", "x", "Δ", "d",
	"▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#", "─", "-", "→", "->")

// spelled returns a text in letters that the terminal has.
func (t *terminal) spelled(text string) string {
	if !t.ascii {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, asciiFor.Replace(text))
}

// spelledCells returns the cells of a row in letters that the terminal has, which may be more than the cells have:
// widths are taken of these. It returns nil for a row without cells.
func (t *terminal) spelledCells(cells []string) []string {
	var all []string
	for _, cell := range cells {
		all = append(all, t.spelled(cell))
	}
	return all
}

// section begins a part of the report.
func (t *terminal) section(title string) {
	t.line("")
	t.line(t.style.bold(printable.Line(title)))
}

// text prints wrapped text behind an indent, its first line behind another.
func (t *terminal) text(first, indent, text string, paint func(string) string) {
	for i, line := range wrap(t.spelled(printable.Line(text)), t.width, utf8.RuneCountInString(first),
		utf8.RuneCountInString(indent)) {
		if i > 0 {
			first = indent
		}
		t.line(first + paint(line))
	}
}

// reasons prints what explains a finding: each of several on a line of its own.
func (t *terminal) reasons(indent, why string, paint func(string) string) {
	lines := reasonsOf(why)
	if len(lines) == 1 {
		t.text(indent, indent, lines[0], paint)
		return
	}
	for _, line := range lines {
		t.text(indent+"- ", indent+"  ", line, paint)
	}
}

// reasonsOf are the reasons of a finding; none of "".
func reasonsOf(why string) []string {
	return strings.FieldsFunc(why, func(r rune) bool { return r == '\n' })
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
