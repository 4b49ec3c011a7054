package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// suite is a command, and a row of the table.
type suite struct {
	name string
	what string // the suite does, or shows
	argv []string

	goTests bool   // it prints what go test -json does
	verbose bool   // what its Go tests print is shown as it comes
	daily   bool   // it is of make check alone: the suites of make test do the same and more
	until   string // the suite that waits for it; those before it run meanwhile. "" for one that all wait for
}

// outcome is how a suite ended.
type outcome struct {
	suite   suite
	took    time.Duration
	tests   tests
	problem string // that is no test's; "" for none
	skipped string // why nothing was tested; "" when it was
}

func (o outcome) failed() bool { return o.problem != "" || len(o.tests.failures) > 0 }

// verdict returns the result in a word or two.
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

// runAll runs the suites one after the other, and passes on what they print.
func runAll(chosen []suite, out io.Writer) (outcomes []outcome) {
	var begun []*background
	for i, s := range chosen {
		if s.until != "" && i < len(chosen)-1 {
			begun = append(begun, inBackground(s))
			continue
		}
		for len(begun) > 0 && (begun[0].suite.until == s.name) {
			outcomes = append(outcomes, begun[0].show(out))
			begun = begun[1:]
		}
		announce(out, s)
		o := s.run(out)
		conclude(out, o)
		outcomes = append(outcomes, o)
	}
	for _, b := range begun {
		outcomes = append(outcomes, b.show(out))
	}
	return outcomes
}

func announce(out io.Writer, s suite) { fmt.Fprintf(out, "\n=== %s: %s\n", s.name, s.what) }

func conclude(out io.Writer, o outcome) {
	fmt.Fprintf(out, "=== %s: %s in %s\n", o.suite.name, o.verdict(), o.took.Round(time.Second))
}

// background is a suite that runs beside others.
type background struct {
	suite   suite
	printed strings.Builder
	outcome outcome
	done    chan struct{}
}

func inBackground(s suite) *background {
	b := &background{suite: s, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.outcome = s.run(&b.printed)
	}()
	return b
}

// show waits for its end, and passes on what it printed.
func (b *background) show(out io.Writer) outcome {
	<-b.done
	announce(out, b.suite)
	fmt.Fprint(out, b.printed.String())
	conclude(out, b.outcome)
	return b.outcome
}

// run runs the suite's command.
func (s suite) run(out io.Writer) (o outcome) {
	o.suite = s
	began := time.Now()
	defer func() { o.took = time.Since(began) }()
	r, w, err := os.Pipe()
	if err != nil {
		o.problem = err.Error()
		return o
	}
	defer r.Close()
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close() // the command has its own
	if err != nil {
		o.problem = err.Error()
		return o
	}
	reader := newReader(out, s.verbose)
	lines := bufio.NewReader(r)
	for err == nil {
		var line string
		line, err = lines.ReadString('\n')
		if s.goTests && reader.take(line) {
			continue
		}
		if line != "" {
			fmt.Fprintln(out, strings.TrimSuffix(line, "\n"))
		}
		if _, why, found := strings.Cut(strings.TrimSpace(line), skipMark); found {
			o.skipped = why
		}
	}
	if !errors.Is(err, io.EOF) {
		o.problem = err.Error()
	}
	err = cmd.Wait()
	o.tests = reader.end()
	if err != nil && len(o.tests.failures) == 0 {
		o.problem = err.Error()
	}
	return o
}
