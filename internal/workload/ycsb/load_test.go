package ycsb_test

import (
	"testing"

	"plimsoll/internal/workload/ycsb"
)

// What a result keeps of a workload tells what it asked, and of which database: also of
// one that this program does not know.
func TestLoadOfADeclaration(t *testing.T) {
	for declared, want := range map[string]struct{ called, database string }{
		"{workload: A, records: 1000}":                                      {"A", "pebble"},
		"{workload: D, records: 1000, database: pebble}":                    {"D", "pebble"},
		"{mix: {read: 1}, records: 1000, database: {cassandra: {heap: 2}}}": {"C", "cassandra"},
		"{mix: {update: 1}, records: 1000, database: mysql}":                {"", "mysql"},
	} {
		l, ok := ycsb.LoadOf(declared)
		if !ok || l.Called() != want.called || l.Database != want.database {
			t.Errorf("%s is %+v, %t, called %q", declared, l, ok, l.Called())
		}
	}
	for _, declared := range []string{"", "7", "{records: 1000}", "{workload: Q, records: 1}", "[global]\nrw=read",
		"{workload: A, records: 1, database: [a, b]}"} {
		l, ok := ycsb.LoadOf(declared)
		if ok {
			t.Errorf("%q is %+v", declared, l)
		}
	}
}
