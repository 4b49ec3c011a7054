// Command run-tests runs the suites of `make test`, all of them whatever fails,
// and ends with a table of what passed and what failed, and how long each took.
//
//	go run ./scripts/run-tests [-list] [SUITE...]
//
// Without names it runs every suite. What a suite prints is passed on as it comes;
// of Go tests that pass only their packages are shown, except in the lab, where a
// test takes minutes. The names of all tests that failed stand below the table.
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
		for _, s := range suites() {
			fmt.Printf("%-8s %s\n", s.name, s.what)
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

// choose returns the suites of these names, in the order in which they run; without
// names those of make test.
func choose(all []suite, names []string) (chosen []suite, err error) {
	var unknown []error
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == name }) {
			unknown = append(unknown, fmt.Errorf("no suite is called %q", name))
		}
	}
	for _, s := range all {
		if slices.Contains(names, s.name) || len(names) == 0 && !s.daily {
			chosen = append(chosen, s)
		}
	}
	return chosen, errors.Join(unknown...)
}
