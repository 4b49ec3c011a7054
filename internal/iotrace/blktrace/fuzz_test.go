package blktrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// FuzzReader reads whatever comes: it must reach the end, tell of every byte
// whether it is of a record or passed over, and read again what it writes.
func FuzzReader(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []uint32{7, 8} {
			var file []byte
			for i, r := range life() {
				r.Sequence, r.Cgroup = uint32(i), uint64(i%2)
				file = append(file, encode(r, version, order)...)
			}
			f.Add(file)
			f.Add(file[:len(file)-5])
			f.Add(append(append(bytes.Clone(file[:100]), 1, 2, 3), file[96:]...))
		}
	}
	f.Add([]byte(printed))
	f.Add([]byte(printed[:1200] + "hello\n" + printed[1100:]))
	f.Fuzz(func(t *testing.T, file []byte) {
		d := NewReader("file", bytes.NewReader(file))
		var passed int64
		var r, before Record
		for offset := int64(0); ; offset = d.Offset() {
			err := next(d, &r)
			if errors.Is(err, io.EOF) {
				passed += d.Offset() - offset // what blkparse prints behind its events
				break
			}
			var format *FormatError
			switch {
			case errors.As(err, &format):
				aside := format.Offset - offset // what blkparse prints besides events
				if aside != 0 && !d.IsText() || aside < 0 || format.Skipped <= 0 || d.Offset() != format.Offset+format.Skipped {
					t.Fatalf("%v; it was at %d and is at %d", format, offset, d.Offset())
				}
				passed += aside + format.Skipped
				continue
			case err != nil:
				t.Fatal(err)
			}
			passed += d.Offset() - offset
			if r.Device != before.Device && r.CPU < maxCPU && len(r.PDU)+8 < 1<<16 && !holdsRecord(r.PDU) {
				again(t, r)
			}
			before = r
		}
		if passed != int64(len(file)) {
			t.Errorf("%d bytes of %d are accounted for", passed, len(file))
		}
	})
}

// holdsRecord tells whether data may have a record in it: where that comes to
// have another one, or the end, behind it, the length is taken for damaged.
func holdsRecord(data []byte) bool {
	for ; len(data) >= 4; data = data[1:] {
		if hasMagic(data) {
			return true
		}
	}
	return false
}

// again writes a record and reads it.
func again(t *testing.T, r Record) {
	t.Helper()
	r.Action &= 1<<32 - 1
	got, wrong := read(t, write(t, r)[r.CPU])
	if len(wrong) != 0 || len(got) != 1 {
		t.Fatalf("%+v is read as %d records, %v", r, len(got), wrong)
	}
	r.Sequence = got[0].Sequence
	if !equal(got[0], r) {
		t.Errorf("%+v is read as %+v", r, got[0])
	}
}
