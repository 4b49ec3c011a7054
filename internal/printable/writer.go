package printable

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer passes on what may be shown on a terminal, and shows a question mark
// for everything else. What a program itself styles its output with are the
// codes that it allows. Its methods may be called from several goroutines.
type Writer struct {
	to    io.Writer
	codes [][]byte // that pass, longest first

	mu   sync.Mutex // guards held, and the order of what is written to to
	held []byte     // the beginning of a character or of a code
}

// NewWriter returns a Writer that writes to another, and lets these codes pass.
func NewWriter(to io.Writer, codes ...string) *Writer {
	w := &Writer{to: to}
	for _, code := range codes {
		w.codes = append(w.codes, []byte(code))
	}
	slices.SortFunc(w.codes, func(a, b []byte) int { return len(b) - len(a) })
	return w
}

// Unwrap returns what w writes to, for what is no text for people.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Fd returns the descriptor of the file behind w, for those who ask whether it
// is a terminal; one that no file has where there is none.
func (w *Writer) Fd() uintptr {
	if f, ok := w.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Write implements io.Writer. A character or a code that comes in parts is
// written when it is whole.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := text
	if len(w.held) > 0 {
		in = slices.Concat(w.held, text)
		w.held = nil
	}
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		if code := w.code(in); code > 0 {
			out, in = append(out, in[:code]...), in[code:]
			continue
		}
		if w.begins(in) {
			w.held = slices.Clone(in)
			break
		}
		r, size := utf8.DecodeRune(in)
		in = in[size:]
		switch r {
		case '\n', '\t':
			out = append(out, byte(r))
		default:
			out = utf8.AppendRune(out, visible(r))
		}
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// code returns the length of the code that b begins with; 0 for none.
func (w *Writer) code(b []byte) int {
	for _, code := range w.codes {
		if bytes.HasPrefix(b, code) {
			return len(code)
		}
	}
	return 0
}

// begins reports whether b is the beginning of a character or of a code, the
// rest of which may still come.
func (w *Writer) begins(b []byte) bool {
	if !utf8.FullRune(b) {
		return true
	}
	return slices.ContainsFunc(w.codes, func(code []byte) bool { return bytes.HasPrefix(code, b) })
}
