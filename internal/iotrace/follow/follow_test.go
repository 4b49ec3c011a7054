package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

const twoReads = `
1 Q 8:0 R 100+8
2 G 8:0 R 100+8
3 D 8:0 R 100+8
4 Q 8:0 R 200+8
5 G 8:0 R 200+8
6 D 8:0 R 200+8
9 C 8:0 R 100+8
10 C 8:0 R 200+8`

// capture returns a story as one file.
func capture(t testing.TB, story string) []byte {
	t.Helper()
	sources, err := tell(story)
	if err != nil || len(sources) != 1 {
		t.Fatal(len(sources), err)
	}
	b, err := io.ReadAll(sources[0].From)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDamage(t *testing.T) {
	file := capture(t, twoReads)
	copy(file[4*48:], "damage") // the second G
	file = append(file, 1, 2, 3)
	source := func() []Source { return []Source{{Name: "file", From: bytes.NewReader(file), Size: int64(len(file))}} }
	for _, threads := range []int{1, 2} {
		a, err := Analyze(t.Context(), source(), Options{Threads: threads})
		var damage *DamageError
		if !errors.As(err, &damage) || len(damage.Places) != 2 || !strings.Contains(err.Error(), "file: at byte 192:") {
			t.Fatalf("%v", err)
		}
		var format *blktrace.FormatError
		if !errors.As(err, &format) || format.Offset != 192 || format.Skipped != 48 {
			t.Errorf("%+v", format)
		}
		if a == nil || a.Events != 7 || a.By(iotrace.Total)[0].Requests != 2 ||
			!strings.Contains(strings.Join(a.Missing, "\n"), "damaged in 2 places") {
			t.Errorf("%+v", a)
		}
		if a, err := Analyze(t.Context(), source(), Options{Threads: threads, Strict: true}); a != nil ||
			!errors.As(err, &damage) {
			t.Errorf("strict: %v, %v", a, err)
		}
	}
}

func TestNothingToAnalyse(t *testing.T) {
	for _, threads := range []int{1, 2} {
		_, err := Analyze(t.Context(), []Source{{Name: "empty", From: strings.NewReader("")}}, Options{Threads: threads})
		if !errors.Is(err, ErrEmpty) {
			t.Errorf("of an empty file: %v", err)
		}
		var damage *DamageError
		_, err = Analyze(t.Context(), []Source{{Name: "text", From: strings.NewReader("hello\n")}}, Options{Threads: threads})
		if !errors.As(err, &damage) {
			t.Errorf("of a text: %v", err)
		}
		broken := errors.New("input/output error")
		file := io.MultiReader(bytes.NewReader(capture(t, twoReads)), errorReader{broken})
		a, err := Analyze(t.Context(), []Source{{Name: "broken", From: file}}, Options{Threads: threads})
		if !errors.Is(err, broken) || a == nil || a.Events != 8 {
			t.Errorf("of a file that cannot be read to its end: %v, %+v", err, a)
		}
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestMissingCPUs(t *testing.T) {
	file := capture(t, twoReads)
	var sources []Source
	for _, name := range []string{"a/sda.blktrace.0", "a/sda.blktrace.3", "a/sdb.blktrace.1", "stdin"} {
		sources = append(sources, Source{Name: name, From: bytes.NewReader(file)})
	}
	a, err := Analyze(t.Context(), sources, Options{})
	if err != nil {
		t.Fatal(err)
	}
	missing := strings.Join(a.Missing, "\n")
	for _, want := range []string{"CPU 1 has no file (a/sda.blktrace.1)", "CPU 2 has no file (a/sda.blktrace.2)",
		"CPU 0 has no file (a/sdb.blktrace.0)"} {
		if !strings.Contains(missing, want) {
			t.Errorf("%q is not among\n%s", want, missing)
		}
	}
	if strings.Count(missing, "has no file") != 3 {
		t.Error(missing)
	}
}

func TestCallersAreHeard(t *testing.T) {
	for _, threads := range []int{1, 2} {
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Analyze(canceled, endless(1<<30), Options{Threads: threads}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		enough := errors.New("enough")
		n := 0
		_, err := Analyze(t.Context(), endless(1<<30), Options{Threads: threads, PerIO: func(*iotrace.IO) error {
			if n++; n == 1000 {
				return enough
			}
			if n > 1000 {
				t.Error("called after its error")
			}
			return nil
		}})
		if !errors.Is(err, enough) {
			t.Errorf("PerIO: %v", err)
		}
		var last int64
		sources := endless(48 << 15)
		sources[0].Size = 48 << 15
		if _, err := Analyze(t.Context(), sources, Options{Threads: threads, Progress: func(done, total int64) {
			if done < last || done > total || total != 48<<15 {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		}}); err != nil {
			t.Error(err)
		}
		if last != 48<<15 {
			t.Errorf("the last progress is %d", last)
		}
	}
}

// generator is an endless capture of reads by new processes that never complete.
type generator struct {
	buf  bytes.Buffer
	w    *blktrace.Writer
	n    uint32
	left int
}

// endless is a capture of so many bytes.
func endless(size int) []Source {
	g := &generator{left: size}
	g.w = blktrace.NewWriter(func(uint32) (io.Writer, error) { return &g.buf, nil })
	return []Source{{Name: "endless", From: g}}
}

func (g *generator) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	for g.buf.Len() < min(len(p), g.left) {
		g.n++
		r := blktrace.Record{Time: uint64(g.n) * 1000, Device: blktrace.DeviceNumber(8, g.n%3), Sector: uint64(g.n) * 8,
			Bytes: 4096 << (g.n % 9), PID: g.n}
		for _, a := range []blktrace.Action{blktrace.Queue, blktrace.GetRequest, blktrace.Issue} {
			r.Action = a | blktrace.CatRead
			if err := errors.Join(g.w.Write(&r), g.w.Flush()); err != nil {
				return 0, err
			}
		}
	}
	n, err := g.buf.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

// Processes without end, and requests without completion, take no more memory
// than their limits.
func TestMemoryIsBounded(t *testing.T) {
	const size = 48 << 20 // a million records, of 350,000 requests
	var largest uint64
	next := int64(0)
	a, err := Analyze(t.Context(), endless(size), Options{Progress: func(done, _ int64) {
		if done < next {
			return
		}
		next += size / 8
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		largest = max(largest, m.HeapAlloc)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if largest > 64<<20 {
		t.Errorf("%d MiB are in use", largest>>20)
	}
	t.Logf("%d MiB", largest>>20)
	missing := strings.Join(a.Missing, "\n")
	for _, want := range []string{"too many to distinguish all", fmt.Sprintf("more than %d at once", maxInFlight)} {
		if !strings.Contains(missing, want) {
			t.Errorf("%q is not among\n%s", want, missing)
		}
	}
	if owners := a.By(iotrace.ByOwner); len(owners) > maxOwners || len(a.Cells) > maxCells+100 {
		t.Errorf("%d owners, %d cells", len(owners), len(a.Cells))
	}
}

func TestNamesOfDevices(t *testing.T) {
	for name, want := range map[string]string{"sda": "sda", "": "8:0"} {
		sources := []Source{{Name: "file", From: bytes.NewReader(capture(t, twoReads))}}
		a, err := Analyze(t.Context(), sources, Options{DeviceName: func(major, minor uint32) string {
			if major != 8 || minor != 0 {
				t.Errorf("asked for %d:%d", major, minor)
			}
			return name
		}})
		if err != nil {
			t.Fatal(err)
		}
		if d := a.Devices[0]; d.Name != want || d.MajMin != "8:0" || a.Cells[0].Device != want {
			t.Errorf("%+v", d)
		}
	}
}

// The depth is 1 for 3 us, 2 for 3, 1 for 1, of 9 in all; and one of two begins
// where none ended.
func TestDepthAndSeries(t *testing.T) {
	a, err := Analyze(t.Context(),
		[]Source{{Name: "file",
			From: bytes.NewReader(capture(t, twoReads+"\n11 Q 8:0 R 208+8\n12 D 8:0 R 208+8\n1500000 C 8:0 R 208+8"))}},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := a.Devices[0]
	span := 1500000.0 - 1
	if want := (3*1 + 3*2 + 1*1 + (1500000.0 - 12)) / span; d.MaxDepth != 2 || d.Depth < want*(1-1e-9) ||
		d.Depth > want*(1+1e-9) {
		t.Errorf("depth %v, want %v; at most %d", d.Depth, want, d.MaxDepth)
	}
	if d.Sequential != 1.0/3 {
		t.Errorf("%v of the reads are sequential", d.Sequential)
	}
	if len(d.Seconds) != 2 {
		t.Fatalf("%+v", d.Seconds)
	}
	first, second := d.Seconds[0], d.Seconds[1]
	if first.At != 0 || first.Requests[iotrace.Read] != 2 || first.Bytes[iotrace.Read] != 8192 || first.Q2CNS != 7000 ||
		first.D2CNS != 5000 {
		t.Errorf("%+v", first)
	}
	if second.At != 1 || second.Requests[iotrace.Read] != 1 || second.Depth != 1 || second.D2CNS != 1499988000 {
		t.Errorf("%+v", second)
	}
}
