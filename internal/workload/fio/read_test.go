package fio

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/outputs", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readOutput(r reader, text []byte, exit workload.Exit) (result.Measurement, error) {
	return r.read(map[string][]byte{outputName: text}, exit)
}

// fioSummary is fio's own summary: the oracle.
type fioSummary struct {
	Jobs []map[string]json.RawMessage `json:"jobs"`
}

type saidDirection struct {
	IOPS  float64     `json:"iops"`
	Bytes float64     `json:"bw_bytes"`
	Slat  saidLatency `json:"slat_ns"`
	Clat  saidLatency `json:"clat_ns"`
	Lat   saidLatency `json:"lat_ns"`
}

type saidLatency struct {
	N           uint64            `json:"N"`
	Min         uint64            `json:"min"`
	Max         uint64            `json:"max"`
	Mean        float64           `json:"mean"`
	Percentiles map[string]uint64 `json:"percentile"`
}

// Calls of fsync are an operation of their own, with fio's own percentiles.
func TestFsyncIsAnOperation(t *testing.T) {
	text := recorded(t, "fsync")
	m, err := readOutput(reader{engine: "psync"}, text, workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Jobs []struct {
			Sync struct {
				Lat saidLatency `json:"lat_ns"`
			} `json:"sync"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(text, &printed); err != nil {
		t.Fatal(err)
	}
	want := printed.Jobs[0].Sync.Lat
	o := m.Operation(result.Fsync)
	total := o.Latency[result.Total]
	p99, _ := hist.Percentile(total.Bins, 99)
	if o.Count != want.N || want.N == 0 || total.Count != want.N || p99 != want.Percentiles["99.000000"] ||
		total.MaxNS != want.Max {
		t.Errorf("%d calls of fsync with p99 of %d ns, and fio says %+v", o.Count, p99, want)
	}
	if got := o.Rate * m.Seconds; math.Abs(got-float64(want.N)) > 1 {
		t.Errorf("the rate of fsync makes %f calls of %d", got, want.N)
	}
}

// TestAgainstFio reads outputs of the real fio that it reported as one group,
// and finds every number that fio printed: percentiles computed from the
// histograms are fio's own, exactly.
func TestAgainstFio(t *testing.T) {
	for _, name := range []string{"libaio-randread", "libaio-randwrite", "libaio-randrw", "psync-randread",
		"io_uring-write"} {
		t.Run(name, func(t *testing.T) {
			text := recorded(t, name)
			m, err := readOutput(reader{}, text, workload.Exit{})
			if err != nil {
				t.Fatal(err)
			}
			compareWithFio(t, text, m, hist.Percentile)
		})
	}
}

// exactPercentile is the first bin at which the count reaches p/100 of all,
// without any rounding.
func exactPercentile(packed hist.Bins, p float64) (uint64, bool) {
	var total, running uint64
	bins := packed.Unpack()
	for _, b := range bins {
		total += b.Count
	}
	limit := new(big.Rat).SetFloat64(p)
	limit.Mul(limit, new(big.Rat).SetFrac(new(big.Int).SetUint64(total), big.NewInt(100)))
	for _, b := range bins {
		running += b.Count
		if new(big.Rat).SetInt(new(big.Int).SetUint64(running)).Cmp(limit) >= 0 {
			return b.NS, true
		}
	}
	return 0, false
}

// compareWithFio compares a measurement with what fio printed of its only job.
func compareWithFio(t *testing.T, text []byte, m result.Measurement,
	percentile func(hist.Bins, float64) (uint64, bool)) {
	t.Helper()
	var fio fioSummary
	if err := json.Unmarshal(text, &fio); err != nil || len(fio.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(fio.Jobs), err)
	}
	checked := 0
	for key, got := range map[string]result.Operation{"read": m.Operation(result.Read),
		"write": m.Operation(result.Write)} {
		var want saidDirection
		if err := json.Unmarshal(fio.Jobs[0][key], &want); err != nil {
			t.Fatal(err)
		}
		if !near(got.Rate, want.IOPS) || !near(got.BytesPerSecond, want.Bytes) {
			t.Errorf("%s: %v IOPS and %v bytes/s, fio says %v and %v", key, got.Rate, got.BytesPerSecond, want.IOPS, want.Bytes)
		}
		for _, l := range []struct {
			name string
			got  hist.Histogram
			want saidLatency
		}{{"slat", got.Latency[result.Submission], want.Slat}, {"clat", got.Latency[result.Completion], want.Clat},
			{"lat", got.Latency[result.Total], want.Lat}} {
			if l.got.Count != l.want.N || l.got.MinNS != l.want.Min || l.got.MaxNS != l.want.Max ||
				!near(l.got.MeanNS, l.want.Mean) {
				t.Errorf("%s %s: n %d min %d max %d mean %v, fio says %+v", key, l.name, l.got.Count, l.got.MinNS,
					l.got.MaxNS, l.got.MeanNS, l.want)
			}
			for p, want := range l.want.Percentiles {
				q, err := strconv.ParseFloat(p, 64)
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := percentile(l.got.Bins, q); l.want.N > 0 && (!ok || got != want) {
					t.Errorf("%s %s: percentile %s is %d from the bins, fio says %d", key, l.name, p, got, want)
				}
				checked++
			}
		}
	}
	if checked < 17 {
		t.Errorf("only %d percentiles were there to be checked", checked)
	}
}

// near allows for the six decimals that fio prints.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b), 1)+1 }

// A synchronous engine submits and completes in one call: there is no
// submission latency, and the total is the completion.
func TestPsyncHasNoSubmissionLatency(t *testing.T) {
	m, err := readOutput(reader{}, recorded(t, "psync-randread"), workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Operation(result.Read).Latency[result.Submission].Count != 0 ||
		m.Operation(result.Read).Latency[result.Total].Count == 0 {
		t.Errorf("slat of %d I/Os, lat of %d", m.Operation(result.Read).Latency[result.Submission].Count,
			m.Operation(result.Read).Latency[result.Total].Count)
	}
	m, err = readOutput(reader{}, recorded(t, "libaio-randread"), workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Operation(result.Read).Latency[result.Submission].Count == 0 {
		t.Error("libaio has no slat")
	}
}

// Three jobs that fio did not merge are merged here: counts add up, the
// slowest and the fastest I/O of all stay, the mean lies between the means.
func TestUngroupedJobsAreMerged(t *testing.T) {
	text := recorded(t, "ungrouped")
	m, err := readOutput(reader{}, text, workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	var fio fioSummary
	if err := json.Unmarshal(text, &fio); err != nil {
		t.Fatal(err)
	}
	var count, lowest, highest uint64
	lowest = math.MaxUint64
	var means []float64
	var iops float64
	for _, j := range fio.Jobs {
		var d saidDirection
		if err := json.Unmarshal(j["read"], &d); err != nil {
			t.Fatal(err)
		}
		count += d.Lat.N
		lowest, highest = min(lowest, d.Lat.Min), max(highest, d.Lat.Max)
		means = append(means, d.Lat.Mean)
		iops += d.IOPS
	}
	got := m.Operation(result.Read).Latency[result.Total]
	if len(fio.Jobs) != 3 || got.Count != count || got.MinNS != lowest || got.MaxNS != highest {
		t.Errorf("%d jobs: %d I/Os from %d to %d ns; merged %d from %d to %d", len(fio.Jobs), count, lowest, highest,
			got.Count, got.MinNS, got.MaxNS)
	}
	if got.MeanNS < slices.Min(means) || got.MeanNS > slices.Max(means) {
		t.Errorf("mean %v of means %v", got.MeanNS, means)
	}
	// The jobs ran for the same time, but for a millisecond.
	if math.Abs(m.Operation(result.Read).Rate-iops)/iops > 0.02 {
		t.Errorf("%v IOPS; the jobs' add up to %v", m.Operation(result.Read).Rate, iops)
	}
}

// TestFailures reads what fio left when it failed. Each gives cause and
// remedy, and nothing gives a measurement.
func TestFailures(t *testing.T) {
	good := recorded(t, "libaio-randread")
	uring := reader{engine: "io_uring", direct: true, blockSize: 4096}
	for _, c := range []struct {
		name   string
		reader reader
		text   []byte
		exit   workload.Exit
		why    string
		remedy string
	}{
		{name: "disk full", text: recorded(t, "enospc"), exit: workload.Exit{Code: 1}, why: "No space left on device",
			remedy: "larger size or the workload a smaller"},
		{name: "disk full, nothing written", text: recorded(t, "enospc-none"), exit: workload.Exit{Code: 1},
			why: "ENOSPC", remedy: "larger size"},
		{name: "unaligned direct I/O", reader: reader{direct: true, blockSize: 1000}, text: recorded(t, "einval"),
			exit: workload.Exit{Code: 1}, why: "Invalid argument", remedy: "O_DIRECT"},
		{name: "io_uring refused by seccomp", reader: uring, text: recorded(t, "io_uring-eperm"),
			exit: workload.Exit{Code: 1}, why: "Operation not permitted", remedy: "seccomp=unconfined"},
		{name: "laid out file gone", text: recorded(t, "file-gone"), exit: workload.Exit{Code: 1},
			why: "laid out for it is gone", remedy: "run it again"},
		{name: "no such engine", text: recorded(t, "no-engine"), exit: workload.Exit{Code: 1}, why: "lacks the engine",
			remedy: "another engine"},
		{name: "unknown option", text: recorded(t, "bad-option"), exit: workload.Exit{Code: 1}, why: "nosuch",
			remedy: "newer fio"},
		{name: "asked to end", text: recorded(t, "terminated"), exit: workload.Exit{Code: 128},
			why: "terminating on signal 15", remedy: "again"},
		{name: "killed", exit: workload.Exit{Code: 137, Signal: "killed"}, why: "signal ended it (killed)", remedy: "again"},
		{name: "killed in a container", exit: workload.Exit{Code: 137}, why: "SIGKILL", remedy: "OOM"},
		{name: "killed for memory", exit: workload.Exit{Code: 137, Signal: "killed", OOMKilled: true},
			why: "OOM killer", remedy: "raise the memory limit"},
		{name: "killed for memory, one job left", text: good, exit: workload.Exit{OOMKilled: true}, why: "OOM killer",
			remedy: "lower jobs"},
		{name: "not installed", exit: workload.Exit{Code: 127, Stderr: "sh: fio: not found"},
			why: "could not be started: sh: fio: not found", remedy: "install fio 3.18"},
		{name: "not in the image",
			exit: workload.Exit{Code: 1, Stderr: `exec: "fio": executable file not found in $PATH`},
			why:  "could not be started", remedy: "install"},
		{name: "no output", exit: workload.Exit{Code: 1, Stderr: "fio: out of luck"},
			why: "code 1 and left no result: fio: out of luck", remedy: "artifacts"},
		{name: "empty output, exit 0", text: []byte{}, why: "left no result", remedy: "artifacts"},
		{name: "cut short", text: good[:len(good)/2], why: "cut short or damaged: unexpected EOF", remedy: "full"},
		{name: "damaged", text: []byte(`{"fio version": "fio-3.33", "jobs": [{"error": "many"}]}`), why: "damaged",
			remedy: "again"},
		{name: "too old", text: replace(good, `"fio-3.33"`, `"fio-3.1"`), why: "fio 3.1 is too old", remedy: "3.18"},
		{name: "no version", text: replace(good, `"fio version"`, `"version"`), why: "no version of fio", remedy: "3.18"},
		{name: "no jobs", text: []byte(`{"fio version": "fio-3.33", "jobs": []}`), why: "no jobs", remedy: "report this"},
		{name: "no I/O", text: recorded(t, "layout-only"), why: "not one I/O", remedy: "longer runtime"},
		{name: "good output, bad exit", text: good, exit: workload.Exit{Code: 3, Stderr: "oh"},
			why: "exited with code 3: oh", remedy: "artifacts"},
		{name: "error hidden behind exit 0", text: recorded(t, "enospc"), why: "No space left", remedy: "larger size"},
		{name: "unknown errno", text: replace(recorded(t, "enospc-none"), `"error" : 28`, `"error" : 4711`),
			why: "error 4711", remedy: "by hand"},
		{name: "errors that the job went on after",
			text: replace(good, `"error" : 0,`, `"error" : 0, "total_err" : 7, "first_error": 5,`),
			why:  "7 failed I/Os", remedy: "no speed"},
		{name: "latencies switched off", text: recorded(t, "no-histograms"), why: "no latencies", remedy: "gtod_reduce"},
		{name: "reads and writes as one", text: recorded(t, "unified"), why: "as one", remedy: "unified_rw_reporting"},
		{name: "a histogram switched off", text: recorded(t, "one-percentile"), why: "no histograms",
			remedy: "lat_percentiles"},
		{name: "time without I/O time", text: replace(good, `"runtime" : 40`, `"runtime" : 0, "x" : 40`),
			why: "less than a millisecond", remedy: "longer"},
		{name: "trims",
			text: []byte(`{"fio version": "fio-3.33", "jobs": [{"jobname": "j", "trim": {"total_ios": 5}}]}`),
			why:  "trimmed", remedy: "another rw"},
		{name: "counts that overflow", text: []byte(`{"fio version": "fio-3.33", "jobs": [
			{"read": {"total_ios": 18446744073709551615, "runtime": 1}}, {"read": {"total_ios": 1, "runtime": 1}}]}`), why: "cannot be", remedy: "report this"},
		{name: "a bin without a number", text: []byte(`{"fio version": "fio-3.33", "jobs": [
			{"read": {"total_ios": 1, "runtime": 1, "lat_ns": {"N": 1, "bins": {"fast": 1}}}}]}`), why: "cannot be", remedy: "report this"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := readOutput(c.reader, c.text, c.exit)
			var e *problem.Problem
			if !errors.As(err, &e) {
				t.Fatalf("no *problem.Problem but %v", err)
			}
			if e.What == "" || !strings.Contains(e.Why, c.why) || !strings.Contains(e.Remedy, c.remedy) {
				t.Errorf("got  %v\nwant %s (%s)", e, c.why, c.remedy)
			}
			if m.IOs() != 0 || m.Seconds != 0 {
				t.Errorf("a failure gave the measurement %+v", m)
			}
		})
	}
}

func replace(text []byte, old, with string) []byte {
	if !strings.Contains(string(text), old) {
		panic("the recording has no " + old)
	}
	return []byte(strings.Replace(string(text), old, with, 1))
}

// fio prints notes before the document, and a brace may be in them.
func TestNotesBeforeOutput(t *testing.T) {
	notes := "fio: this is a note about {something}\n\n  note: more\n"
	text := append([]byte(notes), recorded(t, "libaio-randread")...)
	m, err := readOutput(reader{}, text, workload.Exit{})
	if err != nil || m.IOs() == 0 {
		t.Errorf("%v, %+v", err, m)
	}
}

// Prepare's outputs are read by the same Read: a layout has nothing to
// measure, but it can fail.
func TestReadOfLayout(t *testing.T) {
	m, err := reader{}.read(map[string][]byte{layoutOutput: recorded(t, "layout-only")}, workload.Exit{})
	if err != nil || m.IOs() != 0 {
		t.Errorf("%v, %+v", err, m)
	}
	_, err = reader{}.read(map[string][]byte{layoutOutput: recorded(t, "enospc")}, workload.Exit{Code: 1})
	if err == nil || !strings.HasPrefix(err.Error(), "fio, laying out its file: ") ||
		!strings.Contains(err.Error(), "larger size") {
		t.Errorf("got %v", err)
	}
}

// FuzzRead: whatever fio leaves behind gives an explained error, or a
// measurement that is consistent in itself.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/outputs/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, len(paths))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 0)
	}
	f.Add([]byte(nil), 137)
	f.Fuzz(func(t *testing.T, text []byte, code int) {
		m, err := readOutput(reader{engine: "libaio"}, text, workload.Exit{Code: code})
		if err != nil {
			var e *problem.Problem
			if !errors.As(err, &e) || e.What == "" || e.Why == "" || e.Remedy == "" {
				t.Fatalf("an error that explains nothing: %#v", err)
			}
			return
		}
		if _, err := json.Marshal(m); err != nil {
			t.Fatalf("the measurement cannot be stored: %v", err)
		}
		if code != 0 || m.IOs() == 0 && m.Operation(result.Read).Count == 0 && m.Operation(result.Write).Count == 0 {
			t.Fatalf("a measurement of nothing: code %d, %+v", code, m)
		}
		for _, d := range []result.Operation{m.Operation(result.Read), m.Operation(result.Write)} {
			for _, l := range []hist.Histogram{d.Latency[result.Submission], d.Latency[result.Completion],
				d.Latency[result.Total]} {
				var sum uint64
				bins := l.Bins.Unpack()
				for i, b := range bins {
					if i > 0 && bins[i-1].NS >= b.NS {
						t.Fatalf("bins do not ascend at %d", i)
					}
					sum += b.Count
				}
				if sum != l.Count {
					t.Fatalf("%d I/Os in bins, %d counted", sum, l.Count)
				}
			}
		}
	})
}
