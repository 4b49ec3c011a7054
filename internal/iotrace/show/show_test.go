package show

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/report"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/synthetic"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// print prints a trace as commands do, with tables of all intervals by a dimension.
func print(b *bytes.Buffer, a *iotrace.Account, width int, by Dimension) error {
	return report.AnswerText(b, report.Answer{Kind: "trace of t.blktrace.0 and 1 more", Title: Title, Meta: Meta(a),
		Sections: Sections(a, by)}, false, report.TerminalOptions{Width: width})
}

func printed(t *testing.T, a *iotrace.Account, width int, by Dimension) string {
	t.Helper()
	var b bytes.Buffer
	must(t, print(&b, a, width, by))
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"trace-80.golden.txt": func(b *bytes.Buffer) error {
			return print(b, synthetic.Account(), 80, ByDevice)
		},
		"trace-120.golden.txt": func(b *bytes.Buffer) error {
			return print(b, synthetic.Account(), 120, ByDevice)
		},
		"trace-nvme.golden.txt": func(b *bytes.Buffer) error {
			return print(b, synthetic.NVMe(), 120, ByOp)
		},
		"trace-target.golden.txt": func(b *bytes.Buffer) error {
			return print(b, synthetic.Target(), 120, ByDevice)
		},
		"trace.golden.json": func(b *bytes.Buffer) error { return JSON(b, synthetic.NVMe()) },
		"trace.golden.csv":  func(b *bytes.Buffer) error { return CSV(b, synthetic.NVMe(), ByProcess) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			must(t, write(&b))
			path := filepath.Join("testdata", name)
			if *update {
				must(t, os.WriteFile(path, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", path, b.String())
			}
		})
	}
}

// What is written does not depend on the order in which maps are walked.
func TestIsDeterministic(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return print(b, synthetic.Account(), 80, ByProcess) },
		"JSON":     func(b *bytes.Buffer) error { return JSON(b, synthetic.Account()) },
		"CSV":      func(b *bytes.Buffer) error { return CSV(b, synthetic.Account()) },
	} {
		var first, again bytes.Buffer
		must(t, write(&first))
		for range 3 {
			again.Reset()
			must(t, write(&again))
			if !bytes.Equal(first.Bytes(), again.Bytes()) {
				t.Errorf("%s differs from time to time", name)
			}
		}
	}
}

// The parts of Q2C are all of it, however few of them are known.
func TestPartsAreTheWhole(t *testing.T) {
	sample := sumOf(synthetic.Account())
	drop := func(r row, gone ...iotrace.Interval) row {
		for _, i := range gone {
			r.Intervals[i] = nil
		}
		return r
	}
	flushed := synthetic.Account() // by the kernel, for the sake of a write
	flush := iotrace.Cell{Key: iotrace.Key{Device: flushed.Devices[0].Name, Op: iotrace.Flush}, Requests: 1}
	flush.Intervals[iotrace.D2C] = new(iotrace.Dist)
	flush.Intervals[iotrace.D2C].Add(1e12)
	flushed.Cells = append(flushed.Cells, flush)
	inKernel := synthetic.NVMe() // of requests, beside whose first bios others were merged
	times := func(ns uint64) *iotrace.Dist {
		d := new(iotrace.Dist)
		for range 2 * inKernel.Cells[0].Requests {
			d.Add(ns)
		}
		return d
	}
	inKernel.Cells[0].Intervals[iotrace.Q2M], inKernel.Cells[0].Intervals[iotrace.M2D] = times(1e6), times(1e6)
	for name, c := range map[string]struct {
		row   row
		parts []string
	}{
		"merged bios apart":   {sumOf(inKernel), []string{"Q2D", "D2N", "N2C"}},
		"with nobody's flush": {sumOf(flushed), []string{"Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C"}},
		"with merges":         {sample, []string{"Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C"}},
		"the driver is seen":  {sumOf(synthetic.NVMe()), []string{"Q2D", "D2N", "N2C"}},
		"D is not seen": {drop(sumOf(synthetic.NVMe()), iotrace.D2N, iotrace.N2C, iotrace.D2C, iotrace.Q2D),
			[]string{"rest"}},
		"I is not seen": {drop(sample, iotrace.G2I, iotrace.I2D), []string{"Q2G", "Q2M", "M2D", "G2D", "D2C"}},
		"Q is not seen": {drop(sample, iotrace.Q2C), nil},
		"nothing":       {row{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			share, mean := 0.0, 0.0
			for _, p := range partsOf(c.row) {
				names = append(names, p.Name)
				share += p.Share
				mean += p.MeanNS
			}
			if !slices.Equal(names, c.parts) {
				t.Errorf("parts %v, want %v", names, c.parts)
			}
			if want := c.row.Intervals[iotrace.Q2C].MeanNS(); c.parts != nil &&
				(math.Abs(share-1) > leastRest || math.Abs(mean/want-1) > leastRest) {
				t.Errorf("the parts are %v of the whole, and %v of %v ns", share, mean, want)
			}
		})
	}
}

// A device that passes everything on is told of by itself alone, where those
// that it passes it on to are there.
func TestCountsOnce(t *testing.T) {
	a := synthetic.Account() // 254:0 gets remapped bios
	top := iotrace.Cell{Key: iotrace.Key{Device: "dm-0", Size: 4096}, Requests: 500}
	top.Intervals[iotrace.Q2C] = new(iotrace.Dist)
	top.Intervals[iotrace.Q2C].Add(1e6)
	a.Cells, a.Devices = append(a.Cells, top), append(a.Devices, iotrace.Device{Name: "dm-0", Requests: 500})
	only, passing := issuers(a)
	if !slices.Equal(passing, []string{"dm-0"}) || len(only.Devices) != 2 || len(rowsBy(a, ByDevice)) != 3 ||
		sumOf(a).Requests != sumOf(synthetic.Account()).Requests {
		t.Errorf("without %v there are %d devices, and %d requests", passing, len(only.Devices), sumOf(a).Requests)
	}
	contains := "without dm-0: what they get, they pass on"
	if out := printed(t, a, 200, ByDevice); !strings.Contains(out,
		contains) {
		t.Errorf("it does not say %q", contains)
	}
	for i := range a.Devices {
		a.Devices[i].Remaps = 0
	}
	if _, passing := issuers(a); passing != nil || sumOf(a).Requests != sumOf(synthetic.Account()).Requests+500 {
		t.Errorf("%v pass requests on, and nobody gets any", passing)
	}
}

// What a target is asked for, it asks its device for: that is counted once, and
// told by namespace and operation.
func TestOfATargetCountsOnce(t *testing.T) {
	a := synthetic.Target()
	if _, passing := issuers(a); !slices.Equal(passing, []string{"nvmet:nvme0n1"}) {
		t.Errorf("%v pass requests on", passing)
	}
	var b bytes.Buffer
	must(t, JSON(&b, a))
	var document struct {
		Target []struct {
			Device, Key string
			NSID        uint32
			Requests    uint64
			Intervals   map[string]any
			Parts       []any
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &document))
	var is []string
	for _, e := range document.Target {
		is = append(is, fmt.Sprint(e.Device, e.NSID, e.Key, e.Requests, len(e.Intervals), len(e.Parts)))
	}
	if want := []string{"nvmet:nvme0n11read4000 3 0", "nvmet:nvme0n11write1000 3 0",
		"nvmet:disk.img2read700 1 0"}; !slices.Equal(is, want) {
		t.Errorf("%q, want %q", is, want)
	}
}

// A bar has the whole of Q2C.
func TestPartsBar(t *testing.T) {
	for _, r := range append(rowsBy(synthetic.Account(), ByOp), sumOf(synthetic.NVMe())) {
		cell, share := partsBar(partsOf(r)), 0.0
		for _, slice := range cell.Bar.Slices {
			share += slice.Share
			if slice.Letter == "?" {
				t.Errorf("%s: %s has a part that no key explains", r.Label, cell)
			}
		}
		if math.Abs(share-1) > leastRest {
			t.Errorf("%s: %s is %v of the whole", r.Label, cell, share)
		}
	}
	if cell := partsBar(nil); cell != (section.Cell{}) {
		t.Errorf("of nothing there is a bar: %v", cell)
	}
}

func TestTerminalBearsAnything(t *testing.T) {
	bad := synthetic.Account()
	bad.Missing = []string{"CPU 1 has no file: t.blktrace.1", "no C: \x1b[31m"}
	bad.Lost = 12
	for i := range bad.Cells {
		bad.Cells[i].Owner.Command = "x\x1b[2J\n" + strings.Repeat("long", 60)
		bad.Cells[i].Owner.Call = i%2 == 0
	}
	bad.Devices[0].Depth, bad.Devices[0].Sequential = math.NaN(), math.Inf(1)
	for name, a := range map[string]*iotrace.Account{"bad": bad, "nothing": {},
		"no cells": {Recorder: "BPF", Devices: []iotrace.Device{{Name: "vda"}}}} {
		for _, dimension := range Dimensions {
			for _, width := range []int{0, 40, 80, 200} {
				out := printed(t, a, width, dimension)
				if strings.Contains(out, "\x1b") || strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
					t.Errorf("%s, %d columns, by %s:\n%s", name, width, dimension, out)
				}
			}
			var b bytes.Buffer
			must(t, JSON(&b, a))
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s: no JSON: %s", name, b.String())
			}
		}
	}
	out := printed(t, bad, 80, ByDevice)
	for _, want := range []string{"12 events were lost", "CPU 1 has no file"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// What CSV and JSON hold adds up to what cells hold, in every dimension.
func TestRowsHoldAll(t *testing.T) {
	a := synthetic.Account()
	var b bytes.Buffer
	must(t, CSV(&b, a))
	records, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	if !slices.Equal(records[0], columns) {
		t.Fatalf("heading %v", records[0])
	}
	sums := map[string]uint64{}
	for _, r := range records[1:] {
		if r[4] == "Q2C" {
			requests, err := strconv.ParseUint(r[2], 10, 64)
			must(t, err)
			count, err := strconv.ParseUint(r[5], 10, 64)
			must(t, err)
			sums[r[0]] += count
			if count != requests {
				t.Errorf("%v: %d requests have %d Q2C", r, requests, count)
			}
		}
	}
	want := uint64(12000 + 3100 + 20000 + 9000 + 210 + 190)
	for _, d := range append(Dimensions, total) {
		if sums[string(d)] != want {
			t.Errorf("by %s there are %d requests, want %d", d, sums[string(d)], want)
		}
	}
}

// docs/reference/formats/trace.md tells of every field of the document and every column.
func TestIsDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/reference/formats/trace.md")
	must(t, err)
	documented := map[string]bool{}
	for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(string(docs), -1) {
		documented[strings.Trim(code, "`")] = true
	}
	names := append(slices.Clone(columns), strings.Split(strings.TrimSpace(requestHead), ",")...)
	seen := map[reflect.Type]bool{}
	var collect func(reflect.Type)
	collect = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for _, field := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				names = append(names, name)
			}
			collect(field.Type)
		}
	}
	collect(reflect.TypeFor[document]())
	if len(names) < 80 {
		t.Errorf("only %d names were looked at", len(names))
	}
	for _, name := range names {
		if !documented[name] {
			t.Errorf("docs/reference/formats/trace.md does not report %s", name)
		}
	}
}

func TestRequests(t *testing.T) {
	var b bytes.Buffer
	rows := NewRequests(&b)
	for _, io := range []iotrace.IO{
		{Device: "loop0", Op: iotrace.Write, Sector: 8, Bytes: 4096, CPU: 1, Q: 0, G: 5, I: -1, M: -1, D: 9, N: -1, C: 120,
			Owner: iotrace.Owner{PID: 7, Command: `a "b", c`, Cgroup: 3, Path: "/x,y", Container: "db"}, Merged: 2, Requeued: 1,
			Error: -5},
		{Device: "8:16", Op: iotrace.Flush, Q: -1, G: -1, I: -1, M: -1, D: 1, N: 2, C: -1, Owner: iotrace.Owner{Cgroup: 44}},
	} {
		must(t, rows.Write(&io))
	}
	must(t, rows.Flush())
	records, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	want := [][]string{
		strings.Split(strings.TrimSpace(requestHead), ","),
		{"loop0", "write", "8", "4096", "1", "7", `a "b", c`, "/x,y", "db", "0", "5", "", "", "9", "", "120", "2", "1", "-5"},
		{"8:16", "flush", "0", "0", "0", "", "", "44", "", "", "", "", "", "1", "2", "", "0", "0", "0"},
	}
	for i, r := range records {
		if !slices.Equal(r, want[i]) {
			t.Errorf("row %d is %q, want %q", i, r, want[i])
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	rows := NewRequests(discard{})
	io := iotrace.IO{Device: "loop0", Sector: 1234567, Bytes: 4096, Q: 123456789, G: 123457789, I: -1, M: -1, D: 123458789,
		N: -1, C: 123558789, Owner: iotrace.Owner{PID: 4711, Command: "fio"}}
	for b.Loop() {
		_ = rows.Write(&io)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// What is withheld is in no form of the report: neither as 0 nor as a guess.
func TestWithheldIsLeftOut(t *testing.T) {
	a := synthetic.Account()
	d := &a.Devices[0]
	d.Withheld = []iotrace.Quantity{iotrace.QuantityDepth, iotrace.QuantityMaxDepth, iotrace.QuantitySequential,
		iotrace.QuantityQ2Q}
	d.Retired = 312
	a.MissingCPUs = []int{3}
	a.Missing = []string{d.Name + ": its depth is left out"}
	var b bytes.Buffer
	must(t, JSON(&b, a))
	var document struct {
		MissingCPUs []int `json:"missing_cpus"`
		Devices     []map[string]any
	}
	must(t, json.Unmarshal(b.Bytes(), &document))
	first, second := document.Devices[0], document.Devices[1]
	for _, key := range []string{"depth", "max_depth", "sequential"} {
		if _, has := first[key]; has {
			t.Errorf("%s is shown: %v", key, first[key])
		}
		if _, has := second[key]; !has {
			t.Errorf("%s of the other device is not shown", key)
		}
	}
	if first["retired"] != 312.0 || len(first["withheld"].([]any)) != 4 || len(document.MissingCPUs) != 1 {
		t.Errorf("%v, CPUs %v", first, document.MissingCPUs)
	}
	if strings.Contains(b.String()[:strings.Index(b.String(), `"majmin"`)+2000], `"depth": 23.4`) {
		t.Error("its depth is shown")
	}
	known := knownOf(a, *d)
	if known.depth || known.maxDepth || known.sequential {
		t.Errorf("text and page show %+v", known)
	}
	for _, f := range overTime(a).Figures {
		if strings.HasPrefix(f.Title, d.Name+", depth") {
			t.Error("its depth is drawn")
		}
	}
}
