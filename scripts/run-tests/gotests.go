package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// tests is what became of the Go tests of a suite, their parts included.
type tests struct {
	passed, skipped int
	failures        []failure
}

// failure is a test that failed, or a package that did without one of its tests'.
type failure struct {
	pkg, test string
	why       string // "" where the test itself says
}

// event is one of go test -json: see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what is built
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// reader reads what go test -json prints.
type reader struct {
	out     io.Writer
	verbose bool
	tests   tests
	running map[string]*running // by package
}

// running is a package whose tests run.
type running struct {
	printed map[string]*strings.Builder // by test; "" for the package's own
	order   []string                    // in which tests began
	began   map[string]bool             // and did not end yet
	failed  []string
}

func newReader(out io.Writer, verbose bool) *reader {
	return &reader{out: out, verbose: verbose, running: map[string]*running{}}
}

// take reads a line, and reports whether it is an event.
func (r *reader) take(line string) bool {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return false
	}
	if e.Package == "" { // of a build
		fmt.Fprint(r.out, e.Output)
		return true
	}
	p := r.running[e.Package]
	if p == nil {
		p = &running{printed: map[string]*strings.Builder{}, began: map[string]bool{}}
		r.running[e.Package] = p
	}
	switch e.Action {
	case "run":
		p.order = append(p.order, e.Test)
		p.began[e.Test] = true
	case "output":
		p.print(e.Test, e.Output)
		if r.verbose {
			fmt.Fprint(r.out, e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e, p)
		} else {
			r.endTest(e, p)
		}
	}
	return true
}

func (p *running) print(test, text string) {
	if p.printed[test] == nil {
		p.printed[test] = &strings.Builder{}
	}
	p.printed[test].WriteString(text)
}

func (r *reader) endTest(e event, p *running) {
	delete(p.began, e.Test)
	switch e.Action {
	case "pass":
		r.tests.passed++
	case "skip":
		r.tests.skipped++
	case "fail":
		p.failed = append(p.failed, e.Test)
	}
}

// endPackage shows how a package ended, and of one that failed what its tests
// that failed printed.
func (r *reader) endPackage(e event, p *running) {
	delete(r.running, e.Package)
	if e.Action != "fail" {
		if !r.verbose && e.Action == "pass" {
			fmt.Fprintf(r.out, "ok    %8.1fs  %s\n", e.Elapsed, e.Package)
		}
		return
	}
	var open []string // when the package ended, by a panic for instance
	for _, test := range p.order {
		if p.began[test] {
			open = append(open, test)
		}
	}
	failures := innermost(e.Package, p.failed, "")
	switch {
	case e.FailedBuild != "":
		failures = append(failures, failure{pkg: e.Package, why: "does not build"})
	case len(open) > 0:
		failures = append(failures, innermost(e.Package, open, "did not come to its end")...)
	case len(failures) == 0:
		failures = append(failures, failure{pkg: e.Package, why: "failed outside of its tests"})
	}
	r.tests.failures = append(r.tests.failures, failures...)
	if !r.verbose {
		for _, test := range p.order {
			if text := p.printed[test]; text != nil && (slices.Contains(p.failed, test) || p.began[test]) {
				fmt.Fprint(r.out, text)
			}
		}
		if text := p.printed[""]; text != nil {
			fmt.Fprint(r.out, text)
		}
	}
	fmt.Fprintf(r.out, "FAIL  %8.1fs  %s\n", e.Elapsed, e.Package)
}

// innermost returns the tests without those that failed for a part of theirs.
func innermost(pkg string, names []string, why string) (all []failure) {
	for _, test := range names {
		if !slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, test+"/") }) {
			all = append(all, failure{pkg, test, why})
		}
	}
	return all
}

// end returns what became of the tests. Packages that never ended failed.
func (r *reader) end() tests {
	var left []string
	for pkg := range r.running {
		left = append(left, pkg)
	}
	slices.Sort(left)
	for _, pkg := range left {
		r.endPackage(event{Action: "fail", Package: pkg}, r.running[pkg])
	}
	return r.tests
}
