package main

import (
	"bytes"
	"testing"
	"time"
)

func TestReadingText(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		since       time.Duration
		want        string
	}{
		{250e6, 1000e6, 3 * time.Second, "analysing, 250 MB of 1000, 9s left"},
		{1000e6, 1000e6, 3 * time.Second, "analysing, 1000 MB of 1000, 0s left"},
		{1200e6, 1000e6, 3 * time.Second, "analysing, 1200 MB of 1000, 0s left"}, // it grew
		{250e6, 0, 3 * time.Second, "analysing, 250 MB"},
		{0, 1000e6, 3 * time.Second, "analysing, 0 MB"},
	} {
		if got := readingText(c.done, c.total, c.since); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, got, c.want)
		}
	}
	var b bytes.Buffer
	r := newReading(&b, false)
	r.began = r.began.Add(-time.Hour)
	r.update(1, 2)
	r.close()
	if b.Len() > 0 {
		t.Errorf("no terminal, and it is shown %q", b.String())
	}
}
