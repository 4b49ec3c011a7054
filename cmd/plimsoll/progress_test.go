package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// The time left is what was estimated, until the trials themselves show how
// far off that is. Hours, so that the time this test takes does not matter.
func TestTimeLeft(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name       string
		past, rest []time.Duration // what was estimated
		took       time.Duration   // what the past took
		want       time.Duration
	}{
		{"nothing was seen yet", nil, []time.Duration{2 * hour, hour}, 0, 3 * hour},
		{"as estimated", []time.Duration{2 * hour}, []time.Duration{hour, hour}, 2 * hour, 2 * hour},
		{"twice as long", []time.Duration{2 * hour}, []time.Duration{hour, hour}, 4 * hour, 4 * hour},
		{"done", []time.Duration{2 * hour}, nil, 4 * hour, 0},
	} {
		now := time.Now()
		// A run that is resumed: three trials were done before.
		p := pace{experiment: &experiment.Experiment{}, costs: append(append([]time.Duration{}, c.past...), c.rest...),
			first: 3, start: now.Add(-c.took), last: now}
		if got := p.remaining(3 + len(c.past)); got > c.want || got < c.want-5*time.Minute {
			t.Errorf("%s: %s left, want %s", c.name, got, c.want)
		}
	}
	// A budget is what it is, however long trials take.
	p := pace{experiment: &experiment.Experiment{Budget: 3 * hour}, began: time.Now().Add(-hour),
		costs: []time.Duration{hour}}
	if got := p.remaining(0); got > 2*hour || got < 2*hour-5*time.Minute {
		t.Errorf("%s of the budget left", got)
	}
	p.began = p.began.Add(-24 * hour)
	if got := p.remaining(0); got != 0 {
		t.Errorf("%s left of a budget that was spent", got)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"raw RR", 8, "raw RR  "},
		{"raw RR", 6, "raw RR"},
		{"a longer text", 6, "a lon…"},
		{"ein längerer", 8, "ein län…"},
		{"too narrow", -3, "…"},
	} {
		if got := fitWidth(c.text, c.width); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// A run whose output nobody reads any more ends as if it were interrupted: a
// closed pipe must not end the process before everything is undone.
func TestNobodyReadsTheProgress(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	cmd, stdout, _ := p.command("run", p.experiment(`
name: unread
question: Does a closed pipe leave anything behind?
repeat: 20
runtime: 300ms
stacks:
  a: loop(size=48MiB) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`))
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	lines := bufio.NewReader(reader)
	for seen := 0; seen < 2; { // what is run, and the first trial
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "warning: ") { // of what else this host does
			continue
		}
		if err != nil || !strings.Contains(line, "21") { // 20, and one more in the first block
			t.Fatal(line, err)
		}
		seen++
	}
	reader.Close()
	if code := exitCode(t, cmd.Wait()); code != exitInterrupted {
		t.Errorf("ends with %d: %s", code, stdout)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
	if _, run := p.result(); run.Status != result.RunInterrupted || run.Trials[0].Status != result.TrialDone {
		t.Errorf("the run is %s, its first trial %s", run.Status, run.Trials[0].Status)
	}
}
