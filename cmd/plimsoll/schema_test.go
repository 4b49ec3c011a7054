package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/result/store"
)

// TestAnotherSchemaIsRefusedByEveryCommand: what a newer plimsoll stored is not
// taken for what this one means by it, and not overwritten.
func TestAnotherSchemaIsRefusedByEveryCommand(t *testing.T) {
	runsHere(t)
	newer := filepath.Join(store.RunsDir, "two-20260513")
	name := filepath.Join(newer, store.RunFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"schema": 3`, `"schema": 999`, 1)
	if err := os.WriteFile(name, []byte(changed), 0o644); err != nil || changed == string(text) {
		t.Fatal(err, "or no schema")
	}
	const old = "old-20260512"
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitFailure, []string{"show"}}, {exitFailure, []string{"show", newer, "--json"}},
		{exitFailure, []string{"show", newer, "--report"}},
		{exitFailure, []string{"export", newer, "-o", "-"}}, {exitFailure, []string{"open", newer}},
		{exitFailure, []string{"compare", newer, old}}, {exitFailure, []string{"compare", old, newer}},
		{exitUsage, []string{"run", "--resume", newer, "--state-dir", "state"}},
		{exitUsage, []string{"run", "--resume", newer, "--budget", "+1m", "--state-dir", "state"}},
		{exitOK, []string{"runs"}}, {exitUsage, []string{"import", name}},
	} {
		out, errs := plimsoll(t, c.code, c.args...)
		if c.args[0] == "import" { // it takes what fio wrote, and no run of any version
			continue
		}
		contains(t, out+errs, "newer plimsoll", "schema 999", "this one reads 3", "use that version")
	}
	after, err := os.ReadFile(name)
	if err != nil || string(after) != changed {
		t.Errorf("run.json was changed: %v", err)
	}
}
