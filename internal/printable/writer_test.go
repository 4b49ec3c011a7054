package printable

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestWriterKeepsCodesOut, however the text comes in parts.
func TestWriterKeepsCodesOut(t *testing.T) {
	codes := []string{"\x1b[1m", "\x1b[0m", "\r\x1b[K"}
	for _, attack := range attacks {
		in := "\x1b[1mµ before\x1b[0m " + attack + " after ✓\n"
		for _, part := range []int{1, 2, 3, 5, len(in)} {
			var out bytes.Buffer
			w := NewWriter(&out, codes...)
			for rest := []byte(in); len(rest) > 0; {
				n := min(part, len(rest))
				wrote, err := w.Write(rest[:n])
				if err != nil || wrote != n {
					t.Fatalf("wrote %d of %d, %v", wrote, n, err)
				}
				rest = rest[n:]
			}
			middle, ok := strings.CutPrefix(out.String(), "\x1b[1mµ before\x1b[0m ")
			middle, okay := strings.CutSuffix(middle, " after ✓\n")
			if !ok || !okay {
				t.Errorf("%q in parts of %d became %q", in, part, out.String())
			}
			for _, code := range codes {
				middle = strings.ReplaceAll(middle, code, "")
			}
			if middle != Text(middle) {
				t.Errorf("%q in parts of %d lets %q pass", in, part, middle)
			}
		}
	}
}

func TestWriterLetsNothingPassUnlessAllowed(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	if _, err := w.Write([]byte("\x1b[1mbold\x1b[0m\r")); err != nil || out.String() != "?[1mbold?[0m?" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if w.Unwrap() != &out || w.Fd() != ^uintptr(0) {
		t.Error("it hides what it writes to")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestWriterTellsOfErrors(t *testing.T) {
	if _, err := NewWriter(broken{}).Write([]byte("x")); err == nil {
		t.Error("no error")
	}
}
