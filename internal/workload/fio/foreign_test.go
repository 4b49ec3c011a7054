package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/host/version"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
)

func foreignFileNamed(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/foreign", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readForeign(t *testing.T, text []byte) []Foreign {
	t.Helper()
	all, problems := ReadForeign(text)
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	return all
}

// one reads a file with one result that has a measurement.
func readOne(t *testing.T, text []byte) Foreign {
	t.Helper()
	all := readForeign(t, text)
	if len(all) != 1 || all[0].Measurement == nil {
		t.Fatalf("%d results: %+v", len(all), all)
	}
	return all[0]
}

// jobsOf returns fio's output for the jobs of a document.
func jobsOf(t *testing.T, text []byte) []map[string]json.RawMessage {
	t.Helper()
	start := bytes.IndexByte(text, '{')
	var doc struct {
		Jobs    []map[string]json.RawMessage `json:"jobs"`
		Clients []map[string]json.RawMessage `json:"client_stats"`
	}
	if err := json.NewDecoder(bytes.NewReader(text[start:])).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return append(doc.Jobs, doc.Clients...)
}

func saidOf(t *testing.T, job map[string]json.RawMessage, direction string) saidDirection {
	t.Helper()
	var d saidDirection
	if err := json.Unmarshal(job[direction], &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Without histograms, what fio printed is there, exactly, and marked as such.
func TestForeignWithoutHistograms(t *testing.T) {
	text := foreignFileNamed(t, "json.json")
	f := readOne(t, text)
	printed := saidOf(t, jobsOf(t, text)[0], "read")
	got := f.Measurement.Operation(result.Read)
	if !near(got.Rate, printed.IOPS) || !near(got.BytesPerSecond, printed.Bytes) {
		t.Errorf("%v IOPS, %v bytes/s; fio says %v and %v", got.Rate, got.BytesPerSecond, printed.IOPS, printed.Bytes)
	}
	for _, l := range []struct {
		got  hist.Histogram
		want saidLatency
	}{{got.Latency[result.Submission], printed.Slat}, {got.Latency[result.Completion], printed.Clat},
		{got.Latency[result.Total], printed.Lat}} {
		if l.got.Count != l.want.N || l.got.MinNS != l.want.Min || l.got.MaxNS != l.want.Max ||
			!near(l.got.MeanNS, l.want.Mean) || !l.got.Bins.IsEmpty() {
			t.Errorf("%+v, fio says %+v", l.got, l.want)
		}
		if len(l.got.Printed) != len(l.want.Percentiles) {
			t.Errorf("%d percentiles, fio printed %d", len(l.got.Printed), len(l.want.Percentiles))
		}
		for _, q := range l.got.Printed {
			if want := l.want.Percentiles[fmt.Sprintf("%f", q.Percent)]; q.NS != want {
				t.Errorf("percentile %v is %d, fio printed %d", q.Percent, q.NS, want)
			}
		}
	}
	if !slices.IsSortedFunc(got.Latency[result.Completion].Printed,
		func(a, b hist.Quantile) int { return int(100 * (a.Percent - b.Percent)) }) {
		t.Error("percentiles do not ascend")
	}
	want := []Lack{{Percentiles, "submission", ""},
		{Histogram, "completion", "only the percentiles that fio printed are known"}, {Percentiles, "total", ""}}
	if !slices.Equal(f.Lacks, want) {
		t.Errorf("lacks %v", f.Lacks)
	}
	if f.Info.Summary != "job: randread 4 KiB, 1 job x depth 4, libaio, direct" || f.Info.Pattern != "randread" ||
		!slices.Equal(f.Targets, []string{"data"}) {
		t.Errorf("%+v of %v", f.Info, f.Targets)
	}
	recent := version.Version{Major: 3, Minor: 33}
	if f.Version != recent || f.Written.IsZero() || !f.Started.IsZero() || f.Devices == nil {
		t.Errorf("fio %v, written %v, started %v, devices %v", f.Version, f.Written, f.Started, f.Devices)
	}
}

// Histograms of json+ give fio's own percentiles, as in plimsoll's own runs.
func TestForeignWithHistograms(t *testing.T) {
	text := foreignFileNamed(t, "json-plus.json")
	f := readOne(t, text)
	printed := saidOf(t, jobsOf(t, text)[0], "read")
	for p, want := range printed.Clat.Percentiles {
		q, _ := strconv.ParseFloat(p, 64)
		if got, ok := hist.Percentile(f.Measurement.Operation(result.Read).Latency[result.Completion].Bins, q); !ok ||
			got != want {
			t.Errorf("percentile %s is %d, fio printed %d", p, got, want)
		}
	}
	if f.Measurement.Operation(result.Read).Latency[result.Completion].Printed != nil ||
		len(printed.Clat.Percentiles) == 0 {
		t.Error("percentiles stand beside the histogram that they are of")
	}
	// And plimsoll's own outputs, which have all three, read the same both ways.
	for _, name := range []string{"libaio-randrw", "psync-randread", "ungrouped"} {
		measured, err := readOutput(reader{}, recorded(t, name), workload.Exit{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := readOne(t, recorded(t, name))
		theirs.Measurement.Notes = nil // doubts are of imports alone
		a, _ := json.Marshal(measured)
		b, _ := json.Marshal(theirs.Measurement)
		if !bytes.Equal(a, b) || len(theirs.Lacks) > 0 {
			t.Errorf("%s is another measurement when it is imported; it lacks %v", name, theirs.Lacks)
		}
	}
}

// The states that --status-interval made are a series of the one result. The
// state that was printed during the ramp is none of it: fio forgot it.
func TestForeignSeries(t *testing.T) {
	text := foreignFileNamed(t, "status.json")
	f := readOne(t, text)
	starts := regexp.MustCompile(`(?m)^\{`).FindAllIndex(text, -1)
	last := readOne(t, text[starts[len(starts)-1][0]:])
	if len(starts) < 4 || f.Measurement.IOs() != last.Measurement.IOs() || f.Measurement.IOs() == 0 {
		t.Errorf("%d documents give %d I/Os, the last has %d", len(starts), f.Measurement.IOs(), last.Measurement.IOs())
	}
	if n := len(f.Series); n < 2 || n > len(starts)-2 {
		t.Errorf("a series of %d from %d documents, of which one is of the ramp", n, len(starts))
	}
	for i := 1; i < len(f.Series); i++ {
		if a, b := f.Series[i-1], f.Series[i]; b.Seconds <= a.Seconds || b.Read.IOs < a.Read.IOs {
			t.Errorf("the series goes from %+v to %+v", a, b)
		}
	}
	if end := f.Series[len(f.Series)-1]; end.Read.IOs > f.Measurement.IOs() || end.Seconds > f.Measurement.Seconds {
		t.Errorf("the series ends with %+v, the result is %+v", end, f.Measurement)
	}
}

// Results that were appended to one file are results of their own, whichever
// has more.
func TestForeignAppended(t *testing.T) {
	a, b := foreignFileNamed(t, "json.json"), foreignFileNamed(t, "again.json")
	for _, text := range [][]byte{join(a, b), join(b, a), join(a, []byte("fio: a note\n"), b), join(a, later(a))} {
		all := readForeign(t, text)
		if len(all) != 2 || len(all[0].Series)+len(all[1].Series) > 0 || bytes.Equal(all[0].Document, all[1].Document) {
			t.Errorf("%d results from two documents", len(all))
		}
	}
	if line := readForeign(t, join(a, b))[1].Line; line != 1+bytes.Count(a, []byte("\n")) {
		t.Errorf("the second begins in line %d", line)
	}
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// later is a document as if the same were measured an hour later, with more
// I/Os.
func later(text []byte) []byte {
	stamp := regexp.MustCompile(`"timestamp_ms" : \d+`)
	text = stamp.ReplaceAllFunc(text, func(m []byte) []byte {
		n, _ := strconv.ParseInt(string(m[len(`"timestamp_ms" : `):]), 10, 64)
		return fmt.Appendf(nil, `"timestamp_ms" : %d`, n+3600_000)
	})
	return regexp.MustCompile(`"total_ios" : (\d)`).ReplaceAll(text, []byte(`"total_ios" : 9$1`))
}

// Jobs that ran one after another are results of their own; the clones of one
// job are one.
func TestForeignGroups(t *testing.T) {
	text := foreignFileNamed(t, "stonewall.json")
	results := readForeign(t, text)
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	reads, writes := results[0], results[1]
	if reads.Job != "reads" || reads.Info.Pattern != "randread" ||
		reads.Measurement.Operation(result.Write).Count != 0 || !slices.Equal(reads.Threads, []int{1}) {
		t.Errorf("reads: %s %+v, jobs %v", reads.Job, reads.Info, reads.Threads)
	}
	if writes.Job != "writes" || !strings.Contains(writes.Info.Summary, "randwrite 8 KiB, 2 jobs") ||
		!slices.Equal(writes.Threads, []int{2, 3}) {
		t.Errorf("writes: %s %+v, jobs %v", writes.Job, writes.Info, writes.Threads)
	}
	jobs := jobsOf(t, text)
	first, second := saidOf(t, jobs[1], "write"), saidOf(t, jobs[2], "write")
	got := writes.Measurement.Operation(result.Write)
	if got.Latency[result.Completion].Count != first.Clat.N+second.Clat.N ||
		got.Latency[result.Completion].MaxNS != max(first.Clat.Max, second.Clat.Max) ||
		got.Latency[result.Completion].Printed != nil {
		t.Errorf("completion latency of two jobs: %+v of %+v and %+v",
			got.Latency[result.Completion], first.Clat, second.Clat)
	}
	if !slices.Contains(writes.Lacks,
		Lack{Percentiles, "completion", "those of several jobs do not merge without histograms"}) {
		t.Errorf("lacks %v", writes.Lacks)
	}
}

// From fio --client the clients themselves are read, since fio's sum over
// them has no percentiles; what adds up is what fio's sum says.
func TestForeignClients(t *testing.T) {
	for _, name := range []string{"clients-plus.json", "clients.json"} {
		text := foreignFileNamed(t, name)
		f := readOne(t, text)
		clients := jobsOf(t, text)
		sum := saidOf(t, clients[2], "read")
		if string(clients[2]["jobname"]) != `"All clients"` {
			t.Fatal("the recording has no sum over clients")
		}
		got := f.Measurement.Operation(result.Read)
		if !near(got.Rate, sum.IOPS) || !near(got.BytesPerSecond, sum.Bytes) ||
			got.Latency[result.Total].MinNS != sum.Lat.Min || got.Latency[result.Total].MaxNS != sum.Lat.Max {
			t.Errorf("%s: %v IOPS, %+v; fio's sum says %v, %+v", name, got.Rate, got.Latency[result.Total], sum.IOPS, sum.Lat)
		}
		if histogram := !got.Latency[result.Completion].Bins.IsEmpty(); histogram != (name == "clients-plus.json") ||
			got.Latency[result.Completion].Printed != nil {
			t.Errorf("%s: completion latency %+v", name, got.Latency[result.Completion])
		}
		if got.Latency[result.Completion].Count != sum.Clat.N {
			t.Errorf("%s: %d latencies, fio's sum says %d", name, got.Latency[result.Completion].Count, sum.Clat.N)
		}
		slices.Sort(f.Hosts)
		if !slices.Equal(f.Hosts, []string{"host-a", "host-b"}) || f.Threads != nil || f.Written.IsZero() {
			t.Errorf("%s: hosts %v, threads %v, written %v", name, f.Hosts, f.Threads, f.Written)
		}
	}
	if f := readOne(t, foreignFileNamed(t, "client.json")); len(f.Hosts) != 1 ||
		f.Measurement.Operation(result.Read).Latency[result.Completion].Bins.IsEmpty() {
		t.Errorf("one client: %+v", f)
	}
}

// TestForeignVersions reads the shapes of other versions, made of a recording
// of 3.33 by what is known to differ.
func TestForeignVersions(t *testing.T) {
	text := string(foreignFileNamed(t, "json.json"))
	drop := func(text, pattern string) string {
		re := regexp.MustCompile(pattern)
		if !re.MatchString(text) {
			t.Fatalf("the recording has no %s", pattern)
		}
		return re.ReplaceAllString(text, "$1")
	}
	counts := `(?m),\n\s*"N" : \d+(,?)$`
	now := readOne(t, []byte(text))
	v31 := strings.ReplaceAll(text, "fio-3.33", "fio-3.1")
	v31 = drop(drop(v31, counts), `()\s*"bw_bytes" : \d+,`)
	v31 = drop(drop(v31, `()\s*"job_runtime" : \d+,`), `()\s*"timestamp_ms" : \d+,`)
	v31 = strings.ReplaceAll(v31, "\"99.990000\" : ", "\"0.00\" : 0,\n            \"0.00\" : 0,\n            "+
		"\"99.990000\" : ")
	v342 := strings.ReplaceAll(text, "fio-3.33", "fio-3.42-6-g219f")
	v342 = strings.Replace(v342, `"groupid" : 0,`,
		`"groupid" : 0, "job_start" : 1795250507950, "latency_target_ns" : 0,`, 1)
	v342 = "/dev/nvme0n1: (g=0): rw=randread\nfio-3.42\nStarting 1 process\n" + v342 +
		"\njob: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=16.0k\n"
	for _, c := range []struct {
		name, text string
		version    version.Version
		counted    bool
	}{{"3.1", v31, version.Version{Major: 3, Minor: 1}, false},
		{"3.16", strings.ReplaceAll(drop(text, counts), "fio-3.33", "fio-3.16"), version.Version{Major: 3, Minor: 16}, false},
		{"3.42", v342, version.Version{Major: 3, Minor: 42}, true}} {
		t.Run(c.name, func(t *testing.T) {
			f := readOne(t, []byte(c.text))
			got, want := f.Measurement.Operation(result.Read), now.Measurement.Operation(result.Read)
			if f.Version != c.version || got.Rate != want.Rate || got.BytesPerSecond != want.BytesPerSecond ||
				!slices.Equal(got.Latency[result.Completion].Printed, want.Latency[result.Completion].Printed) {
				t.Errorf("fio %v: %+v, want %+v", f.Version, got, want)
			}
			if known := got.Latency[result.Completion].Count > 0; known != c.counted ||
				got.Latency[result.Completion].MaxNS != want.Latency[result.Completion].MaxNS ||
				got.Latency[result.Completion].MeanNS != want.Latency[result.Completion].MeanNS {
				t.Errorf("completion latency %+v", got.Latency[result.Completion])
			}
			if lacks := slices.Contains(f.Lacks, Lack{"the number", "completion", ""}); lacks == c.counted {
				t.Errorf("lacks %v", f.Lacks)
			}
			if f.Started.IsZero() == (c.name == "3.42") {
				t.Errorf("started %v", f.Started)
			}
		})
	}
}

// What cannot be a measurement is a result with its reason; the file is fine.
func TestForeignProblems(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		why  string
	}{
		{"fio failed", recorded(t, "enospc"), "No space left on device"},
		{"errors that fio went on after",
			bytes.ReplaceAll(foreignFileNamed(t, "json.json"), []byte(`"error" : 0,`),
				[]byte(`"error" : 0, "total_err" : 7,`)), "7 failed I/Os"},
		{"reads and writes as one", recorded(t, "unified"), "as one"},
		{"trims", foreignFileNamed(t, "trim.json"), ""},
		{"nothing done", recorded(t, "layout-only"), "not one I/O"},
		{"bytes in other units",
			regexp.MustCompile(`"io_kbytes" : \d{3,}`).ReplaceAll(foreignFileNamed(t, "json.json"),
				[]byte(`"io_kbytes" : 7`)), "are not its 7 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := readForeign(t, c.text)
			if len(all) != 1 || all[0].Measurement != nil || all[0].Problem == nil ||
				!strings.Contains(all[0].Problem.Why, c.why) || all[0].Problem.What == "" {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Reported as one and also apart is enough; latencies that were switched off
// are named.
func TestForeignOddities(t *testing.T) {
	if f := readOne(t, foreignFileNamed(t, "unified-both.json")); f.Measurement.Operation(result.Read).Count == 0 ||
		f.Measurement.Operation(result.Write).Count == 0 {
		t.Errorf("%+v", f.Measurement)
	}
	f := readOne(t, foreignFileNamed(t, "no-latencies.json"))
	if f.Measurement.Operation(result.Read).Rate == 0 ||
		f.Measurement.Operation(result.Read).Latency[result.Total].Count != 0 ||
		!slices.Contains(f.Lacks, Lack{What: "latencies",
			Because: "gtod_reduce=1 has fio measure none: leave it out to know them"}) {
		t.Errorf("%+v lacks %v", f.Measurement, f.Lacks)
	}
	f = readOne(t, foreignFileNamed(t, "normal-json.txt"))
	if f.Measurement.Operation(result.Read).Rate == 0 || f.Threads != nil {
		t.Errorf("%+v", f)
	}
	f = readOne(t, []byte(strings.Replace(strings.Replace(string(foreignFileNamed(t, "json.json")), `"global options"`,
		`"x"`, 1), `"job options"`, `"y"`, 1)))
	if f.Options != nil || f.Info.Summary != "job: options unknown" ||
		!slices.Contains(f.Lacks, Lack{What: "the options of its jobs"}) {
		t.Errorf("without options: %+v", f)
	}
}

// Files that cannot be read: what is wrong, in which line, and what to do.
func TestForeignRefusals(t *testing.T) {
	good := string(foreignFileNamed(t, "json.json"))
	lines := strings.Count(good, "\n")
	for _, c := range []struct {
		name, text string
		line       int
		message    string
		remedy     string
	}{
		{"empty", "", 1, "empty", "ended well"},
		{"text", "hello\n", 1, "no JSON document", "json+"},
		{"for people", string(foreignFileNamed(t, "normal.txt")), 1, "for people", "json+"},
		{"terse", string(foreignFileNamed(t, "terse.txt")), 1, "terse", "json+"},
		{"a log", "100, 200, 0, 4096\n", 1, "looks like a log", "PREFIX_bw.1.log"},
		{"other JSON", "\n{\n \"name\": 1 }\n", 2, `no "fio version"`, "fio --output-format"},
		{"too old", strings.Replace(good, "fio-3.33", "fio-2.2.10", 1), 1, "2.2 is too old", "newer fio"},
		{"no version", strings.Replace(good, "fio-3.33", "3.33", 1), 1, "no version of fio", ""},
		{"no jobs", "note: fio: engine failed\n{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }\n", 2,
			"no jobs; before it stands: note: fio: engine failed", "measure again"},
		{"cut short", good[:len(good)*2/3], 1 + strings.Count(good[:len(good)*2/3], "\n"),
			"begins in line 1 is cut short", "copy the file again"},
		{"second cut short", good + good[:500], 1 + lines + strings.Count(good[:500], "\n"),
			fmt.Sprintf("begins in line %d is cut short", lines+1), "cut this document off"},
		{"not a number", strings.Replace(good, `"usr_cpu" : `, `"usr_cpu" : -nan, "x" : `, 1),
			1 + strings.Count(good[:strings.Index(good, `"usr_cpu"`)], "\n"), "no JSON at offset", "a number that is none"},
		{"text for a number", strings.Replace(good, `"total_ios" : `, `"total_ios" : "many", "x" : `, 1),
			1 + strings.Count(good[:strings.Index(good, `"total_ios"`)], "\n"), "total_ios", "as fio wrote it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			results, problems := ReadForeign([]byte(c.text))
			if len(results) > 0 || len(problems) != 1 {
				t.Fatalf("%d results, problems %+v", len(results), problems)
			}
			p := problems[0]
			if p.At.Line != c.line || !strings.Contains(p.What, c.message) || !strings.Contains(p.Remedy, c.remedy) {
				t.Errorf("line %d: %s; %s\nwant line %d: %s; %s", p.At.Line, p.What, p.Remedy, c.line, c.message, c.remedy)
			}
		})
	}
}

// Every spelling of an option is the same workload, and what only names files
// is none of it.
func TestSpelled(t *testing.T) {
	a := canonical(map[string]string{"rw": "randread", "bs": "4k", "runtime": "30", "time_based": "", "filename": "a",
		"direct": "1"})
	b := canonical(map[string]string{"readwrite": "randread", "blocksize": "4096B", "runtime": "30s", "time_based": "1",
		"filename": "a", "buffered": "0", "iodepth": "1"})
	for key := range b {
		if a[key] != b[key] {
			t.Errorf("%s is %q and %q", key, a[key], b[key])
		}
	}
	if c := canonical(map[string]string{"bs": "4KiB"}); c["bs"] == a["bs"] {
		t.Error("4KiB is 4000 bytes to fio, or 4096, depending on kb_base")
	}
}

// FuzzForeign: whatever stands in a file gives problems that explain, or
// results that can be stored and are consistent.
func FuzzForeign(f *testing.F) {
	// Small seeds: the fuzzer gets nowhere with whole recordings, but one.
	f.Add(foreignFileNamed(f, "json.json"))
	const job = `{"jobname":"j","groupid":0,"error":0,"job options":{"rw":"randrw","bs":"4k","ramp_time":"1"},
		"read":{"io_bytes":4096,"total_ios":1,"runtime":10,"lat_ns":{"max":5,"mean":5.0,"N":1,"bins":{"5":1}},"clat_ns":{"max":4,"percentile":{"50.0":4}}},
		"write":{"io_bytes":9,"io_kbytes":0,"total_ios":2,"runtime":20}}`
	document := func(stamp int, list, jobs string) string {
		return fmt.Sprintf("{\n\"fio version\":\"fio-3.1\",\"timestamp_ms\":%d,\"%s\":[%s]}\n", stamp, list, jobs)
	}
	f.Add([]byte("note\n" + document(1000, "jobs", job) + document(2000, "jobs", job)))
	f.Add([]byte(document(1000, "jobs", job+","+strings.Replace(job, `"groupid":0`, `"groupid":1`, 1))))
	f.Add([]byte(document(1000, "client_stats", job+`,{"jobname":"All clients","hostname":"x"}`)))
	f.Add([]byte(document(1000, "jobs", strings.Replace(job, `"error":0`, `"error":28`, 1))))
	f.Add([]byte(document(1000, "jobs", "")))
	f.Add(
		[]byte(
			`{"fio version":"fio-3.0","jobs":[{"groupid":-1,"read":{"total_ios":1,"runtime":1,"lat_ns":{"max":1,"percentile":{"1e999":2,"100":3}}}}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		results, problems := ReadForeign(text)
		for _, p := range problems {
			if p.What == "" || p.At.Line < 1 || p.At.Line > 1+bytes.Count(text, []byte("\n")) {
				t.Fatalf("a problem that explains nothing: %+v", p)
			}
		}
		if (len(results) == 0) == (len(problems) == 0) {
			t.Fatalf("%d results and %d problems", len(results), len(problems))
		}
		for _, r := range results {
			if (r.Measurement == nil) == (r.Problem == nil) || len(r.Document) == 0 {
				t.Fatalf("a result with %v and %v", r.Measurement, r.Problem)
			}
			if r.Measurement == nil {
				continue
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatalf("cannot be stored: %v", err)
			}
			for _, d := range []result.Operation{r.Measurement.Operation(result.Read), r.Measurement.Operation(result.Write)} {
				for _, l := range []hist.Histogram{d.Latency[result.Submission], d.Latency[result.Completion],
					d.Latency[result.Total]} {
					checkLatency(t, l)
				}
			}
		}
	})
}

func checkLatency(t *testing.T, l hist.Histogram) {
	t.Helper()
	var sum uint64
	bins := l.Bins.Unpack()
	for i, b := range bins {
		if i > 0 && bins[i-1].NS >= b.NS {
			t.Fatalf("bins do not ascend at %d", i)
		}
		sum += b.Count
	}
	if len(bins) > 0 && sum != l.Count || math.IsNaN(l.MeanNS) || math.IsInf(l.MeanNS, 0) {
		t.Fatalf("%d in bins, %d counted, mean %v", sum, l.Count, l.MeanNS)
	}
	for i, q := range l.Printed {
		if !(q.Percent > 0 && q.Percent <= 100) || i > 0 && l.Printed[i-1].Percent >= q.Percent {
			t.Fatalf("percentiles %v", l.Printed)
		}
	}
}

// Files that a job names in several lines, or in [global], are all its targets.
func TestFilesOfAJobAddUp(t *testing.T) {
	text := bytes.Replace(foreignFileNamed(t, "fdatasync.json"), []byte(`"job options" : {`),
		[]byte(`"job options" : {"filename" : "/dev/a", "filename" : "/dev/b:/dev/c", "ioengine" : "aio",`), 1)
	text = bytes.Replace(text, []byte(`"jobs" : [`), []byte(`"global options" : {"filename" : "/dev/g"}, "jobs" : [`), 1)
	f := readOne(t, text)
	if want := []string{"/dev/g:/dev/a:/dev/b:/dev/c"}; !slices.Equal(f.Targets, want) {
		t.Errorf("targets %q, want %q", f.Targets, want)
	}
}
