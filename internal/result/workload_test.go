package result

import "testing"

func TestWorkloadTitle(t *testing.T) {
	for _, c := range []struct{ name, summary, title, details string }{
		{"randread", "randread 4 KiB, 1 job", "randread 4 KiB, 1 job", "4 KiB, 1 job"},
		{"randread", "randread: randread 4 KiB", "randread 4 KiB", "4 KiB"},
		{"orders", "randread 4 KiB", "orders: randread 4 KiB", "randread 4 KiB"},
		{"orders", "orders: 2 jobs: read, write", "orders: 2 jobs: read, write", "2 jobs: read, write"},
		{"read", "readahead 4 KiB", "read: readahead 4 KiB", "readahead 4 KiB"},
		{"randread", "", "randread", ""},
		{"randread", "randread", "randread: randread", "randread"},
	} {
		w := Workload{Name: c.name, Summary: c.summary}
		if w.Title() != c.title || w.Details() != c.details {
			t.Errorf("%q, %q: %q and %q", c.name, c.summary, w.Title(), w.Details())
		}
	}
}
