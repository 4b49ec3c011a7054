package fio

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
)

func readLog(t *testing.T, name string) *Log {
	t.Helper()
	n, ok := ParseLogName(name)
	if !ok {
		t.Fatalf("%s is no name of a log", name)
	}
	log, problems := ReadLog(n, foreignFileNamed(t, name))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return log
}

// bins are fio's: those of every recorded histogram, and the width of each.
func TestBinsAreThoseOfFio(t *testing.T) {
	seen := 0
	for _, name := range []string{"libaio-randrw", "libaio-randwrite", "psync-randread", "io_uring-write"} {
		m, err := readOutput(reader{}, recorded(t, name), workload.Exit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []result.Operation{m.Operation(result.Read), m.Operation(result.Write)} {
			for _, b := range slices.Concat(d.Latency[result.Submission].Bins.Unpack(),
				d.Latency[result.Completion].Bins.Unpack(), d.Latency[result.Total].Bins.Unpack()) {
				seen++
				if got := binValue(binIndex(b.NS)); got != b.NS {
					t.Errorf("fio has a bin %d, here it falls into that of %d", b.NS, got)
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d bins were there to be checked", seen)
	}
	next := uint64(0)
	for i := range binCount {
		low, width := binRange(i)
		if low != next || width == 0 {
			t.Fatalf("bin %d begins at %d, the one before ends at %d", i, low, next)
		}
		next = low + width
	}
}

// A value lies in its bin, which is at most 1/64 of it wide.
func TestBinIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Uint64Range(0, 1<<34-1).Draw(t, "ns")
		low, width := binRange(binIndex(ns))
		if ns < low || ns >= low+width || width > 1 && width*64 > ns {
			t.Fatalf("%d falls into the bin from %d, %d wide", ns, low, width)
		}
	})
	if binIndex(math.MaxUint64) != binCount-1 {
		t.Error("what is beyond does not fall into the last bin")
	}
}

// A log with a line for each I/O gives the very distribution that fio printed.
func TestLogOfEachIO(t *testing.T) {
	text := foreignFileNamed(t, "each.json")
	m := readOne(t, text).Measurement
	for name, stage := range map[string]result.Stage{
		"each_slat.1.log": result.Submission,
		"each_clat.1.log": result.Completion,
		"each_lat.1.log":  result.Total,
	} {
		log := readLog(t, name)
		for _, d := range []struct {
			got  LogCounts
			want result.Operation
		}{{log.Read, m.Operation(result.Read)}, {log.Write, m.Operation(result.Write)}} {
			got, want := d.got.Latency, d.want.Latency[stage]
			if got.Bins != want.Bins || got.Count != want.Count || got.MinNS != want.MinNS ||
				got.MaxNS != want.MaxNS || !near(got.MeanNS, want.MeanNS) {
				t.Errorf("%s: %+v\nfio says %+v", name, got, want)
			}
			if uint64(d.got.IOs) != d.want.Count || uint64(d.got.Bytes) != d.want.Bytes {
				t.Errorf("%s: %v I/Os, %v bytes; fio says %d and %d", name, d.got.IOs, d.got.Bytes, d.want.Count, d.want.Bytes)
			}
		}
		if !log.PerIO || m.Operation(result.Read).Count == 0 || m.Operation(result.Write).Count == 0 {
			t.Errorf("%s: a line for each I/O: %v", name, log.PerIO)
		}
	}
	if log := readLog(t, "each_iops.1.log"); !log.PerIO || uint64(log.Read.IOs) != m.Operation(result.Read).Count ||
		uint64(log.Read.Bytes) != m.Operation(result.Read).Bytes || log.Read.Latency.Count != 0 {
		t.Errorf("IOPS of each I/O: %+v", log.Read)
	}
	if log := readLog(t, "each_bw.1.log"); log.Read.IOs != 0 || log.Read.Bytes != 0 {
		t.Errorf("a bandwidth log counts nothing, but %+v", log.Read)
	}
}

// Percentiles of a histogram log are those that fio printed of the same I/Os,
// but for the last window, which the log does not have: they lie within the
// width of a bin. With bins merged, within the width of those.
func TestHistogramLog(t *testing.T) {
	for _, c := range []struct {
		json, log string
		merged    uint64
	}{{"logs.json", "logs_clat_hist.1.log", 1}, {"coarse.json", "coarse_clat_hist.1.log", 8}} {
		log := readLog(t, c.log)
		text := foreignFileNamed(t, c.json)
		m := readOne(t, text).Measurement
		if uint64(log.BinsMerged) != c.merged {
			t.Errorf("%s: %d bins merged", c.log, log.BinsMerged)
		}
		for name, d := range map[string]struct {
			got     LogCounts
			printed result.Operation
		}{"read": {log.Read, m.Operation(result.Read)}, "write": {log.Write, m.Operation(result.Write)}} {
			if d.printed.Count == 0 {
				continue
			}
			checked := 0
			for p, want := range saidOf(t, jobsOf(t, text)[0], name).Clat.Percentiles {
				q, _ := strconv.ParseFloat(p, 64)
				got, ok := hist.Percentile(d.got.Latency.Bins, q)
				if !ok || q > 99 {
					continue // a few I/Os of the last window decide
				}
				checked++
				_, width := binRange(binIndex(want))
				if diff := math.Abs(float64(got) - float64(want)); diff > float64(width*c.merged) {
					t.Errorf("%s: percentile %s of %ss is %d, fio printed %d; a bin is %d wide", c.log, p, name, got,
						want, width*c.merged)
				}
			}
			if checked < 10 {
				t.Errorf("only %d percentiles were checked", checked)
			}
			share := float64(d.got.Latency.Count) / float64(d.printed.Latency[result.Completion].Count)
			if share < 0.9 || share > 1 {
				t.Errorf("%s has %.2f of the I/Os", c.log, share)
			}
			if c.merged > 1 {
				continue
			}
			// Bin by bin, the log never has more than fio's whole histogram.
			whole := map[uint64]uint64{}
			for b := range d.printed.Latency[result.Completion].Bins.All() {
				whole[b.NS] = b.Count
			}
			for b := range d.got.Latency.Bins.All() {
				if b.Count > whole[b.NS] {
					t.Errorf("%s: %d latencies in bin %d, fio has %d", c.log, b.Count, b.NS, whole[b.NS])
				}
			}
			if d.got.Bytes != d.got.IOs*4096 {
				t.Errorf("%s: %v bytes of %v I/Os", c.log, d.got.Bytes, d.got.IOs)
			}
		}
	}
}

// Averages over windows give the rates that fio printed, nearly: the last
// window is not in the log.
func TestLogOfWindows(t *testing.T) {
	m := readOne(t, foreignFileNamed(t, "logs.json")).Measurement
	iops, bw := readLog(t, "logs_iops.1.log"), readLog(t, "logs_bw.1.log")
	for _, d := range []struct {
		iops, bw LogCounts
		want     result.Operation
	}{{iops.Read, bw.Read, m.Operation(result.Read)}, {iops.Write, bw.Write, m.Operation(result.Write)}} {
		if rate := d.iops.IOs / d.iops.Seconds; math.Abs(rate/d.want.Rate-1) > 0.1 {
			t.Errorf("%v IOPS, fio says %v", rate, d.want.Rate)
		}
		if rate := d.bw.Bytes / d.bw.Seconds; math.Abs(rate/d.want.BytesPerSecond-1) > 0.1 {
			t.Errorf("%v bytes/s, fio says %v", rate, d.want.BytesPerSecond)
		}
		if d.iops.Bytes != 0 || d.bw.IOs != 0 {
			t.Error("a log shows what it does not have")
		}
	}
	for _, name := range []string{"logs_lat.1.log", "logs_clat.1.log", "logs_slat.1.log"} {
		if log := readLog(t, name); log.PerIO || log.Read.IOs != 0 || log.Read.Latency.Count != 0 || log.Read.Lines < 5 {
			t.Errorf("%s: averages of latencies have no distribution, but %+v", name, log.Read)
		}
	}
}

func TestParseLogName(t *testing.T) {
	for name, want := range map[string]LogName{
		"job_bw.1.log":                {Prefix: "job", Kind: LogBandwidth, Thread: 1},
		"a/b/my_job_clat_hist.12.log": {Prefix: "my_job", Kind: LogHistogram, Thread: 12},
		"job_lat.log":                 {Prefix: "job", Kind: LogTotal},
		"job_clat.3.log.host-a":       {Prefix: "job", Kind: LogCompletion, Thread: 3, Host: "host-a"},
		"_iops.1.log":                 {Kind: LogIOPS, Thread: 1},
	} {
		if got, ok := ParseLogName(name); !ok || got != want {
			t.Errorf("%s is %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"fio.json", "job.log", "job_bw.1.log.fz/x", "job_bw.x.log", "job_bw.1.txt", ""} {
		if got, ok := ParseLogName(name); ok {
			t.Errorf("%s is %+v", name, got)
		}
	}
}

// What ReadLog makes of lines that fio writes in other versions and settings.
func TestLogShapes(t *testing.T) {
	read := func(kind LogKind, text string) *Log {
		log, problems := ReadLog(LogName{Prefix: "x", Kind: kind, Thread: 1}, []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return log
	}
	if log := read(LogTotal, "5, 1000, 0, 4096\n1005, 3000, 0, 4096\n"); log.Read.IOs != 2 ||
		log.Read.Seconds != 1.005 || log.Read.Latency.MeanNS != 2000 {
		t.Errorf("without offsets: %+v", log.Read)
	}
	if log := read(LogTotal, "5, 1000, 0, 4096, 0, 0x0000, 123456\n7, 3000, 1, 4096, 8192, 0x2001, 123457\n9, 1, 2, "+
		"4096, 0, 0x0, 1\n"); log.Read.IOs != 1 || log.Write.IOs != 1 || log.Trims != 1 {
		t.Errorf("with priority and issue time: %+v", log)
	}
	if log := read(LogIOPS, "1795250507950, 100, 0, 0, 0\n1795250508950, 300, 0, 0, 0\n"); log.Read.Seconds != 2 ||
		log.Read.IOs != 400 {
		t.Errorf("with the time since 1970: %+v", log.Read)
	}
	if log := read(LogTotal, "1795251992700, 5, 0, 4096\n1795251994700, 5, 0, 4096\n"); log.Read.Seconds != 2 {
		t.Errorf("each I/O with the time since 1970: %+v", log.Read)
	}
	if log := read(LogIOPS, "500, 100, 0, 4096, 0\n1000, 300, 0, 4096, 0\n"); log.PerIO || log.Read.IOs != 200 {
		t.Errorf("averages with a block size: %+v", log.Read)
	}
	if log, _ := ReadLog(LogName{Kind: LogIOPS}, []byte("500, 100, 0, 0, 0\n500, 300, 0, 0, 0\n")); log.Read.IOs != 0 {
		t.Errorf("nobody can show whose windows these are: %+v", log.Read)
	}
	old := "1000, 0, 4096" + strings.Repeat(", 0", 100) + ", 5" + strings.Repeat(", 0", oldBinCount-101) + "\n"
	if log := read(LogHistogram, old); log.Read.Latency.Bins != hist.Pack([]hist.Bin{{NS: 100_000, Count: 5}}) {
		t.Errorf("bins in microseconds: %+v", log.Read.Latency.Bins)
	}
}

func TestLogRefusals(t *testing.T) {
	row := func(bins int) string { return "1, 0, 4096" + strings.Repeat(", 1", bins) + "\n" }
	for _, c := range []struct {
		name    string
		kind    LogKind
		text    string
		line    int
		problem string
	}{
		{"empty", LogTotal, "", 1, "empty"},
		{"binary", LogTotal, "\x78\x9c\x00", 1, "no text"},
		{"JSON", LogTotal, "{\n", 1, "no line of a log"},
		{"too few fields", LogTotal, "1, 2, 0, 4096\n2, 3, 0\n", 2, "3 fields"},
		{"too many fields", LogTotal, "1, 2, 0, 4096, 0, 0, 0, 0\n", 1, "8 fields"},
		{"no end", LogTotal, "1, 2, 0, 4096, 0\n2, 2, 0, 409", 2, "cut short"},
		{"direction", LogTotal, "1, 2, 9, 4096\n", 1, "direction 9"},
		{"block size", LogTotal, "1, 2, 0, 4k\n", 1, `field 4, "4k"`},
		{"no such bins", LogHistogram, row(100), 1, "100 bins"},
		{"another number of bins", LogHistogram, row(232) + row(231), 2, "234 fields, where the first line has 235"},
		{"a bin that is none", LogHistogram, strings.Replace(row(232), ", 1\n", ", x\n", 1), 1, "no whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, problems := ReadLog(LogName{Kind: c.kind, Thread: 1}, []byte(c.text))
			if log != nil || len(problems) == 0 || problems[0].At.Line != c.line ||
				!strings.Contains(problems[0].What, c.problem) {
				t.Errorf("%+v", problems)
			}
		})
	}
	_, problems := ReadLog(LogName{Kind: LogTotal}, []byte(strings.Repeat("x\n", 100)))
	if len(problems) != maxProblems+1 || !strings.Contains(problems[maxProblems].What, "95 more") {
		t.Errorf("%d problems of a hundred: %v", len(problems), problems)
	}
}

// FuzzReadLog: whatever stands in a log gives problems, or counts that are
// consistent.
func FuzzReadLog(f *testing.F) {
	kinds := []LogKind{LogBandwidth, LogIOPS, LogSubmission, LogCompletion, LogTotal, LogHistogram}
	f.Add([]byte("5, 1000, 0, 4096, 0\n7, 3000, 1, 4096, 8192, 0x2001\n"), 4)
	f.Add([]byte("500, 100, 0, 0, 0\n1000, 300, 1, 0, 0\n\n"), 1)
	f.Add([]byte("500, 100, 2, 0, 0\n1000, 300, 1"), 0)
	f.Add([]byte("1, 0, 4096"+strings.Repeat(", 1", oldBinCount>>6)+"\n2, 1, 512"+strings.Repeat(", 0", oldBinCount>>6)+
		"\n"), 5)
	f.Add([]byte("1, 0, 4096"+strings.Repeat(", 274877906880", binCount>>6)+"\n"), 5)
	f.Add([]byte("18446744073709551615, 18446744073709551615, 0, 4294967295\n0, 1, 0, 0\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, kind int) {
		if kind < 0 || kind >= len(kinds) {
			return
		}
		log, problems := ReadLog(LogName{Kind: kinds[kind], Thread: 1}, text)
		if (log == nil) == (len(problems) == 0) {
			t.Fatalf("%v and %v", log, problems)
		}
		for _, p := range problems {
			if p.What == "" || p.At.Line < 1 {
				t.Fatalf("a problem that explains nothing: %+v", p)
			}
		}
		if log == nil {
			return
		}
		for _, c := range []LogCounts{log.Read, log.Write} {
			checkLatency(t, c.Latency)
			if c.Seconds < 0 || c.IOs < 0 || c.Bytes < 0 || math.IsInf(c.IOs+c.Bytes+c.Seconds, 0) {
				t.Fatalf("%+v", c)
			}
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
			if log.PerIO && c.Latency.Count > 0 && fmt.Sprint(c.Latency.Count) != fmt.Sprint(uint64(c.IOs)) {
				t.Fatalf("%d latencies of %v I/Os", c.Latency.Count, c.IOs)
			}
		}
	})
}
