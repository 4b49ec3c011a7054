package printable

import "io"

// Style is a way to paint text on a terminal. The styles below are the only ones: a StyledWriter lets their codes
// pass, and what is painted in another way is shown with question marks.
type Style struct{ code string }

// styles are all that makeStyle made.
var styles []Style

func makeStyle(parameters string) Style {
	s := Style{"\x1b[" + parameters + "m"}
	styles = append(styles, s)
	return s
}

// The styles.
var (
	Bold          = makeStyle("1")
	Dim           = makeStyle("2")
	BoldGreen     = makeStyle("1;32")
	Red           = makeStyle("31")
	Green         = makeStyle("32")
	Yellow        = makeStyle("33")
	Blue          = makeStyle("34")
	Magenta       = makeStyle("35")
	Cyan          = makeStyle("36")
	Gray          = makeStyle("90")
	BrightYellow  = makeStyle("93")
	BrightMagenta = makeStyle("95")
	BrightCyan    = makeStyle("96")
)

// reset ends each style.
const reset = "\x1b[0m"

// Codes that move the cursor, for a writer that filters nothing.
const (
	ClearScreen = "\x1b[H\x1b[2J"
	EraseLine   = "\r\x1b[K"
)

// Paint returns a text in the style. An empty text, and one in no style, stay as they are.
func (s Style) Paint(text string) string {
	if text == "" || s.code == "" {
		return text
	}
	return s.code + text + reset
}

// StyledWriter returns a Writer that lets the codes of all styles pass.
func StyledWriter(to io.Writer) *Writer {
	codes := []string{reset}
	for _, s := range styles {
		codes = append(codes, s.code)
	}
	return NewWriter(to, codes...)
}
