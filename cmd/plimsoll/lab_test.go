package main

import (
	"strings"
	"testing"
)

// Wrong command lines are refused before anything is started.
func TestLabArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"run"}, exitUsage, []string{"which command?"}},
		{[]string{"run", "--size", "1MiB", "--memory", "much", "--profile", "satan-ssd", "--", "true"}, exitUsage, []string{"--size 1MiB", `--memory "much"`, `"satan-ssd"`}},
		{[]string{"run", "--cpus", "0", "--memory", "64MiB", "--", "true"}, exitUsage, []string{"0 CPUs", "64 MiB"}},
		{[]string{"run", "--drives", "-1", "--", "true"}, exitUsage, []string{"--drives -1"}},
		{[]string{"run", "--on-target", "true", "--", "true"}, exitUsage, []string{"--target"}},
		{[]string{"up", "--drives", "99"}, exitUsage, []string{"99 drives"}},
		{[]string{"shell"}, exitFailure, []string{"plimsoll lab up"}},
		{[]string{"sail"}, exitUsage, []string{`"sail"`, "build, run, up"}},
		{[]string{"up"}, exitHost, []string{"plimsoll lab build"}},
		{[]string{"down"}, exitOK, nil},
		{[]string{"agent"}, exitFailure, []string{"guests of a lab"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			p := newProgram(t)
			code, _, errs := p.run(append([]string{"--state-dir", p.state, "lab"}, c.args...)...)
			if code != c.code {
				t.Errorf("ends with %d, want %d: %s", code, c.code, errs)
			}
			contains(t, errs, c.want...)
		})
	}
}
