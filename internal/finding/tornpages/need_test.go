package tornpages

import (
	"strings"
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/ycsb"
)

// An option may be off only if the kernel promises atomic writes of a page, and the server asks for them.
func TestNeedOf(t *testing.T) {
	units := func(smallest, largest int64) *result.AtomicUnits {
		return &result.AtomicUnits{Min: smallest, Max: largest}
	}
	for _, test := range []struct {
		page   int64
		files  *result.AtomicUnits
		atomic bool
		want   Need
	}{
		{16 << 10, nil, true, NotKnown},
		{16 << 10, units(0, 0), true, NoPromise},
		{16 << 10, units(4096, 8192), true, NoPromise},
		{16 << 10, units(32<<10, 64<<10), true, NoPromise},
		{0, units(0, 0), true, NoPromise},
		{16 << 10, units(4096, 16<<10), false, NotAskedBy},
		{16 << 10, units(4096, 16<<10), true, NotNeeded},
	} {
		got := needOf(test.page, test.files, test.atomic)
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
		e := &fact.Effect{Ratio: 1.5, Low: 1.4, High: 1.6, Differs: true}
		f := Facts{Pairs: []Pair{{Database: "MySQL", Option: "innodb_doublewrite", Stack: "s", PageBytes: test.page,
			Files: test.files, Atomic: test.atomic, Needed: got, Off: fact.Summary{Throughput: e}}}}
		off := "innodb_doublewrite may be off on s"
		if text := f.verdict(fact.Sure); strings.Contains(text, off) != (test.want == NotNeeded) {
			t.Errorf("%+v: %s", test, text)
		}
	}
}

// No server of this build writes pages with RWF_ATOMIC: a server that does needs the measurement that shows it.
func TestServersWritePlainly(t *testing.T) {
	guards := 0
	for _, k := range database.All() {
		server, ok := ycsb.ServerOf("{workload: A, records: 1000, database: {" + k.Name + ": {}}}")
		if !ok {
			t.Fatal(k.Name)
		}
		g, guarded := server.(database.PageGuarder)
		if !guarded {
			continue
		}
		guards++
		if g.Guard().Atomic || !g.Guard().On || server.Parameters()[g.Guard().Option] == "" {
			t.Errorf("%s: %+v", k.Name, g.Guard())
		}
	}
	if guards != 3 {
		t.Errorf("%d servers have an option that writes pages twice", guards)
	}
}
