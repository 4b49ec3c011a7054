package web

import (
	"strings"
	"testing"
)

// TestReportScriptHasItsNotices: reports hand the libraries on, and with them
// what their licences ask to be handed on.
func TestReportScriptHasItsNotices(t *testing.T) {
	script, ok := ReportScript()
	if !ok {
		t.Skip("SKIPPED, the report's script was not checked: it was not bundled (scripts/bundle.sh, with Node in PATH)")
	}
	for _, notice := range []string{"uplot 1.", "Leon Sorokin", "@observablehq/plot 0.", "Observable, Inc.", "d3-scale ", "Mike Bostock", "Permission is hereby granted", "WITH REGARD TO THIS SOFTWARE"} {
		if !strings.Contains(strings.Join(strings.Fields(script), " "), notice) {
			t.Errorf("the script says nothing of %q", notice)
		}
	}
	if i := strings.Index(strings.ToLower(script), "</script"); i >= 0 {
		t.Errorf("the script would end its element: %.80q", script[i:])
	}
}
