package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// writeTable writes a row for each suite, and below it what failed by its name.
// Suites run beside each other: all took less time than the sum of theirs. Processor time is the sum.
func writeTable(out io.Writer, outcomes []outcome, took time.Duration) {
	row := func(name, verdict, elapsed, cpu, count string) {
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-8s %-8s %7s %7s  %s", name, verdict, elapsed, cpu, count), " "))
	}
	fmt.Fprintln(out)
	row("suite", "result", "time", "CPU", "tests")
	var cpu time.Duration
	for _, o := range outcomes {
		row(o.suite.name, o.verdict(), clock(o.took), clock(o.cpu), o.count())
		cpu += o.cpu
	}
	verdict := "passed"
	if slices.ContainsFunc(outcomes, outcome.failed) {
		verdict = "FAILED"
	}
	row("all", verdict, clock(took), clock(cpu), "")
	for _, o := range outcomes {
		if !o.failed() {
			continue
		}
		fmt.Fprintf(out, "\nfailed in %s:\n", o.suite.name)
		if o.problem != "" {
			fmt.Fprintf(out, "    %s\n", o.problem)
		}
		for _, test := range o.tests.failed {
			fmt.Fprintf(out, "    %s\n", test)
		}
	}
}

// count returns how many tests there were, or why there were none.
func (o outcome) count() string {
	if o.skipped != "" {
		return o.skipped
	}
	if !o.suite.goTests {
		return ""
	}
	var texts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{o.tests.passed, "passed"}, {len(o.tests.failed), "failed"}, {o.tests.skipped, "skipped"}} {
		if c.n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", c.n, c.noun))
		}
	}
	return strings.Join(texts, ", ")
}

// clock returns minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
