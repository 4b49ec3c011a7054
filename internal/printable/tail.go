package printable

// Tail keeps the end of what is written to it, such as of what a program says.
type Tail struct {
	Most int // bytes
	text []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - t.Most; more > 0 {
		t.text = t.text[more:]
	}
	return len(p), nil
}

func (t *Tail) String() string { return string(t.text) }
