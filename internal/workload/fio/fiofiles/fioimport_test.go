package fiofiles

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/fio"
)

const (
	foreign = "../testdata/foreign/"
	outputs = "../testdata/outputs/"
)

// recorded reads a recording under another name.
func recorded(t testing.TB, dir, name, as string) File {
	t.Helper()
	text, err := os.ReadFile(dir + name)
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: as, Text: text}
}

// named reads recordings under their own names.
func named(t testing.TB, names ...string) []File {
	var files []File
	for _, name := range names {
		files = append(files, recorded(t, foreign, name, name))
	}
	return files
}

// changed is a file with something replaced.
func changed(f File, as, old, with string) File {
	if !strings.Contains(string(f.Text), old) {
		panic(f.Name + " has no " + old)
	}
	return File{Name: as, Text: bytes.ReplaceAll(f.Text, []byte(old), []byte(with))}
}

// hourLater is a result as if it had been measured an hour later.
func hourLater(f File) File {
	stamp := regexp.MustCompile(`"timestamp_ms" : \d+`)
	f.Text = stamp.ReplaceAllFunc(f.Text, func(m []byte) []byte {
		n, _ := strconv.ParseInt(string(m[len(`"timestamp_ms" : `):]), 10, 64)
		return fmt.Appendf(nil, `"timestamp_ms" : %d`, n+3600_000)
	})
	return f
}

func read(t *testing.T, files []File, o Options) *Import {
	t.Helper()
	imp, problems := Read(files, o)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return imp
}

// notesOf returns the notes of a run as one text.
func notesOf(imp *Import) string { return strings.Join(imp.Run.Environment.Notes, "\n") }

// Files of the same options are repeats of one workload, in the order in
// which they were measured, whatever the jobs were called.
func TestRepeats(t *testing.T) {
	imp := read(t, named(t, "again.json", "json.json"), Options{})
	run := imp.Run
	if len(run.Workloads) != 1 || len(run.Stacks) != 1 || len(run.Trials) != 2 || run.Experiment.Repeat != 2 {
		t.Fatalf("%d workloads, %d stacks, %d trials, repeat %d", len(run.Workloads), len(run.Stacks), len(run.Trials),
			run.Experiment.Repeat)
	}
	for i, trial := range run.Trials {
		if trial.Seq != i+1 || trial.Repeat != i+1 || trial.Status != result.TrialDone || trial.Mix != run.Workloads[0].Name {
			t.Errorf("trial %d is %+v", i+1, trial)
		}
	}
	if first := imp.Artifacts[1][0].Name; first != "json.json" {
		t.Errorf("%s is the first trial", first)
	}
	if run.Workloads[0].Summary != "job: randread 4 KiB, 1 job x depth 4, libaio, direct" || run.Stacks[0].Name != "data" {
		t.Errorf("%+v on %+v", run.Workloads[0], run.Stacks[0])
	}
}

// Everything that is not known is said, and every number is marked.
func TestNothingIsInvented(t *testing.T) {
	imp := read(t, named(t, "json.json", "status.json"), Options{})
	run := imp.Run
	e := run.Environment
	e.FioVersion, e.Notes = "", nil
	if !reflect.DeepEqual(e, result.Environment{}) || run.Environment.FioVersion != "3.33" {
		t.Errorf("environment %+v", run.Environment)
	}
	for _, want := range []string{
		"imported from 2 files", "no number was checked", "fio printed the results between 20",
		"not in json.json, status.json: ",
		"a histogram of completion latency (only the percentiles that fio printed are known)",
		"percentiles of submission, total latency",
	} {
		if !strings.Contains(notesOf(imp), want) {
			t.Errorf("the notes lack %q:\n%s", want, notesOf(imp))
		}
	}
	for _, s := range run.Stacks {
		if !slices.Equal(s.Marks, []result.Mark{result.MarkImported}) || s.Line != "" {
			t.Errorf("stack %+v", s)
		}
	}
	for _, trial := range run.Trials {
		if h := trial.Honesty(); h == nil || h.Source != result.SourceUnknown || h.Ratio != nil || h.Served != nil ||
			!strings.HasPrefix(h.Reason, "imported: no device counters") {
			t.Errorf("honesty %+v", trial.Honesty())
		}
		if !trial.Started.IsZero() {
			t.Errorf("started %v, which the file does not show", trial.Started)
		}
	}
	for i, f := range run.Imported {
		if f.Name == "" || f.Bytes == 0 || len(f.SHA256) != 64 {
			t.Errorf("file %d: %+v", i, f)
		}
	}
	// Findings say so too, and recommend nothing.
	const verdict = "Imported, not checked against a device: no stack can be recommended"
	var titles []string
	for _, f := range finding.All(&run) {
		titles = append(titles, f.Title)
		if f.Kind == fact.KindRecommendation && f.Title != verdict {
			t.Errorf("a recommendation from unchecked numbers: %s", f.Title)
		}
	}
	for _, p := range finding.Points(&run) {
		if !slices.Contains(p.Marks, "imported") || p.P50NS != 0 {
			t.Errorf("point %+v", p)
		}
	}
	if all := strings.Join(titles, "\n"); !strings.Contains(all, "measured by other programs and imported") {
		t.Errorf("no finding says that it was imported:\n%s", all)
	}
}

// Workloads whose jobs have the same name are told apart by what differs.
func TestWorkloadNames(t *testing.T) {
	base := recorded(t, foreign, "json.json", "4k.json")
	large := hourLater(changed(base, "64k.json", `"rw" : "randread"`, `"rw" : "randread", "bs" : "64k"`))
	deep := hourLater(hourLater(changed(base, "deep.json", `"iodepth" : "4"`, `"iodepth" : "32"`)))
	imp := read(t, []File{base, large, deep}, Options{})
	var names []string
	for _, w := range imp.Run.Workloads {
		names = append(names, w.Name)
	}
	if want := []string{"job bs=4096 iodepth=4", "job bs=65536 iodepth=4",
		"job bs=4096 iodepth=32"}; !slices.Equal(names, want) {
		t.Errorf("workloads %q, want %q", names, want)
	}
	_, problems := Read([]File{base, large}, Options{Workload: "RR"})
	if len(problems) != 1 || problems[0].String() != "64k.json:1: another workload than in 4k.json: here bs=65536, "+
		"there bs=4096 (import the workloads one by one, or leave --workload out and keep the jobs' names)" {
		t.Errorf("two workloads under one name: %v", problems)
	}
	if imp := read(t, named(t, "json.json", "again.json"),
		Options{Workload: "RR"}); imp.Run.Workloads[0].Name != "RR" || imp.Run.Trials[1].Mix != "RR" {
		t.Errorf("%+v", imp.Run.Workloads)
	}
	// Without options nobody knows whether they are repeats, but the user.
	withoutOptions := func(f File, as string) File {
		return changed(changed(f, as, `"global options"`, `"x"`), as, `"job options"`, `"y"`)
	}
	unknown := []File{withoutOptions(base, "a.json"), withoutOptions(large, "b.json")}
	unknown[1] = changed(unknown[1], "b.json", `"elapsed" : 1,`, `"elapsed" : 2,`)
	if run := read(t, unknown, Options{}).Run; len(run.Workloads) != 2 || run.Workloads[1].Name != "job 2" {
		t.Errorf("unknown options: %+v", run.Workloads)
	}
	if run := read(t, unknown, Options{Workload: "RR"}).Run; len(run.Workloads) != 1 || run.Trials[1].Repeat != 2 {
		t.Errorf("unknown options under one name: %+v", run.Workloads)
	}
}

// What the jobs name stands for the stack; a stack that the user names is
// that of all files.
func TestStacks(t *testing.T) {
	base := recorded(t, foreign, "json.json", "a.json")
	other := hourLater(changed(base, "b.json", `"filename" : "data"`, `"filename" : "/dev/nvme1n1"`))
	if run := read(t, []File{base, other}, Options{}).Run; len(run.Stacks) != 2 ||
		run.Stacks[1].Name != "/dev/nvme1n1" || run.Trials[1].Repeat != 1 {
		t.Errorf("%+v", run.Stacks)
	}
	stack := result.Stack{Name: "nvme", Line: "loop(size=1GiB) > xfs", Marks: []result.Mark{result.MarkLoop}}
	imp := read(t, []File{base, other}, Options{Stack: &stack})
	run := imp.Run
	if len(run.Stacks) != 1 || run.Trials[1].Repeat != 2 ||
		!slices.Equal(run.Stacks[0].Marks, []result.Mark{result.MarkImported, result.MarkLoop}) ||
		run.Stacks[0].Line != stack.Line {
		t.Errorf("%+v", run.Stacks)
	}
	if !strings.Contains(notesOf(imp), "the jobs name data, /dev/nvme1n1, all taken for the stack nvme") {
		t.Error(notesOf(imp))
	}
	if !slices.Equal(stack.Marks, []result.Mark{result.MarkLoop}) {
		t.Error("the caller's stack was changed")
	}
}

// A histogram log fills in what its JSON lacks, and a note says so.
func TestLogsOfAResult(t *testing.T) {
	plain := func(t *testing.T, name string) File { // as fio would have printed it without +
		f := recorded(t, foreign, name+".json", name+".json")
		var kept [][]byte
		inBins := false
		for line := range bytes.Lines(f.Text) {
			inBins = inBins || bytes.Contains(line, []byte(`"bins" : {`))
			if !inBins {
				kept = append(kept, line)
			}
			if inBins && bytes.Contains(line, []byte("}")) {
				inBins = false
				last := len(kept) - 1
				kept[last] = append(bytes.TrimRight(bytes.Clone(kept[last]), ",\n"), '\n')
			}
		}
		return File{f.Name, bytes.Join(kept, nil)}
	}
	files := append([]File{plain(t, "logs")}, named(t, "logs_clat_hist.1.log", "logs_bw.1.log", "logs_lat.1.log")...)
	imp := read(t, files, Options{})
	whole := read(t, named(t, "logs.json"), Options{}).Run.Trials[0].Measured()
	got := imp.Run.Trials[0].Measured()
	if len(imp.Run.Trials) != 1 || got.IOPS() != whole.IOPS() ||
		got.Operation(result.Read).Latency[result.Completion].Bins.IsEmpty() ||
		len(got.Operation(result.Read).Latency[result.Completion].Printed) == 0 {
		t.Fatalf("%d trials, %+v", len(imp.Run.Trials), got)
	}
	a, _ := hist.Percentile(got.Operation(result.Read).Latency[result.Completion].Bins, 50)
	b, _ := hist.Percentile(whole.Operation(result.Read).Latency[result.Completion].Bins, 50)
	if diff := float64(a)/float64(b) - 1; diff > 1.0/64 || diff < -1.0/64 {
		t.Errorf("the median is %d from the log, %d from fio's histogram", a, b)
	}
	exact := whole.Operation(result.Read).Latency[result.Completion].MeanNS
	if got.Operation(result.Read).Latency[result.Completion].MeanNS != exact {
		t.Error("the exact mean was given up for that of the bins")
	}
	want := fmt.Sprintf("the histogram of completion latency of the reads in logs.json is from logs_clat_hist.1.log, "+
		"which has %d of %d", got.Operation(result.Read).Latency[result.Completion].Count,
		whole.Operation(result.Read).Latency[result.Completion].Count)
	if !strings.Contains(notesOf(imp), want) || strings.Contains(notesOf(imp), "a histogram of completion") {
		t.Errorf("the notes are\n%s\nwithout %q", notesOf(imp), want)
	}
	if n := len(imp.Artifacts[1]); n != 4 {
		t.Errorf("%d artifacts", n)
	}

	// A log with a line for each I/O gives the total latency exactly.
	files = append([]File{plain(t, "each")}, named(t, "each_lat.1.log")...)
	got = read(t, files, Options{}).Run.Trials[0].Measured()
	whole = read(t, named(t, "each.json"), Options{}).Run.Trials[0].Measured()
	if got.Operation(result.Read).Latency[result.Total].Bins != whole.Operation(result.Read).Latency[result.Total].Bins ||
		got.Operation(result.Write).Latency[result.Total].Bins != whole.Operation(result.Write).Latency[result.Total].Bins {
		t.Error("the log of each I/O gives another distribution than fio printed")
	}
}

// Logs alone are a result where they tell I/Os and bytes.
func TestLogsAlone(t *testing.T) {
	for _, c := range []struct {
		json  string
		logs  []string
		exact bool
		says  string
	}{
		{"each.json", []string{"each_lat.1.log", "each_clat.1.log", "each_slat.1.log", "each_bw.1.log"}, true,
			"the unit of latencies"},
		{"each.json", []string{"each_iops.1.log"}, true, "the options of the jobs"},
		{"logs.json", []string{"logs_iops.1.log", "logs_bw.1.log", "logs_clat.1.log"}, false,
			"the rates of its windows times their length"},
		{"logs.json", []string{"logs_clat_hist.1.log"}, false, "the last window of its histogram log"},
		{"coarse.json", []string{"coarse_clat_hist.1.log"}, false, "8 bins of the histogram are one in the log"},
	} {
		t.Run(strings.Join(c.logs, "+"), func(t *testing.T) {
			imp := read(t, named(t, c.logs...), Options{})
			whole := read(t, named(t, c.json), Options{}).Run.Trials[0].Measured()
			got := imp.Run.Trials[0].Measured()
			if len(imp.Run.Trials) != 1 || imp.Run.Stacks[0].Name != Unknown {
				t.Fatalf("%d trials of %+v", len(imp.Run.Trials), imp.Run.Stacks)
			}
			if c.exact &&
				(got.Operation(result.Read).Count != whole.Operation(result.Read).Count ||
					got.Operation(result.Write).Bytes != whole.Operation(result.Write).Bytes) {
				t.Errorf("%+v, fio says %+v", got, whole)
			}
			if r := got.IOPS() / whole.IOPS(); r < 0.9 || r > 1.15 {
				t.Errorf("%v IOPS, fio says %v", got.IOPS(), whole.IOPS())
			}
			if !strings.Contains(notesOf(imp), c.says) {
				t.Errorf("the notes do not say %q:\n%s", c.says, notesOf(imp))
			}
		})
	}
	// fio 2.1 and older wrote no number into names. Jobs that share a log cannot be told apart.
	old := func(name string) File {
		return recorded(t, foreign, name, strings.Replace(name, ".1.", ".", 1))
	}
	numbered := read(t, named(t, "logs_iops.1.log", "logs_bw.1.log"), Options{}).Run.Trials[0].Measured()
	imp := read(t, []File{old("logs_iops.1.log"), old("logs_bw.1.log")}, Options{})
	if got := imp.Run.Trials[0].Measured(); !reflect.DeepEqual(got, numbered) {
		t.Errorf("%+v by names without numbers, %+v with them", got, numbered)
	}
	shared := old("logs_iops.1.log")
	shared.Text = append(slices.Clone(shared.Text), shared.Text...)
	_, problems := Read([]File{shared, old("logs_bw.1.log")}, Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].What, "logs_iops.log has windows of several jobs") {
		t.Errorf("a shared log: %v", problems)
	}
	for _, c := range []struct{ log, why string }{
		{"logs_lat.1.log", "do not show how many I/Os"}, {"logs_iops.1.log", "an IOPS log has no bandwidth"},
		{"logs_bw.1.log", "a bandwidth log has no IOPS"}, {"each_bw.1.log", "do not show how many I/Os"},
	} {
		_, problems := Read(named(t, c.log), Options{})
		if len(problems) != 1 || problems[0].At.In != c.log || !strings.Contains(problems[0].What, c.why) ||
			problems[0].Remedy == "" {
			t.Errorf("%s: %v", c.log, problems)
		}
	}
}

// A log goes to the result that wrote it, or to none.
func TestOwners(t *testing.T) {
	inDir := func(dir string, files ...File) []File {
		for i := range files {
			files[i].Name = path.Join(dir, files[i].Name)
		}
		return files
	}
	// By the name that the job gave it; each directory for itself.
	first := inDir("one", named(t, "logs.json", "logs_lat.1.log")...)
	second := inDir("two", hourLater(changed(recorded(t, foreign, "logs.json", ""), "logs.json", "fio-3.33", "fio-3.35")),
		changed(recorded(t, foreign, "logs_lat.1.log", ""), "logs_lat.1.log", "0\n", "1\n"))
	imp := read(t, slices.Concat(first, second), Options{})
	if len(imp.Run.Trials) != 2 || len(imp.Artifacts[1]) != 2 || len(imp.Artifacts[2]) != 2 {
		t.Errorf("%d trials, artifacts %d and %d", len(imp.Run.Trials), len(imp.Artifacts[1]), len(imp.Artifacts[2]))
	}
	// By the name of the file, where the job does not tell.
	imp = read(t, append(named(t, "json.json", "status.json"),
		recorded(t, foreign, "logs_lat.1.log", "json_lat.1.log")), Options{})
	if len(imp.Run.Trials) != 2 || len(imp.Artifacts[1])+len(imp.Artifacts[2]) != 4 { // with the series of status.json
		t.Errorf("%d trials, %+v", len(imp.Run.Trials), imp.Artifacts)
	}
	// To the only result beside it.
	if imp = read(t, named(t, "json.json", "logs_lat.1.log"), Options{}); len(imp.Artifacts[1]) != 2 {
		t.Errorf("%+v", imp.Artifacts)
	}
	// Not to a job that wrote logs of other names, nor to one of several.
	if _, problems := Read(append(named(t, "each.json"), recorded(t, foreign, "logs_lat.1.log", "x_lat.1.log")),
		Options{}); len(problems) != 1 {
		t.Errorf("a log of another job: %v", problems)
	}
	_, problems := Read(append(named(t, "stonewall.json"),
		recorded(t, foreign, "logs_lat.1.log", "stonewall_lat.9.log")), Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].What, "several of the results") {
		t.Errorf("a log of a ninth job: %v", problems)
	}
	// The number tells which of the jobs that ran one after another.
	imp = read(t, append(named(t, "stonewall.json"), recorded(t, foreign, "logs_lat.1.log", "stonewall_lat.2.log")),
		Options{})
	if len(imp.Artifacts[1]) != 1 || len(imp.Artifacts[2]) != 2 {
		t.Errorf("%d and %d artifacts", len(imp.Artifacts[1]), len(imp.Artifacts[2]))
	}
}

// Every problem of every file, and nothing but problems.
func TestAllProblemsAtOnce(t *testing.T) {
	good := recorded(t, foreign, "json.json", "good.json")
	imp, problems := Read([]File{
		good,
		{Name: "copy.json", Text: good.Text},
		{Name: "wrapped.json", Text: append([]byte("a note\n"), good.Text...)},
		{Name: "empty.json"},
		{Name: "cut.json", Text: good.Text[:500]},
		{Name: "x_lat.1.log", Text: []byte("1, 2, 0, 4096\n2, 3\n")},
	}, Options{})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"copy.json: the same as good.json",
		"wrapped.json:2: the same result as in good.json:1", "empty.json:1: ", "cut.json:", "x_lat.1.log:2: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not among\n%s", want, text)
		}
	}
	if imp != nil || len(problems) != 5 {
		t.Errorf("an import %v beside %d problems", imp != nil, len(problems))
	}
	if imp, problems := Read(nil, Options{Workload: "x"}); imp != nil || problems != nil {
		t.Errorf("no files give %v and %v", imp, problems)
	}
}

// A fio that failed is a failed trial with fio's own reason.
func TestFailedResult(t *testing.T) {
	run := read(t, []File{recorded(t, outputs, "enospc.json", "enospc.json"),
		recorded(t, foreign, "json.json", "json.json")}, Options{}).Run
	var failed, done int
	for _, trial := range run.Trials {
		switch {
		case trial.Status == result.TrialFailed && strings.Contains(trial.Problem.Why, "No space left") &&
			trial.Measured() == nil && trial.Honesty() == nil:
			failed++
		case trial.Status == result.TrialDone:
			done++
		}
	}
	if failed != 1 || done != 1 {
		t.Errorf("%+v", run.Trials)
	}
}

// The series of a result is kept as rates between its states.
func TestSeries(t *testing.T) {
	imp := read(t, named(t, "status.json"), Options{})
	i := slices.IndexFunc(imp.Artifacts[1], func(f File) bool { return f.Name == "series.csv" })
	if i < 0 {
		t.Fatal("no series")
	}
	lines := strings.Split(strings.TrimSpace(string(imp.Artifacts[1][i].Text)), "\n")
	if lines[0] != "seconds,read_iops,write_iops,read_bytes_per_second,write_bytes_per_second" || len(lines) < 4 {
		t.Fatalf("%q", lines)
	}
	m := imp.Run.Trials[0].Measured()
	var ios, last float64
	for _, line := range lines[1:] {
		var seconds, rate float64
		if _, err := fmt.Sscanf(line, "%f,%f,", &seconds, &rate); err != nil {
			t.Fatal(err)
		}
		ios, last = ios+rate*(seconds-last), seconds
	}
	if diff := ios - float64(m.IOs()); diff > 1 || diff < -1 || last != m.Seconds {
		t.Errorf("the series has %v I/Os in %v s, the result %d in %v s", ios, last, m.IOs(), m.Seconds)
	}
}

// What plimsoll measured and what it makes of the same output of fio when it
// is imported is one and the same.
func TestRoundTrip(t *testing.T) {
	checked := 0
	paths, err := filepath.Glob(outputs + "*.json")
	if err != nil {
		t.Fatal(err)
	}
	randread, problems := fio.Kind.Decode(parse(t, "{rw: randread, size: 16MiB}"), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, p := range paths {
		f := recorded(t, outputs, path.Base(p), "artifacts/fio.json")
		measured, err := randread.Read(map[string][]byte{"fio.json": f.Text}, workload.Exit{})
		if err != nil {
			continue
		}
		checked++
		trial := read(t, []File{f}, Options{}).Run.Trials[0]
		got := trial.Measured()
		if got == nil || got.IOPS() != measured.IOPS() || got.BytesPerSecond() != measured.BytesPerSecond() {
			t.Fatalf("%s: %+v, measured was %+v", p, got, measured)
		}
		for _, d := range [][2]result.Operation{{got.Operation(result.Read), measured.Operation(result.Read)},
			{got.Operation(result.Write), measured.Operation(result.Write)}} {
			for _, l := range [][2]hist.Histogram{{d[0].Latency[result.Submission], d[1].Latency[result.Submission]},
				{d[0].Latency[result.Completion], d[1].Latency[result.Completion]},
				{d[0].Latency[result.Total], d[1].Latency[result.Total]}} {
				for _, q := range []float64{1, 50, 90, 99, 99.9, 99.99} {
					a, _ := hist.Percentile(l[0].Bins, q)
					b, _ := hist.Percentile(l[1].Bins, q)
					if a != b {
						t.Errorf("%s: percentile %v is %d, measured was %d", p, q, a, b)
					}
				}
			}
		}
	}
	if checked < 6 {
		t.Errorf("only %d outputs are measurements; the test shows little", checked)
	}
}

// FuzzRead: any names and contents give problems that name their file, or a
// run whose trials, stacks and workloads fit together.
func FuzzRead(f *testing.F) {
	json := recorded(f, foreign, "json.json", "")
	f.Add("a.json", json.Text, "a_lat.1.log", []byte("5, 1000, 0, 4096, 0\n7, 3000, 1, 4096, 0\n"))
	f.Add("x/a.json", json.Text, "x/b.json", json.Text)
	f.Add("a.json", json.Text, "b.json", changed(json, "", `"iodepth" : "4"`, `"iodepth" : "32"`).Text)
	f.Add("x_iops.1.log", []byte("500, 100, 0, 0, 0\n1000, 300, 0, 0, 0\n"), "x_bw.1.log",
		[]byte("500, 400, 0, 0, 0\n1000, 1200, 0, 0, 0\n"))
	small := `{"fio version":"fio-3.1","jobs":[{"jobname":"j","read":{"io_bytes":4096,"total_ios":1,"runtime":10,"lat_ns":{"max":5,"bins":{"5":1}}}},{"jobname":"k","groupid":1,"error":5}]}`
	f.Add("", []byte(small), "b_clat.log", []byte("1, 2, 0, 512\n2, 2, 0, 512\n"))
	f.Fuzz(func(t *testing.T, name1 string, text1 []byte, name2 string, text2 []byte) {
		imp, problems := Read([]File{{name1, text1}, {name2, text2}}, Options{})
		if (imp == nil) == (len(problems) == 0) {
			t.Fatalf("%v and %v", imp, problems)
		}
		for _, p := range problems {
			if p.At.In != name1 && p.At.In != name2 || p.What == "" {
				t.Fatalf("a problem that explains nothing: %+v", p)
			}
		}
		if imp == nil {
			return
		}
		run := imp.Run
		for i, trial := range run.Trials {
			known := slices.ContainsFunc(run.Stacks, func(s result.Stack) bool {
				return s.Name == trial.Stack && slices.Contains(s.Marks, result.MarkImported)
			}) && slices.ContainsFunc(run.Workloads, func(w result.Workload) bool { return w.Name == trial.Mix })
			if trial.Window != nil {
				mix := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == trial.Mix })
				known = mix >= 0 && trial.Window.Seconds > 0 && trial.Window.Outside < 1
				for _, of := range run.Mixes[max(mix, 0)].Tenants {
					known = known && of.Count == len(slices.DeleteFunc(slices.Clone(trial.Instances),
						func(i result.Instance) bool { return i.Tenant != of.Name }))
				}
			}
			if trial.Seq != i+1 || trial.Repeat < 1 || !known || len(imp.Artifacts[trial.Seq]) == 0 {
				t.Fatalf("trial %+v of %+v", trial, run)
			}
			if trial.Window == nil && (trial.Measured() == nil) == (trial.Problem == nil) {
				t.Fatalf("trial %+v", trial)
			}
		}
		finding.All(&run)
	})
}
