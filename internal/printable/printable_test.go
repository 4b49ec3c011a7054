package printable

import (
	"strings"
	"testing"
	"unicode"
)

// The codes that a text could attack a terminal with.
var attacks = []string{
	"\x1b]0;owned\x07",           // the window's title
	"\x1b]52;c;cm0gLXJmIC8=\x07", // the clipboard
	"\x1b[2J\x1b[1;1H",           // clears the screen
	"\x1b[8mhidden\x1b[0m",       // invisible
	"\x9b31m", "\u009b31m",       // CSI of eight bits, raw and as UTF-8
	"\u009d0;owned\u009c",       // OSC of eight bits
	"\x1bP$q\"p\x1b\\",          // a request that the terminal answers
	"good\rbad", "ab\x08\x08cd", // over what was printed
	"\x00\x05\x07\x0e\x7f",           // asks back, beeps, other characters
	"\u202egnp.exe", "\u2066x\u2069", // the other way round
	"\u200b\ufeff",             // nothing at all
	"\u2028line", "\u0085line", // lines that are none
	"\xff\xfe\xc3", // no UTF-8
}

func TestNothingSteersTheTerminal(t *testing.T) {
	for _, attack := range attacks {
		in := "before " + attack + " after"
		for name, out := range map[string]string{"Line": Line(in), "Text": Text(in)} {
			if !strings.HasPrefix(out, "before ") || !strings.HasSuffix(out, " after") {
				t.Errorf("%s(%q) = %q", name, in, out)
			}
			for _, r := range out {
				if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
					t.Errorf("%s(%q) = %q, which has %q in it", name, in, out, r)
				}
			}
		}
	}
}

func TestWhatIsPrintableStays(t *testing.T) {
	const lines = "µs, 5×: „ja“\n\tname ⚠ 日本\n"
	if got := Text(lines); got != lines {
		t.Errorf("Text(%q) = %q", lines, got)
	}
	if got := Line(lines); got != "µs, 5×: „ja“  name ⚠ 日本 " {
		t.Errorf("Line(%q) = %q", lines, got)
	}
	if got := Text("one\r\ntwo"); got != "one\ntwo" {
		t.Errorf("lines of Windows: %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, attack := range attacks {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range Text(in) {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("Text(%q) has %q in it", in, r)
			}
		}
		if strings.ContainsAny(Line(in), "\n\t\r") || Text(Text(in)) != Text(in) {
			t.Errorf("Line(%q) = %q, Text %q", in, Line(in), Text(in))
		}
	})
}
