package follow

import (
	"bytes"
	"io"
	"testing"

	"plimsoll/internal/iotrace/blktrace"
)

func TestGapsInNumbers(t *testing.T) {
	lost := func(records ...blktrace.Record) uint64 {
		t.Helper()
		var b bytes.Buffer
		for _, r := range records {
			w := blktrace.NewWriter(func(uint32) (io.Writer, error) { return &b, nil })
			r.Action |= blktrace.Queue | blktrace.CatQueue | blktrace.CatRead
			if err := w.Write(&r); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		a, err := Analyze(t.Context(), []Source{{Name: "file", From: &b}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Lost
	}
	if n := lost([]blktrace.Record{
		{Sequence: 7, Time: 1, CPU: 0}, {Sequence: 8, Time: 2, CPU: 0},
		{Sequence: 1, Time: 3, CPU: 64}, {Sequence: 9, Time: 4, CPU: 0},
		{Sequence: 5, Time: 5, CPU: 64},           // 3 lost
		{Sequence: 1, Time: 6, CPU: 0, Device: 1}, // another one's
		{Sequence: 11, Time: 6, CPU: 0},           // 1 lost
		{Sequence: 1, Time: 7, CPU: 0},            // begins anew
		{Sequence: 2, Time: 9, CPU: 0},
	}...); n != 4 {
		t.Errorf("%d lost", n)
	}
	const cpus, devices = 300, 7
	var records []blktrace.Record
	for sequence := uint32(1); sequence <= 6; sequence++ {
		for i := range uint32(cpus * devices) {
			if sequence != 4 || i%10 != 0 {
				records = append(records,
					blktrace.Record{Sequence: sequence, CPU: i / devices, Device: i % devices, Time: uint64(sequence)})
			}
		}
	}
	if n := lost(records...); n != cpus*devices/10 {
		t.Errorf("%d lost, want %d", n, cpus*devices/10)
	}
}
