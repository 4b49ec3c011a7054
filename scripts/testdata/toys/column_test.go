package report

import (
	"bytes"
	"regexp"
	"testing"

	"plimsoll/internal/finding"
)

func TestToy(t *testing.T) {
	run := sampleRun()
	findings := finding.All(run)
	var terminal, page, document, records bytes.Buffer
	must(t, Terminal(&terminal, run, findings, TerminalOptions{Width: 120}))
	must(t, HTML(&page, run, findings, PageOptions{}))
	must(t, JSON(&document, run, findings))
	must(t, TablesCSV(&records, run))
	for text, want := range map[*bytes.Buffer]string{
		&terminal: `(?m)^  stack .* toy s\b`, &page: `<th scope="col" class="n">toy s</th>`, &document: `"toy_s": [0-9]`,
		&records: `(?m)^workload,stack,.*,toy_s\b`,
	} {
		if !regexp.MustCompile(want).Match(text.Bytes()) {
			t.Errorf("no column of the toy: nothing is like %s", want)
		}
	}
}
