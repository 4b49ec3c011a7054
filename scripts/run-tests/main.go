// Command run-tests runs the suites of `make test`, all of them whatever fails,
// and ends with a table of what passed and what failed, and how long each took.
//
//	go run ./scripts/run-tests [-list] [SUITE...]
//
// Without names it runs every suite of make test; -list names them all. What suites print
// is passed on as it comes, behind their names, since several run beside each other; of Go
// tests that pass only their packages are shown, except in the lab, where a test takes
// minutes. The names of all tests that failed stand below the table. The JUnit file of each
// suite is in bin/tests, with the events of its tests (gotestsum tool slowest reads them).
//
// EXIT STATUS: 0 when no suite failed, 1 when one did, 2 for a name that is none.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	list := flag.Bool("list", false, "list the suites, and run none")
	flag.Parse()
	if *list {
		for _, s := range flat(suites()) {
			fmt.Printf("%-8s %s\n", s.name, s.purpose)
		}
		return
	}
	chosen, err := choose(suites(), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "run-tests:", err)
		os.Exit(2)
	}
	began := time.Now()
	outcomes := runAll(chosen, os.Stdout)
	writeTable(os.Stdout, outcomes, time.Since(began))
	if slices.ContainsFunc(outcomes, outcome.failed) {
		os.Exit(1)
	}
}

// choose returns the stages with the suites of these names alone; without names those of
// make test.
func choose(stages []stage, names []string) (chosen []stage, err error) {
	var unknown []error
	for _, name := range names {
		if !slices.ContainsFunc(flat(stages), func(s suite) bool { return s.name == name }) {
			unknown = append(unknown, fmt.Errorf("no suite is called %q", name))
		}
	}
	for _, lanes := range stages {
		var named stage
		for _, l := range lanes {
			l = slices.DeleteFunc(slices.Clone(l), func(s suite) bool {
				return !slices.Contains(names, s.name) && (len(names) > 0 || s.byName)
			})
			if len(l) > 0 {
				named = append(named, l)
			}
		}
		if len(named) > 0 {
			chosen = append(chosen, named)
		}
	}
	return chosen, errors.Join(unknown...)
}

// flat returns the suites of all stages.
func flat(stages []stage) (all []suite) {
	for _, lanes := range stages {
		all = append(all, slices.Concat(lanes...)...)
	}
	return all
}
