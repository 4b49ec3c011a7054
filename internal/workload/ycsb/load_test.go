package ycsb_test

import (
	"testing"
	"time"

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
	if l, ok := ycsb.LoadOf("{workload: C, records: 5, think: 3s, runtime: 5s}"); !ok || l.Think != 3*time.Second {
		t.Errorf("a time in seconds is %+v, %t", l, ok)
	}
	for _, declared := range []string{"", "7", "{records: 1000}", "{workload: Q, records: 1}", "[global]\nrw=read",
		"{workload: A, records: 1, database: [a, b]}"} {
		l, ok := ycsb.LoadOf(declared)
		if ok {
			t.Errorf("%q is %+v", declared, l)
		}
	}
}

// Loads that differ in their rate alone are of one family, in whatever order their parameters stand.
func TestOpenLoopOfADeclaration(t *testing.T) {
	openLoad := func(declared string) ycsb.OpenLoad {
		o, ok := ycsb.OpenOf(declared)
		if !ok {
			t.Errorf("%s is no open loop", declared)
		}
		return o
	}
	a, b := openLoad("{workload: C, records: 1000, rate: 200}"), openLoad("{rate: 1e3, records: 1000, workload: C}")
	if a.Rate != 200 || b.Rate != 1000 || a.Family != b.Family {
		t.Errorf("%+v and %+v", a, b)
	}
	c := openLoad("{workload: C, records: 1000, rate: 2k, timeout: 4s}")
	d := openLoad("{timeout: 4s, workload: C, records: 1000, rate: 1}")
	if c.Rate != 2000 || c.Family != d.Family {
		t.Errorf("%+v and %+v", c, d)
	}
	for _, other := range []string{"{workload: B, records: 1000, rate: 200}", "{workload: C, records: 999, rate: 200}",
		"{workload: C, records: 1000, rate: 200, threads: 8}",
		"{workload: C, records: 1000, rate: 200, database: {pebble: {cache: 8MiB}}}",
	} {
		if openLoad(other).Family == a.Family {
			t.Errorf("%s is of the same family", other)
		}
	}
	for _, declared := range []string{
		"", "{workload: C, records: 1000, threads: 4}", "{rw: randread, rate: 5}", "{workload: C, rate: [",
	} {
		if o, ok := ycsb.OpenOf(declared); ok {
			t.Errorf("%q is %+v", declared, o)
		}
	}
}
