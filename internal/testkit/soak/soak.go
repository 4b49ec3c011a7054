// Package soak is for tests that take long by nature: make soak runs all of them, and make
// test what shows the same of what breaks most. Tests that touch the host have
// hosttest.Soak instead.
package soak

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable has the tests run that take long by nature, when it is set.
const Variable = "PLIMSOLL_TEST_SOAK"

// Reason is what a test says that is skipped for it.
const Reason = "takes long by nature: make soak runs it"

// On reports whether make soak runs the tests.
func On() bool { return os.Getenv(Variable) != "" }

// Only skips a test, unless make soak runs it.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip(Reason)
	}
}

// Of returns how many draws a test makes: so many in make soak, and fewer in make test.
func Of(soak, fewer int) int {
	if On() {
		return soak
	}
	return fewer
}

// Checks has rapid check the properties of a test fewer times than it does in make soak.
func Checks(t testing.TB, fewer int) {
	t.Helper()
	const name = "rapid.checks"
	set := flag.Lookup(name)
	if On() || set.Value.String() != set.DefValue {
		return
	}
	err := flag.Set(name, strconv.Itoa(fewer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, set.DefValue) })
}

// WithoutRace skips a test under the race detector, which takes ten times as long: a simulation, whose goroutines
// shorter tests have, too. The suite pure runs it.
func WithoutRace(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("a simulation that takes long under the race detector: the suite pure runs it")
	}
}
