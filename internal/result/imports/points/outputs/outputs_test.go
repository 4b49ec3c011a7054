package outputs

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/result"
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
		run, wrong := Read(files(t, name), nil)
		if len(wrong) > 0 || len(run.Trials) != len(want) {
			t.Errorf("%s: %d trials, %v", name, len(run.Trials), wrong)
			continue
		}
		for i, w := range want {
			of := run.Trials[i].Instances[0].Measurement.Operations[0]
			at := map[float64]float64{}
			for _, q := range of.Latency[result.Total].Printed {
				at[q.Percent] = float64(q.NS) / 1e6
			}
			clients := run.Mixes[i].Tenants[0].LoadOf().Clients
			if clients != w.clients || !near(of.Rate, w.rate) || !near(of.Latency[result.Total].MeanNS/1e6, w.mean) ||
				!near(at[95], w.p95) || !near(at[99], w.p99) {
				t.Errorf("%s, result %d: %d clients, %+v", name, i+1, clients, of)
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
		run, wrong := Read(files(t, "sysbench-8.txt", c.iostat), map[string]string{"memory": "64GiB", "class": "oltp"})
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		cells := runview.Of(&run)
		at := cells.Points()[0]
		for metric, want := range map[*runview.Metric]float64{&runview.DeviceReads: c.reads, &runview.DeviceWrites: c.writes,
			&runview.DeviceReadBytes: c.read, &runview.DeviceWriteBytes: c.write, &runview.CPUPerOp: c.cpu} {
			if s := cells.Sample(at, "", *metric); len(s) != 1 || math.Abs(s[0].Value()/want-1) > 1e-4 {
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
	all := files(t, "sysbench-8.txt", "sysbench-16.txt", "iostat.txt")
	all[2].Name = "iostat-16.txt"
	run, wrong := Read(all, nil)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if a, b := run.Trials[0].Checks[0].Served, run.Trials[1].Checks[0].Served; len(a) != 0 || len(b) != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	all := func(names ...string) []File { return files(t, names...) }
	text := func(text string) []File { return []File{{"x.txt", []byte(text)}} }
	for _, c := range []struct {
		files []File
		want  string
	}{
		{all("sysbench-rated.txt"), "sysbench-rated.txt:3: sysbench began transactions at a rate"},
		{all("sysbench-cut.txt"), "sysbench-cut.txt:4: sysbench failed: mysql_stmt_execute() returned error 1290"},
		{all("pgbench.txt", "iostat-once.txt"), "iostat-once.txt:3: there is one report"},
		{all("iostat.txt"), "iostat says nothing of operations"},
		{all("pgbench.txt", "pgbench.txt"), "pgbench.txt:1: it is the same as pgbench.txt"},
		{all("sysbench-8.txt", "sysbench-16.txt", "iostat.txt"), "iostat.txt:1: nobody knows during which of the results"},
		{append(all("pgbench.txt"), text("{}")...),
			"x.txt:1: this is no output of sysbench, pgbench, hammerdb, ycsb or iostat -x"},
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
		{append(all("pgbench.txt"), text("Device r/s w/s %util\n\nDevice r/s w/s %util\ndm-0 1 1 1\ndm-1 1 1 1\n")...),
			"x.txt:1: there is no disk among these devices"},
		{append(all("pgbench.txt"), text("Device r/s w/s %util\n\nDevice r/s w/s %util\nsda 1 1\nsda 1 1 1\n")...),
			"x.txt:4: a line of a device has 3 columns, and the heading 4"},
	} {
		_, wrong := Read(c.files, nil)
		if said := wrong.Join("\n"); !strings.Contains(said, c.want) {
			t.Errorf("%q, and not %q", said, c.want)
		}
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
	f.Fuzz(func(t *testing.T, text, beside []byte) {
		run, wrong := Read([]File{{"a.txt", text}, {"a-iostat.txt", beside}}, map[string]string{"memory": "1GiB"})
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
