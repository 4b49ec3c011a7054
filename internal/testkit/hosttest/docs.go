package hosttest

import (
	"os"
	"strings"
	"testing"
)

// Listed checks that a page of the documentation lists what the program has, between
// the lines "<!-- WHAT: COMMAND -->" and "<!-- end of WHAT -->", where command is what
// writes it anew: it does so where update is set.
func Listed(t *testing.T, page, subject, command, list string, update bool) {
	t.Helper()
	begin, end := "<!-- "+subject+": "+command+" -->\n", "<!-- end of "+subject+" -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no place for the %s: it begins with %s and ends with %s", page, subject, begin, end)
	}
	want := before + begin + list + "\n" + end + after
	if update {
		err := os.WriteFile(page, []byte(want), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s lists other %s than there are: %s", page, subject, command)
	}
}
