package outputs

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/runview"
)

func files(t *testing.T, names ...string) (all []File) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !Recognized(text) {
			t.Errorf("%s is not recognized", name)
		}
		all = append(all, File{name, text})
	}
	return all
}

// read converts outputs with the defaults of the command line.
func read(files []File, columns map[string]string) (result.Run, problem.List) {
	return Read(files, Options{Columns: columns, MostFailed: MostFailed})
}

// near reports whether two numbers are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b)+1e-12 }

func TestBenchmarksArePoints(t *testing.T) {
	for name, want := range map[string][]struct {
		clients        int
		rate           float64
		mean, p95, p99 float64 // ms
	}{
		"sysbench-8.txt":   {{8, 400, 19.98, 0, 42.61}},
		"sysbench-1.1.txt": {{4, 500, 8, 11, 0}},
		"sysbench-0.5.txt": {{2, 100, 2.2, 5.5, 0}},
		"pgbench.txt":      {{16, 801.5, 19.95, 0, 0}},
		"pgbench-9.6.txt":  {{4, 1000, 4, 0, 0}, {8, 2000, 4, 0, 0}},
		"hammerdb.txt":     {{32, 1000, 0, 0, 0}, {64, 1500, 0, 0, 0}},
		"ycsb.txt":         {{16, 10000, 1.25, 4, 7}},
	} {
		run, wrong := read(files(t, name), nil)
		if len(wrong) > 0 || len(run.Trials) != len(want) {
			t.Errorf("%s: %d trials, %v", name, len(run.Trials), wrong)
			continue
		}
		for i, w := range want {
			operation := run.Trials[i].Instances[0].Measurement.Operations[0]
			percentiles := map[float64]float64{}
			for _, q := range operation.Latency[result.Total].Printed {
				percentiles[q.Percent] = float64(q.NS) / 1e6
			}
			clients := run.Mixes[i].Tenants[0].LoadOf().Clients
			if clients != w.clients || !near(operation.Rate, w.rate) ||
				!near(operation.Latency[result.Total].MeanNS/1e6, w.mean) ||
				!near(percentiles[95], w.p95) || !near(percentiles[99], w.p99) {
				t.Errorf("%s, result %d: %d clients, %+v", name, i+1, clients, operation)
			}
		}
	}
}

// What iostat counted is that of an operation of the test, of whole disks, without the report since the start.
func TestIostatFillsColumns(t *testing.T) {
	for _, c := range []struct {
		iostat                          string
		reads, writes, read, write, cpu float64 // of an operation: bytes, s
		cpus                            float64
	}{
		// (1000 + 3000) / 2 reads over 400 a second; 50% of 8 processors.
		{"iostat.txt", 5, 1.5, 16000 * 1024 / 400., 9600 * 1024 / 400., 0.01, 8},
		{"iostat-old.txt", 1, 0.25, 6400 * 512 / 400., 1600 * 512 / 400., 0.005, 4},
	} {
		run, wrong := read(files(t, "sysbench-8.txt", c.iostat), map[string]string{"memory": "64GiB", "class": "oltp"})
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		cells := runview.Of(&run)
		point := cells.Points()[0]
		for metric, want := range map[*runview.Metric]float64{&runview.DeviceReads: c.reads, &runview.DeviceWrites: c.writes,
			&runview.DeviceReadBytes: c.read, &runview.DeviceWriteBytes: c.write, &runview.CPUPerOp: c.cpu} {
			if s := cells.Sample(point, "", *metric); len(s) != 1 || math.Abs(s[0].Value()/want-1) > 1e-4 {
				t.Errorf("%s: %s is %v, and not %v", c.iostat, metric.ID, s, want)
			}
		}
		if host := run.Mixes[0].Host; host.CPUs != c.cpus || host.MemoryBytes != 64<<30 || run.Workloads[0].Name != "oltp" {
			t.Errorf("%+v, %+v", host, run.Workloads)
		}
		if notes := strings.Join(run.Environment.Notes, "\n"); !strings.Contains(notes, "of iostat, of ") {
			t.Error(notes)
		}
	}
}

// Of several outputs, iostat's belongs to the one that is called like it.
func TestIostatBelongsToAnOutput(t *testing.T) {
	outputs := files(t, "sysbench-8.txt", "sysbench-16.txt", "iostat.txt")
	outputs[2].Name = "iostat-16.txt"
	run, wrong := read(outputs, nil)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if a, b := run.Trials[0].Checks[0].Served, run.Trials[1].Checks[0].Served; len(a) != 0 || len(b) != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	named := func(names ...string) []File { return files(t, names...) }
	text := func(text string) []File { return []File{{"x.txt", []byte(text)}} }
	for _, c := range []struct {
		files []File
		want  string
	}{
		{named("sysbench-rated.txt"), "sysbench-rated.txt:3: sysbench began transactions at a rate"},
		{named("sysbench-cut.txt"), "sysbench-cut.txt:4: sysbench failed: mysql_stmt_execute() returned error 1290"},
		{named("pgbench.txt", "iostat-once.txt"), "iostat-once.txt:3: there is one report"},
		{named("iostat.txt"), "iostat and logs of transactions alone are no result"},
		{named("pgbench.txt", "pgbench.txt"), "pgbench.txt:1: it is the same as pgbench.txt"},
		{named("sysbench-8.txt", "sysbench-16.txt", "iostat.txt"),
			"iostat.txt:1: it is not known during which of the results"},
		{append(named("pgbench.txt"), text("{}")...),
			"x.txt:1: import cannot read it; it reads fio's JSON and logs, output of sysbench, "},
		{text("Number of threads: 8\n"), "x.txt:1: the run of sysbench that begins here has no number of events"},
		{text("sysbench 1.0.20\nCreating table\n"), "x.txt:1: sysbench printed no result here"},
		{text("transaction type: a\ntps = 5 (including connections establishing)\n"),
			"x.txt:1: the run of pgbench that begins here has no tps"},
		{text("transaction type: a\nrate limit schedule lag: avg 1\ntps = 5\n"),
			"x.txt:2: pgbench began transactions at a rate"},
		{text("TEST RESULT : System achieved 0 NOPM from 1 X TPM\n"), "x.txt:1: HammerDB counted no new orders"},
		{text("TEST RESULT : System achieved 60 NOPM from 1 X TPM\n"),
			"x.txt:1: hammerdb does not say here how many clients"},
		{text("Command line: -target 5\n[OVERALL], Throughput(ops/sec), 5\n"),
			"x.txt:2: YCSB began operations at a rate"},
		{text("Number of threads: many\ntotal time: 5s\ntotal number of events: 5\n"),
			"x.txt:1: sysbench does not say here how many clients"},
		{append(named("pgbench.txt"), text("Device r/s w/s %util\n\nDevice r/s w/s %util\ndm-0 1 1 1\ndm-1 1 1 1\n")...),
			"x.txt:1: there is no disk among these devices"},
		{append(named("pgbench.txt"), text("Device r/s w/s %util\n\nDevice r/s w/s %util\nsda 1 1\nsda 1 1 1\n")...),
			"x.txt:4: a line of a device has 3 columns, and the heading 4"},
	} {
		_, wrong := read(c.files, nil)
		if said := wrong.Join("\n"); !strings.Contains(said, c.want) {
			t.Errorf("%q, and not %q", said, c.want)
		}
	}
}

// sysbenchOf is the output of a run of sysbench at a number of threads.
func sysbenchOf(threads int, rate float64) File {
	return File{fmt.Sprintf("sysbench-%d.txt", threads), fmt.Appendf(nil, "sysbench 1.0.20\nNumber of threads: %d\n"+
		"total time: 10.0s\ntotal number of events: %.0f\n", threads, 10*rate)}
}

// A sweep stands in the order of its levels as numbers, whatever the shell's order was: the least is the reference.
func TestSweepsAreInOrder(t *testing.T) {
	sweep := []File{sysbenchOf(1, 150), sysbenchOf(2, 290), sysbenchOf(16, 620), sysbenchOf(128, 980)}
	for _, order := range [][]int{{0, 3, 2, 1}, {3, 2, 1, 0}, {0, 1, 2, 3}} {
		var given []File
		for _, i := range order {
			given = append(given, sweep[i])
		}
		run, wrong := read(given, nil)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		var clients []int
		for _, m := range run.Mixes {
			clients = append(clients, m.Tenants[0].LoadOf().Clients)
		}
		if !slices.Equal(clients, []int{1, 2, 16, 128}) || run.Trials[0].Measured().IOPS() != 150 {
			t.Errorf("given as %v: clients %v, first %v/s", order, clients, run.Trials[0].Measured().IOPS())
		}
	}
}

// What a file does not say is an empty field of a table, and no number that it was computed with.
func TestUnknownIsEmpty(t *testing.T) {
	run, wrong := read(files(t, "pgbench.txt"), nil)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var out bytes.Buffer
	if err := export.CSV(&out, &run); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for i, name := range records[0] {
		known[name] = records[1][i]
	}
	for name, want := range map[string]string{"rate": "801.5", "operation_total_mean_ns": "19950000", "seconds": "",
		"bytes_per_second": "", "user_cpu_cores": "", "system_cpu_cores": "", "operation_count": "", "operation_errors": "",
		"operation_bytes": "", "operation_bytes_per_second": "", "operation_total_min_ns": "", "operation_total_max_ns": ""} {
		if got, has := known[name]; !has || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if v, ok := runview.Bandwidth.Of(&run.Trials[0], ""); ok {
		t.Errorf("a bandwidth of %v", v)
	}
}

func TestColumnsOfACommandLine(t *testing.T) {
	given, err := points.ParseColumns("memory=64GiB, own-cpus=2")
	if err != nil || given["memory"] != "64GiB" || given["own-cpus"] != "2" {
		t.Errorf("%v, %v", given, err)
	}
	for _, text := range []string{"", "memory", "colour=red", "memory=lots", "mix=a", "class=../x"} {
		if _, err := points.ParseColumns(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	iostat, err := os.ReadFile("testdata/iostat.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, iostat)
	}
	f.Fuzz(func(t *testing.T, text, iostat []byte) {
		run, wrong := read([]File{{"a.txt", text}, {"a-iostat.txt", iostat}}, map[string]string{"memory": "1GiB"})
		if len(wrong) > 0 {
			return
		}
		for _, trial := range run.Trials {
			for _, in := range trial.Instances {
				if of := in.Measurement.Operations[0]; !(of.Rate > 0) || !(in.Measurement.Seconds > 0) {
					t.Errorf("trial %d: %+v", trial.Seq, in.Measurement)
				}
			}
		}
	})
}
