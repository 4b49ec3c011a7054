package main

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/testkit/disturbance"
)

// suite is a command, and a row of the table.
type suite struct {
	name    string
	purpose string // the suite does, or shows
	argv    []string

	goTests bool // it prints what go test -json does
	verbose bool // each of its Go tests is shown as it ends, and not only each package
	alone   bool // it waits until nothing on the host disturbs it
	byName  bool // it runs only where it is named: make test does without it, or does the same and more
}

// outcome is how a suite ended.
type outcome struct {
	suite   suite
	took    time.Duration
	cpu     time.Duration // processor time of its command, and of the processes that it waited for
	tests   tests
	problem string // that is no test's; "" for none
	skipped string // why nothing was tested; "" when it was
}

// tests is what became of the Go tests of a suite, their parts included.
type tests struct {
	passed, skipped int
	failed          []string // "internal/stack TestX/part", and below it what it printed last
}

func (o outcome) failed() bool { return o.problem != "" || len(o.tests.failed) > 0 }

// verdict returns the result in a word.
func (o outcome) verdict() string {
	switch {
	case o.failed():
		return "FAILED"
	case o.skipped != "":
		return "SKIPPED"
	}
	return "passed"
}

// skipMark stands in the line in which a script says that it tested nothing,
// before the reason.
const skipMark = "TESTS SKIPPED: "

// runAll runs the stages, and passes on what their suites print, each line with the name
// of its suite. The outcomes are in the order of the suites.
func runAll(stages []stage, out io.Writer) []outcome {
	shared := &lines{out: out}
	var finished []outcome
	for _, lanes := range stages {
		outcomes := make([][]outcome, len(lanes))
		var running sync.WaitGroup
		for i, l := range lanes {
			running.Go(func() {
				for _, s := range l {
					outcomes[i] = append(outcomes[i], s.run(shared))
				}
			})
		}
		running.Wait()
		finished = append(finished, slices.Concat(outcomes...)...)
	}
	return finished
}

// lines writes whole lines of suites that run beside each other.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) print(name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, strings.TrimRight(fmt.Sprintf("%-8s | %s", name, text), " "))
}

// run runs the suite's command to its end.
func (s suite) run(out *lines) (o outcome) {
	o.suite = s
	began := time.Now()
	out.print(s.name, "=== "+s.purpose)
	defer func() {
		o.took = time.Since(began)
		out.print(s.name, "=== "+o.verdict()+" in "+o.took.Round(time.Second).String())
	}()
	if s.alone {
		disturbance.Wait(func() (disturbance.Processes, error) { return disturbance.Look("/proc", os.Getpid(), "") },
			disturbance.Patience, func(text string) { out.print(s.name, "=== "+text) })
	}
	argv, report := s.argv, ""
	if s.goTests {
		argv, report = s.underGotestsum()
		err := os.Remove(report)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			o.problem = err.Error()
			return o
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		o.problem = err.Error()
		return o
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close() // the command has its own
	if err != nil {
		o.problem = err.Error()
		return o
	}
	printed := bufio.NewReader(r)
	for err == nil {
		var line string
		line, err = printed.ReadString('\n')
		if line != "" {
			out.print(s.name, strings.TrimSuffix(line, "\n"))
		}
		_, why, found := strings.Cut(strings.TrimSpace(line), skipMark)
		if found {
			o.skipped = why
		}
	}
	if !errors.Is(err, io.EOF) {
		o.problem = err.Error()
	}
	err = cmd.Wait()
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if s.goTests {
		o.tests = readJUnit(report)
	}
	if err != nil && len(o.tests.failed) == 0 {
		o.problem = err.Error()
	}
	return o
}

// reports is where the JUnit file of each suite goes, and the events of its tests, which
// gotestsum tool slowest reads.
const reports = "bin/tests"

// underGotestsum returns the suite's command as gotestsum runs it, and the path of the
// JUnit file that it writes.
func (s suite) underGotestsum() (argv []string, junit string) {
	format := "pkgname"
	if s.verbose {
		format = "testname"
	}
	base := filepath.Join(reports, s.name)
	return append([]string{"scripts/with-go", "go", "tool", "-modfile=tools/go.mod", "gotestsum",
		"--format", format, "--hide-summary", "skipped", "--ignore-non-json-output-lines",
		"--junitfile", base + ".xml", "--jsonfile", base + ".json", "--raw-command", "--"}, s.argv...), base + ".xml"
}

// readJUnit reads the report of gotestsum. Where there is none, there are no tests: the
// command says why.
func readJUnit(path string) (t tests) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return t
	}
	var report struct {
		Packages []struct {
			Name  string `xml:"name,attr"`
			Tests []struct {
				Name   string `xml:"name,attr"`
				Failed *struct {
					Output string `xml:",chardata"`
				} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err == nil {
		err = xml.Unmarshal(text, &report)
	}
	if err != nil {
		t.failed = []string{fmt.Sprintf("the report cannot be read: %v", err)}
		return t
	}
	for _, p := range report.Packages {
		var failed []string
		output := map[string]string{}
		for _, test := range p.Tests {
			switch {
			case test.Failed != nil:
				failed = append(failed, test.Name)
				output[test.Name] = test.Failed.Output
			case test.Skipped != nil:
				t.skipped++
			default:
				t.passed++
			}
		}
		for _, test := range innermost(failed) {
			t.failed = append(t.failed, strings.TrimPrefix(p.Name, "plimsoll/")+" "+test+why(output[test]))
		}
	}
	return t
}

// why returns what disturbed a failed test, and what it printed last, a line each, indented: the whole of it stands far
// above the table.
func why(output string) (text string) {
	const limit = 12
	var first, last []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, disturbance.Mark):
			first = append(first, line)
		case line != "":
			last = append(last, line)
		}
	}
	for _, line := range slices.Concat(first, last[max(0, len(last)-limit):]) {
		text += "\n        " + line
	}
	return text
}

// innermost returns the tests without those that failed for a part of theirs.
func innermost(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(test string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, test+"/") })
	})
}
