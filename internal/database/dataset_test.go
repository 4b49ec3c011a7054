package database

import (
	"bytes"
	"compress/flate"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKeysSortAsNumbers(t *testing.T) {
	if got := string(Key(nil, 42)); got != "user0000000000000000042" {
		t.Errorf("key of 42 is %s", got)
	}
	if got := string(Key([]byte("x"), math.MaxInt64)); got != "xuser9223372036854775807" {
		t.Errorf("appended, the last key is %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(0, math.MaxInt64)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		ka, kb := Key(nil, a), Key(nil, b)
		if len(ka) != KeyBytes {
			t.Fatalf("a key of %d bytes, not %d", len(ka), KeyBytes)
		}
		order := 0
		switch {
		case a < b:
			order = -1
		case a > b:
			order = 1
		}
		if bytes.Compare(ka, kb) != order {
			t.Fatalf("%s and %s do not sort as %d and %d", ka, kb, a, b)
		}
	})
}

// Data that was loaded by another version of this program has to be the same: the
// bytes must not change.
func TestValuesStay(t *testing.T) {
	h := fnv.New64a()
	d := Dataset{Records: 100, Fields: 3, FieldBytes: 33, Seed: 7}
	for i := range d.Records {
		h.Write(Value(nil, d, i))
	}
	if got, want := h.Sum64(), uint64(0xeb17057101eb81fe); got != want {
		t.Errorf("values are other ones: %#x, not %#x", got, want)
	}
}

// The first outputs of splitmix64 from the seed 1234567, as others publish them.
func TestSplitmix(t *testing.T) {
	state := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423,
		4593380528125082431, 16408922859458223821} {
		state += splitMixIncrement
		if got := mixed(state); got != want {
			t.Errorf("output %d is %d, not %d", i, got, want)
		}
	}
}

// Values differ from record to record and seed to seed, are appended, and cannot be
// made smaller.
func TestValues(t *testing.T) {
	d := Dataset{Records: 1000, Fields: 10, FieldBytes: 100, Seed: 1}
	other := d
	other.Seed = 2
	seen := map[string]bool{}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	var set, bits int
	for i := range d.Records {
		for _, v := range [][]byte{Value(nil, d, i), Value(nil, other, i)} {
			if int64(len(v)) != d.RecordBytes() || seen[string(v)] {
				t.Fatalf("record %d has %d bytes, or those of another one", i, len(v))
			}
			seen[string(v)] = true
			if _, err := w.Write(v); err != nil {
				t.Fatal(err)
			}
			for _, b := range v {
				set += int(b&1) + int(b>>7)
				bits += 2
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if share := float64(packed.Len()) / float64(2*d.Bytes()); share < 0.999 {
		t.Errorf("deflate makes %.3f of values", share)
	}
	if share := float64(set) / float64(bits); math.Abs(share-0.5) > 0.002 {
		t.Errorf("%.4f of bits are set", share)
	}
	dst := Value([]byte("before"), d, 3)
	if !bytes.Equal(dst, append([]byte("before"), Value(nil, d, 3)...)) {
		t.Error("a value is not appended")
	}
}

func TestDatasetCheck(t *testing.T) {
	for _, c := range []struct {
		d    Dataset
		want string
	}{
		{Dataset{Records: 1, Fields: 1, FieldBytes: 1}, ""},
		{Dataset{Records: 1e6, Fields: 10, FieldBytes: 100}, ""},
		{Dataset{Records: 1, Fields: 1, FieldBytes: 1 << 20}, ""},
		{Dataset{Records: 0, Fields: 1, FieldBytes: 1}, "0 records: write"},
		{Dataset{Records: math.MinInt64, Fields: 1, FieldBytes: 1}, "records: write"},
		{Dataset{Records: math.MaxInt64, Fields: 1, FieldBytes: 1}, "records: write"},
		{Dataset{Records: 1, Fields: -1, FieldBytes: 1}, "-1 fields: write"},
		{Dataset{Records: 1, Fields: 2000, FieldBytes: 1}, "2000 fields: write"},
		{Dataset{Records: 1, Fields: 1, FieldBytes: 0}, "fields of 0 bytes: write"},
		{Dataset{Records: 1, Fields: 1024, FieldBytes: 1 << 20}, "1024 fields of 1MiB make records of 1GiB"},
		{Dataset{Records: 1e12, Fields: 10, FieldBytes: 1000}, "are more than 1 PiB"},
	} {
		err := c.d.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.d, err, c.want)
		}
	}
}

func BenchmarkValue(b *testing.B) {
	d := Dataset{Records: 1 << 40, Fields: 10, FieldBytes: 100}
	var dst []byte
	b.SetBytes(d.RecordBytes())
	b.ReportAllocs()
	for i := range b.N {
		dst = Value(dst[:0], d, int64(i))
	}
}

func BenchmarkKey(b *testing.B) {
	var dst []byte
	b.ReportAllocs()
	for i := range b.N {
		dst = Key(dst[:0], int64(i))
	}
}
