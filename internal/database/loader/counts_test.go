package loader

import (
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
)

// countsOf connects to a server's counters, as watch does. The caller closes them.
func countsOf(t *testing.T, kind string, info database.Client, at database.Address) database.Counter {
	t.Helper()
	c, err := client.DialCounter(t.Context(), database.Running{Kind: kind, Address: at, Client: info})
	if err != nil {
		t.Errorf("%s: %v", kind, err)
		return nil
	}
	return c
}

// countedBy checks that the counters of a server have what do did, and what reading them is left out.
func countedBy(t *testing.T, kind string, info database.Client, at database.Address, do func() counts) {
	t.Helper()
	c := countsOf(t, kind, info, at)
	if c == nil {
		return
	}
	defer func() { _ = c.Close() }() // at once: PostgreSQL counts all once no client is connected, for which agrees waits
	before, err := c.Counts(t.Context())
	if err != nil {
		t.Errorf("%s: %v", kind, err)
		return
	}
	if kind == "mariadb" || kind == "mysql" { // nothing else asks it
		again, err := c.Counts(t.Context())
		if w, ok := again.Since(before); err != nil || !ok || w.Operations != 0 {
			t.Errorf("%s: reading the counters counts: %+v, %v, %v", kind, w, ok, err)
		}
		before = again
	}
	did := do()
	// PostgreSQL has a process count what it did some time after it did it.
	for want := float64(did.reads + did.updates + did.inserts); ; {
		after, err := c.Counts(t.Context())
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			return
		}
		w, ok := after.Since(before)
		if !ok {
			t.Errorf("%s: the counters began again: %+v, then %+v", kind, before, after)
			return
		}
		if w.Operations < want {
			continue
		}
		t.Logf("%s: %.0f operations were done, %+v counted", kind, want, w)
		if timed := kind == "postgresql"; timed && !(w.Timed > 0 && w.Microseconds > 0) {
			t.Errorf("%s has no time of operations: %+v", kind, w)
		}
		return
	}
}
