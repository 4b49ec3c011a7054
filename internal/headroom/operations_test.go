package headroom

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/recording"
)

// withServer adds to each second of a host what the server of its container did: ten operations for each of its
// requests, at 2 ms each, and nothing in the seconds of gaps.
func withServer(t *testing.T, h simulatedHost, seconds int, name string,
	unknown func(second int) bool) *recording.Recording {
	t.Helper()
	r := recording.New(recording.Header{Host: recording.Host{Name: "simulated", CPUs: 64, MemoryBytes: 1 << 40},
		Interval: 1})
	second := 0
	h.rows(rand.New(rand.NewPCG(3, 2)), seconds, func(row recording.Row) {
		server := recording.Amounts{Thing: recording.Thing{Kind: recording.OfServer, Name: name, Copy: 1,
			Manager: "postgresql"}}
		n := float64(1000 + second%100)
		server.Values = []float64{n, n, 2000 * n}
		if second++; !unknown(second) {
			row.Amounts = append(row.Amounts, server)
		}
		if _, err := r.Add(row); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// Operations of a service's servers are in the answer, without the seconds in which they are unknown.
func TestOperationsOfServers(t *testing.T) {
	h := newSimulatedHost(3)
	gap := func(second int) bool { return second > 1000 && second <= 2000 }
	r := withServer(t, h, 4000, "db", gap)
	a, err := Find(r, Options{Container: "db", Capacities: []Capacity{{Drive: "nvme0n1", Resource: Operations,
		Value: h.capacity, Source: Given}}})
	if err != nil {
		t.Fatal(err)
	}
	u := a.More[0].Server
	if u == nil || u.Servers != 1 || u.Known != 3000 || u.Most != 1099 || math.Abs(*u.Quantiles[0].Value-1049.5) > 1 ||
		math.Abs(u.MeanSeconds-0.002) > 1e-6 {
		t.Fatalf("%+v", u)
	}
	if *a.More[0].Fit == 0 {
		t.Fatalf("none fits: %s", a.Verdict())
	}
	if !strings.Contains(a.Verdict(), "transactions a second at the median") {
		t.Errorf("%q", a.Verdict())
	}
	shown := ""
	for _, s := range a.Sections() {
		if s.Title == "Operations of servers" {
			for _, c := range s.Tables[0].Rows[0].Cells {
				shown += c.String() + "|"
			}
		}
	}
	if !strings.Contains(shown, "db|transactions|") || !strings.Contains(shown, "2.00 ms") {
		t.Errorf("table %q", shown)
	}
}

// A server of a container that the recording has not is said, and guessed nothing of.
func TestServersWithoutContainer(t *testing.T) {
	r := withServer(t, newSimulatedHost(3), 1200, "elsewhere\x1b[2J", func(int) bool { return false })
	a, err := Find(r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(a.Unknown, "; "); !strings.Contains(said, "elsewhere") || strings.Contains(said, "\x1b") {
		t.Errorf("unknown is %q", said)
	}
	for _, m := range a.More {
		if m.Server != nil {
			t.Errorf("%s has operations of another container", m.Service)
		}
	}
}
