package prose

import (
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
)

// TestSubject: only the whole host that measured is called this host.
func TestSubject(t *testing.T) {
	small := &result.Limits{CPUs: 2, MemoryBytes: 1 << 30, Read: result.Rate{OperationsPerSecond: 1200}}
	for _, c := range []struct {
		host fact.Host
		want string
	}{
		{HostOf(nil, false), "this host"},
		{HostOf(&result.Limits{}, false), "this host"},
		{HostOf(small, false), "a host of 2 CPUs, 1 GiB of memory and 1200 reads/s, made of this one,"},
		{HostOf(&result.Limits{CPUs: 1}, false), "a host of 1 CPU, made of this one,"},
		{HostOf(nil, true), "the host that was imported"},
		{HostOf(small, true), "the host that was imported, of 2 CPUs, 1 GiB of memory and 1200 reads/s,"},
		{fact.Host{Origin: fact.PredictedHost, Has: "2 CPUs, 1 GiB of memory; 4 processors with those who ask"},
			"a host of 2 CPUs and 1 GiB of memory (4 processors with those who ask)"},
		{fact.Host{Origin: fact.PredictedHost}, "such a host"},
	} {
		if got := Subject(c.host); got != c.want {
			t.Errorf("%+v is %q, not %q", c.host, got, c.want)
		}
	}
}
