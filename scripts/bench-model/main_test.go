package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The table in docs/evidence/model-checks.md is what the command prints, as far as the quickest of its rows tells.
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
			t.Errorf("docs/evidence/model-checks.md lacks this line; make bench-model prints the table:\n%s", line)
		}
	}
}
