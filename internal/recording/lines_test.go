package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func testHeader() Header {
	return Header{Host: Host{Name: "db1", CPUs: 4, MemoryBytes: 1 << 34}, Interval: 1, Source: "test"}
}

// testRow is interval i of a host with a drive and a container.
func testRow(i int) Row {
	db := Thing{Kind: OfContainer, Name: "shop/db", Copy: 1, Manager: "compose"}
	return Row{Time: start.Add(time.Duration(i) * time.Second), Seconds: 1, Amounts: []Amounts{
		{Thing{Kind: OfHost}, []float64{float64(1000 * i), 0, 4096}},
		{Thing{Kind: OfDrive, Name: "nvme0n1"}, []float64{float64(i), 2, 0, math.NaN(), 17, 5}},
		{db, []float64{7}},
		{Thing{Kind: OfUse, Name: "shop/db", Copy: 1, Drive: "nvme0n1"}, []float64{float64(i)}},
	}}
}

func segmentOf(rows ...int) []byte {
	var e Encoder
	text := e.Begin(testHeader())
	for _, i := range rows {
		text = append(text, e.Interval(testRow(i))...)
	}
	return text
}

func decoded(t testing.TB, texts ...[]byte) *Recording {
	t.Helper()
	var d Decoder
	for i, text := range texts {
		if err := d.Segment(fmt.Sprint("segment ", i), text); err != nil {
			t.Fatal(err)
		}
	}
	return d.Recording()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	r := decoded(t, segmentOf(1, 2, 3))
	if len(r.Times) != 3 || r.Times[2] != start.Add(3*time.Second) || r.Torn+r.OutOfOrder+len(r.Gaps) != 0 {
		t.Fatalf("%d intervals, %d torn, %d out of order, gaps %v", len(r.Times), r.Torn, r.OutOfOrder, r.Gaps)
	}
	drive := r.Find(Key{Kind: OfDrive, Name: "nvme0n1"})
	if got := drive.Values(Reads); !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("reads %v", got)
	}
	if got := drive.Values(WriteBytes)[1]; !math.IsNaN(float64(got)) {
		t.Errorf("an amount that was not known is %v", got)
	}
	if got := r.Find(Key{OfUse, "shop/db", 1, "nvme0n1"}).Values(Reads)[2]; got != 3 {
		t.Errorf("reads of the container: %v", got)
	}
	if got := r.OfKind(OfContainer)[0].Thing.Manager; got != "compose" {
		t.Errorf("known by %q", got)
	}
}

// Each end of a segment that a crash may leave gives the intervals whose lines are whole.
func TestTornSegments(t *testing.T) {
	whole := segmentOf(1, 2, 3)
	header := bytes.IndexByte(whole, '\n') + 1
	for end := range len(whole) {
		var d Decoder
		err := d.Segment("torn", whole[:end])
		if end < header {
			if err == nil && end >= sumDigits {
				t.Fatalf("%d bytes of a header were taken", end)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", end, err)
		}
		complete := bytes.Count(whole[:end], []byte(" i "))
		torn := whole[end-1] != '\n'
		if torn && bytes.Contains(whole[bytes.LastIndexByte(whole[:end], '\n'):end], []byte(" i ")) {
			complete--
		}
		r := d.Recording()
		if len(r.Times) != complete || (r.Torn > 0) != torn {
			t.Fatalf("%d bytes: %d intervals, want %d; %d torn", end, len(r.Times), complete, r.Torn)
		}
	}
}

// A changed byte spoils its line and no other.
func TestChangedBytesAreFound(t *testing.T) {
	whole := segmentOf(1, 2, 3, 4)
	header := bytes.IndexByte(whole, '\n') + 1
	for i := header; i < len(whole); i++ {
		text := bytes.Clone(whole)
		text[i] ^= 0x15
		r := decoded(t, text)
		if r.Torn == 0 {
			t.Fatalf("byte %d (%q) was changed, and nothing was missed", i, whole[i])
		}
		for j, v := range r.Find(Key{Kind: OfHost}).Values(CPU) {
			if want := float32(1000 * r.Times[j].Sub(start).Seconds()); v != want {
				t.Fatalf("byte %d: %v, want %v", i, v, want)
			}
		}
	}
}

func TestSegmentsFollowEachOther(t *testing.T) {
	var e Encoder
	late := e.Begin(testHeader())
	late = append(late, e.Lost(4, "no space left on device")...)
	late = append(late, e.Interval(testRow(10))...)
	late = append(late, e.Interval(testRow(9))...) // the clock was set back
	r := decoded(t, segmentOf(1, 2), late)
	if len(r.Times) != 3 || r.OutOfOrder != 1 || r.Lost != 4 || r.Sources != 2 {
		t.Errorf("%d intervals, %d out of order, %d lost", len(r.Times), r.OutOfOrder, r.Lost)
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Seconds() != 7 || r.Gaps[0].Why != "no space left on device" {
		t.Errorf("gaps %+v", r.Gaps)
	}
}

func TestAttackSegments(t *testing.T) {
	begin := func() []byte { var e Encoder; return e.Begin(testHeader()) }
	line := func(text string) []byte { return sealed(begin(), []byte(text)) }
	for name, text := range map[string][]byte{
		"unknown thing":    line("i 1000 1000000 7:1"),
		"negative ID":      line(`d -1 {"kind":"nothing"}`),
		"huge time":        line("i 9223372036854775807 1000000 0:1"),
		"huge length":      line("i 1000 99999999999999999999 0:1"),
		"negative length":  line("i 1000 -5 0:1"),
		"huge amount":      line("i 1000 1000000 0:99999999999999999999999999"),
		"deep nesting":     line("d 0 " + strings.Repeat("[", 100_000)),
		"negative lost":    line(`l -4 "x"`),
		"unknown line":     line("z"),
		"control":          line("i \x00\x1b[2J"),
		"nothing but LF":   append(begin(), bytes.Repeat([]byte("\n"), 1000)...),
		"limit that is no": line(`d 0 {"kind":"container","limits":[{"of":"cpus","value":"NaN"}]}`),
	} {
		var d Decoder
		if err := d.Segment(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := d.Recording(); r.Torn+r.OutOfOrder == 0 || len(r.Times) > 1 {
			t.Errorf("%s was taken: %+v", name, r)
		}
	}
	for name, text := range map[string]string{
		"newer":        string(sealed(nil, []byte(`h {"schema":99,"interval_s":1}`))),
		"no interval":  string(sealed(nil, []byte(`h {"schema":1}`))),
		"other text":   "# a page\nof text\n",
		"no header":    string(sealed(nil, []byte("i 1 1 0:1"))),
		"long nothing": strings.Repeat("x", 1<<20),
	} {
		var d Decoder
		if err := d.Segment(name, []byte(text)); err == nil {
			t.Errorf("%s was taken for a segment", name)
		}
	}
	var d Decoder
	if err := d.Segment("first", begin()); err != nil {
		t.Fatal(err)
	}
	var e Encoder
	if err := d.Segment("second", e.Begin(Header{Host: Host{Name: "other"}, Interval: 1})); err == nil {
		t.Error("segments of two hosts were taken for one recording")
	}
	if err := new(Decoder).Segment("newer", sealed(nil, []byte(`h {"schema":99}`))); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(segmentOf(1, 2, 3))
	f.Add([]byte("i 1 1 0:1,,-"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Decoder
		_ = d.Segment("fuzzed", text)
		// The same text with right checksums reaches what is behind them.
		resealed := segmentOf(1)
		for line := range bytes.Lines(text) {
			resealed = sealed(resealed, bytes.TrimSuffix(line, []byte("\n")))
		}
		d = Decoder{}
		if err := d.Segment("sealed", resealed); err != nil {
			return
		}
		r := d.Recording()
		for _, c := range r.Courses {
			for _, m := range c.Thing.Kind.Metrics() {
				if n := len(c.Values(m)); n > len(r.Times) {
					t.Fatalf("%v %s has %d values of %d intervals", c.Thing, m, n, len(r.Times))
				}
			}
		}
	})
}

// Two containers of one name and copy in one interval count as one.
func TestCopiesOfOneNumberAreAddedUp(t *testing.T) {
	row := testRow(1)
	row.Amounts = append(row.Amounts, row.Amounts[2])
	r := New(testHeader())
	if added, err := r.Add(row); !added || err != nil {
		t.Fatal(added, err)
	}
	if got := r.OfKind(OfContainer)[0].Values(CPU)[0]; got != 14 {
		t.Errorf("%v µs, want 14", got)
	}
}
