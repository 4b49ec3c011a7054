package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/result/export"
	"plimsoll/internal/testkit/runtest"
)

const limitsVaried = `
host cpus=1.5 memory=1000 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x6 5481 5510 5460 5500 reads=0.26 cache=150 io=0.9 mean=2000000 p99=35300000
varied memory*1.2 C disk x5 7470 7490 7500 7480 mean=330000 p99=1170000
varied memory*0.8 C disk x5 4313 4364 4350 4342 mean=3000000 p99=40000000
varied read-iops*0.8 C disk x5 7300 7350 7360 7330 mean=420000 p99=2500000
`

// Mixes that a run added to vary a limit are told of once, and have no sections of their own.
func TestVariedMixesHaveNoSections(t *testing.T) {
	run := runtest.Tell(t, limitsVaried)
	var page, text bytes.Buffer
	if err := HTML(&page, run, finding.All(run), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&text, run, finding.All(run), TerminalOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string]string{"page": page.String(), "terminal": text.String()} {
		if regexp.MustCompile(`(<h[1-6][^>]*>|\n)C-5\.memory`).MatchString(output) {
			t.Errorf("the %s has a section of a mix that the run added", name)
		}
		if !strings.Contains(oneLine(output), "20% less memory costs 41%") {
			t.Errorf("the %s does not show what memory is worth", name)
		}
	}
}

// No finding speaks of such a mix but the one on what limits are worth; its trials are exported as all are.
func TestVariedMixesAreOneFinding(t *testing.T) {
	run := runtest.Tell(t, limitsVaried)
	found := 0
	for _, f := range finding.All(run) {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		speaks := strings.Contains(string(text), "C-5.memory")
		if speaks != (f.Rule == "elasticity") {
			t.Errorf("%s speaks of mixes that the run added: %v", f.ID, speaks)
		}
		if speaks {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d findings speak of them", found)
	}
	rows := map[string]int{}
	for _, r := range export.Rows(run) {
		rows[r.Mix]++
	}
	for _, mix := range []string{"C-5", "C-5.memory-x1.2", "C-5.memory-x0.8", "C-5.read-iops-x0.8"} {
		if rows[mix] != 5*4 { // a row for each instance of a trial
			t.Errorf("%d rows of %s are exported", rows[mix], mix)
		}
	}
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
