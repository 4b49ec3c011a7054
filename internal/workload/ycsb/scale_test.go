package ycsb_test

import (
	"strings"
	"testing"
)

// Threads and records are what a host is fitted by; the rest stays as it was declared.
func TestScale(t *testing.T) {
	w := mustDecode(t, "{workload: C, records: 1000, threads: 8, think: 5ms, fields: 4}")
	scaling := w.Abilities().Scaling
	if scaling == nil || scaling.Jobs != 8 {
		t.Fatalf("%+v", scaling)
	}
	for _, c := range []struct {
		jobs    int
		bytes   int64
		summary string
	}{
		{0, 0, "YCSB C on the fake, 1000 records of 400B, zipfian, 8 threads, 5ms between operations"},
		{2, 0, "YCSB C on the fake, 1000 records of 400B, zipfian, 2 threads, 5ms between operations"},
		{0, 4001, "YCSB C on the fake, 11 records of 400B, zipfian, 8 threads, 5ms between operations"},
		{1, 4000, "YCSB C on the fake, 10 records of 400B, zipfian, 1 thread, 5ms between operations"},
	} {
		scaled, err := scaling.To(c.jobs, c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := scaled.Info().Summary; got != c.summary {
			t.Errorf("%d jobs, %d bytes: %s", c.jobs, c.bytes, got)
		}
	}
	open, err := mustDecode(t, "{workload: C, records: 1000, rate: 50}").Abilities().Scaling.To(8, 0)
	if err != nil || !strings.HasSuffix(open.Info().Summary, "on 8 connections") {
		t.Errorf("an open loop that did not say its threads is %s, %v", open.Info().Summary, err)
	}
	if _, err := scaling.To(100_000, 0); err == nil {
		t.Error("more threads than there may be")
	}
}
