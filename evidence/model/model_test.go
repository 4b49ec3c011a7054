package model

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The table in docs/evidence/model-checks.md is what the command prints, in the quickest of its rows.
func TestTheTableIsThatOfTheDocumentation(t *testing.T) {
	var out bytes.Buffer
	if err := bench(&out, "density.json"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/evidence/model-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/evidence/model-checks.md lacks this line; make bench NAME=model prints the table:\n%s", line)
		}
	}
}
