package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/traced"
	"plimsoll/internal/result"
)

var updateTraced = flag.Bool("update-traced", false, "rewrite the golden tables of traced runs")

// What is drawn of a stack reaches from nothing to what the application saw,
// or beyond by the residue, without a gap.
func TestBreakdownMarksClose(t *testing.T) {
	run := tracedRun()
	s := sectionOf(traced.Section(run, finding.Points(run)), axes{})
	if len(s.Figures) != 4 { // RR, RW, and both directions of MIX
		t.Fatalf("%d figures", len(s.Figures))
	}
	negative := 0
	for _, f := range s.Figures {
		for i := range f.X.Names {
			end := 0.0
			for _, m := range f.Marks {
				switch {
				case m.X != float64(i):
				case m.Class != "residue" && m.Y == end && m.From < end: // a part below 0
					end = m.From
				case m.Class != "residue":
					if m.From != end {
						t.Errorf("%s: from %v, want %v", m.Text, m.From, end)
					}
					end = m.Y
				case m.Y == end: // the parts take more
					negative++
					if m.From >= end || !strings.Contains(m.Text, "residue -") {
						t.Errorf("%s: %v to %v over parts that end at %v", m.Text, m.From, m.Y, end)
					}
				default:
					if m.From != end || m.Y <= m.From || !strings.Contains(m.Text, "residue +") {
						t.Errorf("%s: %v to %v on parts that end at %v", m.Text, m.From, m.Y, end)
					}
				}
				if m.Y > f.Y.High {
					t.Errorf("%s leaves the figure", m.Text)
				}
			}
		}
	}
	if negative != 2 {
		t.Errorf("%d residues are below 0, want those of btrfs-nodatacow under two workloads", negative)
	}
}

func TestShowTellsOfTraces(t *testing.T) {
	run := tracedRun()
	for _, width := range []int{80, 120} {
		out := terminalText(t, run, sampleFindings(), TerminalOptions{Width: width})
		_, traces, _ := strings.Cut(out, "\nLatency, part by part\n")
		traces, _, found := strings.Cut(traces, "\nBehind the verdict\n")
		if !found {
			t.Fatalf("nothing of traces before what stands behind the verdict:\n%s", out)
		}
		path := fmt.Sprintf("testdata/traced-%d.golden.txt", width)
		if *updateTraced {
			must(t, os.WriteFile(path, []byte(traces), 0o644))
		}
		want, err := os.ReadFile(path)
		must(t, err)
		if traces != string(want) {
			t.Errorf("differs from %s (go test -update-traced writes it anew):\n%s", path, traces)
		}
	}
	if out := terminalText(t, sampleRun(), sampleFindings(), TerminalOptions{}); strings.Contains(out, "part by part") {
		t.Error("a run without traces has a section on them")
	}
}

func TestReportTellsOfTraces(t *testing.T) {
	run := tracedRun()
	var b bytes.Buffer
	must(t, HTML(&b, run, finding.All(run), PageOptions{}))
	for _, want := range []string{"Latency, part by part", "Who used the devices", "jbd2/loop2-8 (kernel)",
		"container cassandra-1", "not attributed",
		"writes reach the block layer from a worker", "events were lost in", "MIX, writes",
		"fabric: to the target and back"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

// Owners name themselves; what they are called steers neither terminal nor page.
func TestTracesAreNotSteered(t *testing.T) {
	run := tracedRun()
	for i := range run.Trials {
		if trace := run.Trials[i].Trace; trace != nil {
			trace.Missing = append(trace.Missing, "\x1b]0;missing\a"+hostile)
			trace.Served = append(trace.Served, result.Served{Device: "vda", Owner: "\x1b[2J" + hostile, Op: "read",
				Requests: 1 << 40, Bytes: 1 << 60})
		}
	}
	if out := terminalText(t, run, sampleFindings(), TerminalOptions{Width: 100}); strings.ContainsAny(out, "\x1b\a") ||
		!strings.Contains(out, "?[2J") {
		t.Error("an owner steers the terminal, or is not there")
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, finding.All(run), PageOptions{}))
	if strings.Contains(b.String(), "<script>alert") || strings.Contains(b.String(), "<img") {
		t.Error("an owner brings elements into the page")
	}
}
