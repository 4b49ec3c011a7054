package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

var update = flag.Bool("update", false, "write the golden files anew")

// run has one trial of each fate: done on two devices, done from memory
// without any, failed, skipped, planned.
func run() *result.Run {
	latency := func(ns uint64) hist.Histogram {
		return hist.Histogram{Count: 2000, MeanNS: float64(ns) * 1.5, MinNS: ns / 2, MaxNS: ns * 10,
			Bins: hist.Pack([]hist.Bin{
				{NS: ns / 2, Count: 100}, {NS: ns, Count: 1800}, {NS: ns * 2, Count: 60}, {NS: ns * 3, Count: 35},
				{NS: ns * 5, Count: 4}, {NS: ns * 10, Count: 1},
			})}
	}
	reads := result.Operation{Count: 1000, Bytes: 4096000, Rate: 500.5, BytesPerSecond: 2050048,
		Latency: map[result.Stage]hist.Histogram{result.Submission: latency(2000), result.Completion: latency(100000),
			result.Total: latency(102000)}}
	ratio, zero := 1.02, 0.0
	loop, disk := result.Device{Name: "loop0", MajMin: "7:0", Role: "top"},
		result.Device{Name: "vda", MajMin: "254:0", Role: "bottom"}
	began := time.Date(2026, 5, 12, 9, 30, 0, 250000000, time.UTC)
	trial := func(seq int, stack string, status result.TrialStatus) result.Trial {
		return result.Trial{Seq: seq, Block: 1, Repeat: 1, Stack: stack, Mix: "RR", Status: status}
	}
	done := trial(1, "xfs", result.TrialDone)
	done.Started, done.ElapsedSeconds, done.Artifacts = began, 3.25, "artifacts/001-xfs-RR-1"
	done.Instances = result.One(&result.Measurement{Seconds: 2, UserCPU: 0.05, SystemCPU: 0.25,
		Operations: result.ReadsWrites(reads, result.Operation{})})
	done.Checks = []result.Honesty{{Source: result.SourceDevice, Reason: "fio issued 1000 reads, vda counted 1020",
		Ratio: &ratio, Served: []result.DeviceCounter{
			{Device: loop, Reads: 1000, ReadBytes: 4096000, PerIO: 1},
			{Device: disk, Reads: 1020, Writes: 3, ReadBytes: 4177920, WriteBytes: 12288, PerIO: 1.023},
		}}}
	block := latency(9000)
	done.Trace = &result.Trace{
		Recorder: "BPF", Missing: []string{"read: nothing"},
		Read: &result.Breakdown{
			IOs: 1000, Bytes: 4096000, TotalNS: 153000, ResidueNS: -1500, PerIO: 1.5, BytesPerIO: 6144, EntryNS: 6000,
			ReturnNS: 2000,
			Parts: []result.TracePart{
				{Name: result.PartUser, MeanNS: 1500.5, From: "submission less the system call"},
				{Name: result.PartKernel, MeanNS: 8000, From: "S2Q + C2R"},
				{Name: result.PartBlock, MeanNS: 13500, From: "Q2D", Latency: &block},
				{Name: result.PartDevice, MeanNS: 131499.5, From: "D2C"},
			},
		},
		Served: []result.Served{{Device: "loop0", Owner: "application", Application: true, Op: "read", Requests: 1500,
			Bytes: 6144000}},
	}
	memory := trial(2, "tmpfs", result.TrialDone)
	memory.Started, memory.ElapsedSeconds = began.Add(4*time.Second), 2.5
	memory.Untraced = "the kernel has no BPF"
	memory.Instances = result.One(&result.Measurement{Seconds: 2,
		Operations: result.ReadsWrites(reads, result.Operation{})})
	memory.Checks = []result.Honesty{{Source: result.SourceMemory, Reason: "no device holds the bytes", Ratio: &zero}}
	failed := trial(3, "btrfs, \"quoted\"", result.TrialFailed)
	failed.Started, failed.ElapsedSeconds = began.Add(8*time.Second), 0.5
	failed.Problem = &problem.Problem{What: "fio on btrfs", Why: "killed", Remedy: "more memory"}
	skipped := trial(4, "zfs", result.TrialSkipped)
	skipped.Problem = &problem.Problem{What: "zfs", Why: "the kernel has no zfs"}
	return &result.Run{
		Schema: 1, ID: "mini-20260512-093000.000", Version: "0.1.0", Command: []string{"plimsoll", "run", "mini.yaml"},
		Status: result.RunInterrupted,
		Seed:   7, Started: began.Add(-time.Second), Finished: began.Add(10 * time.Second),
		Experiment: result.Experiment{Name: "mini", Question: "Which?", Baseline: "xfs", Repeat: 1,
			Source: "name: mini\n", File: "mini.yaml", RuntimeSeconds: 2},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0", CPUs: 2, MemoryBytes: 24 << 30},
		Stacks: []result.Stack{
			{Name: "xfs", Line: "loop(size=1GiB) > xfs", Marks: []result.Mark{result.MarkLoop},
				Devices: []result.Device{loop, disk}},
			{Name: "tmpfs", Line: "tmpfs(size=1GiB)", Marks: []result.Mark{result.MarkMemory, result.MarkShared}},
			{Name: "btrfs, \"quoted\"", Line: "loop(size=1GiB) > btrfs"},
			{Name: "zfs", Line: "loop(size=1GiB) > zfs"},
		},
		Workloads: []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread"}},
		Trials:    []result.Trial{done, memory, failed, skipped, trial(5, "zfs", result.TrialPlanned)},
	}
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"run.json":   func(b *bytes.Buffer) error { return JSON(b, run()) },
		"run.ndjson": func(b *bytes.Buffer) error { return NDJSON(b, run()) },
		"run.csv":    func(b *bytes.Buffer) error { return CSV(b, run()) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", path, b.String())
			}
		})
	}
}

// A document is the run but for its histograms: read as a result.Run, it is
// the same with the bins gone.
func TestDocumentIsTheRun(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, run()); err != nil {
		t.Fatal(err)
	}
	var got result.Run
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := run()
	for i := range want.Trials {
		if m := want.Trials[i].Measured(); m != nil {
			for i := range m.Operations {
				for stage, l := range m.Operations[i].Latency {
					l.Bins = hist.Bins{}
					m.Operations[i].SetLatency(stage, l)
				}
			}
		}
	}
	for _, p := range want.Trials[0].Trace.Read.Parts {
		if p.Latency != nil {
			p.Latency.Bins = hist.Bins{}
		}
	}
	if !reflect.DeepEqual(got, *want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, *want)
	}
	if bytes.Contains(b.Bytes(), []byte(`"bins"`)) {
		t.Error("the document holds histograms")
	}
}

func TestPercentiles(t *testing.T) {
	if p := NewPercentiles(hist.Bins{}, 0); p != nil {
		t.Errorf("no histogram has percentiles %+v", p)
	}
	var bins []hist.Bin
	for i := range uint64(10001) {
		bins = append(bins, hist.Bin{NS: i + 1, Count: 1})
	}
	for count, want := range map[uint64]string{
		19:      "",
		20:      "5001",
		999:     "5001 9001 9501",
		1_000:   "5001 9001 9501 9901",
		9_999:   "5001 9001 9501 9901",
		10_000:  "5001 9001 9501 9901 9991",
		100_000: "5001 9001 9501 9901 9991 10000",
	} {
		var got []string
		if p := NewPercentiles(hist.Pack(bins), count); p != nil {
			for _, ns := range []*uint64{p.P50, p.P90, p.P95, p.P99, p.P999, p.P9999} {
				if ns != nil {
					got = append(got, fmt.Sprint(*ns))
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %d values %v are known, want %q", count, got, want)
		}
	}
}

// Every record of the CSV has all columns, and what was not measured is
// empty while a measured 0 is 0.
func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, run()); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cell := func(row int, column string) string {
		for i, name := range records[0] {
			if name == column {
				return records[row][i]
			}
		}
		t.Fatalf("no column %s", column)
		return ""
	}
	for _, c := range []struct {
		row          int
		column, want string
	}{
		{1, "rate", "500.5"}, {1, "read_total_p50_ns", "102000"}, {1, "read_total_p99_ns", "306000"},
		{1, "read_total_p99_9_ns", ""}, // of 2,000
		{1, "device2_reads", "1020"},
		{1, "trace_read_block_ns", "13500"}, {1, "trace_read_fabric_ns", ""}, {1, "trace_read_residue_ns", "-1500"},
		{1, "trace_write_residue_ns", ""},
		{2, "untraced", "the kernel has no BPF"}, {2, "trace_lost", ""}, {3, "trace_read_user_ns", ""},
		{1, "read_count", "1000"}, {1, "read_errors", "0"}, {1, "instance", "0"}, {1, "device1_writes", "0"},
		{2, "device_ios_per_fio_io", "0"}, {2, "device1_reads", ""}, {2, "source", "memory"},
		{2, "marks", "served from memory; shared directory"},
		{3, "stack", `btrfs, "quoted"`}, {3, "rate", ""}, {3, "reason", "fio on btrfs: killed"}, {3, "source", ""},
		{3, "elapsed_seconds", "0.5"},
		{4, "status", "skipped"}, {4, "started", ""}, {4, "elapsed_seconds", ""}, {5, "status", "planned"},
		{5, "device_ios_per_fio_io", ""},
	} {
		if got := cell(c.row, c.column); got != c.want {
			t.Errorf("row %d, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
}

// What documents hold is described in three pages of docs/reference/formats, name by name.
func TestDocumented(t *testing.T) {
	var docs strings.Builder
	for _, page := range []string{"results", "run", "findings"} {
		text, err := os.ReadFile("../../../docs/reference/formats/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		docs.Write(text)
	}
	version := fmt.Sprintf("version of what is described here: **%d**", result.SchemaVersion)
	if !strings.Contains(docs.String(), version) {
		t.Errorf("docs/reference/formats/results.md does not say %q", version)
	}
	documented := map[string]bool{}
	for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(docs.String(), -1) {
		documented[strings.Trim(code, "`")] = true
	}
	var check func(typ reflect.Type)
	seen := map[reflect.Type]bool{}
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() == "time" || seen[typ] {
			return
		}
		seen[typ] = true
		for _, field := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" {
				continue // stored apart: histograms, and series
			}
			if name != "" && !documented[name] {
				t.Errorf("docs/reference does not describe %s (%s)", name, typ)
			}
			check(field.Type)
		}
	}
	check(reflect.TypeFor[Document]())
	check(reflect.TypeFor[Row]())
	if len(seen) < 15 {
		t.Errorf("only %d types were looked at; the test shows nothing", len(seen))
	}
}
