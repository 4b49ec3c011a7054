package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/finding"
	"plimsoll/internal/testkit/runtest"
)

const overInstances = `
host cpus=2 memory=1000 reads=1500
stack disk [loop device]: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x1 1501 1511 1512 1503 reads=0 cache=198 mean=300000 p99=668000
instances C disk x2 3024 3048 3035 3040 reads=0 cache=198 mean=300000 p99=655000
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x8 2481 2550 2560 2540 reads=0.62 cache=114 io=0.9 mean=20000000 p99=91800000 weakest=0.7
`

// A workload that ran in different numbers of instances has one table, where the load line
// and the valley are marked, and what holds for all is said once.
func TestTerminalOverInstances(t *testing.T) {
	run := runtest.Tell(t, overInstances)
	print := func(width int) string {
		var out bytes.Buffer
		if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	printed := print(160)
	for _, want := range []string{
		"\nHow many instances of C the scaled-down host carries\n  ! every number here: loop device, so compare ratios: " +
			"absolute numbers are not the disk's\n",
		"▂▄▇█▃  together, 1.51k to 7.35k/s with 1 to 8\n", "▁▁▂▃█  p99, 655 µs to 91.8 ms",
		"  memory  valley\n", "  load line, knee\n", "here: the load line; knee: more instances",
	} {
		if n := strings.Count(printed, want); n != 1 {
			t.Errorf("it says %q %d times:\n%s", want, n, printed)
		}
	}
	for _, not := range []string{"C-1:", "\nC-4", "ops/s"} {
		if strings.Contains(printed, not) {
			t.Errorf("it says %q:\n%s", not, printed)
		}
	}
	narrow := print(80)
	for line := range strings.Lines(narrow) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(narrow, "left out to fit the terminal: ") || len(linesWith(narrow, "  load line, knee")) != 1 {
		t.Errorf("in 80 columns:\n%s", narrow)
	}
}

func linesWith(text, part string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, part) })
}

// A locale that has no letters beyond ASCII gets none.
func TestTerminalInASCII(t *testing.T) {
	run := runtest.Tell(t, overInstances)
	var out bytes.Buffer
	if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: 120, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Errorf("%q", line)
		}
	}
}

// A verdict on latency keeps the caveat that its trials were not traced, in the short form too. One on throughput does
// not.
func TestShortFormKeepsWhatWasNotTraced(t *testing.T) {
	for _, objective := range []string{"objective p99=2000000", "objective standalone=0.9"} {
		run := runtest.Tell(t, strings.Replace(overInstances, "instances", objective+"\ninstances", 1))
		findings := finding.All(run)
		const caveat = "were to be traced and were not"
		shown := func(short bool) bool {
			return strings.Contains(oneLine(terminalText(t, run, findings, TerminalOptions{Width: 120, Short: short})), caveat)
		}
		if shown(true) || shown(false) {
			t.Errorf("%s: a run that nobody wanted traced was not", objective)
		}
		run.Trials[0].Untraced = "no BPF"
		findings = finding.All(run)
		if ofLatency := strings.Contains(objective, "p99"); shown(true) != ofLatency || !shown(false) {
			t.Errorf("%s: shown in short is %t, in full %t", objective, shown(true), shown(false))
		}
	}
}

// The short form shows no prediction, so that findings without them print the same.
func TestShortFormNeedsNoModel(t *testing.T) {
	run := runtest.Density(true)
	predicted := terminalText(t, run, finding.All(run), TerminalOptions{Width: 120, Short: true})
	measured := terminalText(t, run, finding.Measured(run), TerminalOptions{Width: 120, Short: true})
	if predicted != measured {
		t.Errorf("with predictions:\n%s\nwithout:\n%s", predicted, measured)
	}
}
