package outputs

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/result"
)

const goYCSB = `***************** properties *****************
"threadcount"="8"
"workload"="core"
**********************************************
READ   - Takes(s): 10.0, Count: 9999, OPS: 999.9, Avg(us): 1, Min(us): 1, Max(us): 1, 99th(us): 1
Run finished, takes 20s
READ   - Takes(s): 19.9, Count: 6000, OPS: 301.5, Avg(us): 9000, Max(us): 90000, 50th(us): 8000, 99th(us): 31000
READ_ERROR - Takes(s): 19.9, Count: 20, OPS: 1.0, Avg(us): 9000, Min(us): 1000, Max(us): 90000, 99th(us): 31000
UPDATE - Takes(s): 19.9, Count: 4000, OPS: 201.0, Avg(us): 19000, Max(us): 99000, 50th(us): 18000, 99th(us): 51000
`

const memtier = `{"configuration": {"threads": 4, "clients": 50, "pipeline": 1},
"run information": {"Threads": 4, "Connections per thread": 50},
"ALL STATS": {"Sets": {"Ops/sec": 9000}, "Totals": {"Count": 6000000, "Ops/sec": 100000.5, "Average Latency": 1.9,
"Percentile Latencies": {"p50.00": 1.7, "p99.00": 4.5, "p99.90": 9.25}, "Connection Errors": 0}}}
`

const benchBase = `{
  "Start timestamp (milliseconds)": 1700000000000,
  "terminals": "16",
  "Benchmark Type": "tpcc",
  "Latency Distribution": {
    "95th Percentile Latency (microseconds)": 31000,
    "99th Percentile Latency (microseconds)": 52000,
    "Median Latency (microseconds)": 14000,
    "Average Latency (microseconds)": 15900
  },
  "Throughput (requests/second)": 1000.25,
  "Goodput (requests/second)": 996.0,
  "Measured Requests": 60015
}
`

const elbencho = `ISO date,label,path type,hosts,threads,IO depth,operation,IOPS [first],IOPS [last],IO lat us [avg]
2026-01-02T03:04:05,,dir,1,8,4,MKDIRS,,,
2026-01-02T03:04:05,,dir,1,8,4,WRITE,3494,2941,10000
2026-01-02T03:05:05,,dir,2,8,1,READ,9673,9048,1700
`

const vdbench = `16:24:29.004 Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2
16:24:30.181     avg_2-1      320.0    40.00  131072   0.00    0.739    0.000
16:24:31.001 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: threads=8
16:24:32.018           1       84.0     0.08    1024  53.57    0.013    0.010
16:24:36.053     avg_2-5    10450.5     0.10    1024  50.72    0.762    0.010
`

const fileIO = `sysbench 1.0.20
Number of threads: 1
File operations:
    reads/s:                      958.24
    writes/s:                     638.84
    fsyncs/s:                     2045.67
General statistics:
    total time:                          60.0045s
    total number of events:              218458
Latency (ms):
         avg:                                    0.27
         95th percentile:                        1.01
`

// What each program writes is read with the figures that it has, and with nothing else.
func TestReaders(t *testing.T) {
	for _, c := range []struct {
		name, text string
		clients    []int
		rate, mean []float64 // a second, ms
		p50, p99   float64   // ms, of the first
		note       string
	}{
		{name: "go-ycsb", text: goYCSB, clients: []int{8}, rate: []float64{500}, mean: []float64{13}, p99: 51,
			note: "20 of 10020 operations failed"},
		{name: "memtier", text: memtier, clients: []int{200}, rate: []float64{100000.5}, mean: []float64{1.9},
			p50: 1.7, p99: 4.5},
		{name: "benchbase", text: benchBase, clients: []int{16}, rate: []float64{1000.25}, mean: []float64{15.9},
			p50: 14, p99: 52, note: "255 of 60015 operations failed"},
		{name: "elbencho", text: elbencho, clients: []int{16, 32}, rate: []float64{9048, 2941}, mean: []float64{1.7, 10}},
		{name: "vdbench", text: vdbench, clients: []int{8}, rate: []float64{10450.5}, mean: []float64{0.762}},
		{name: "sysbench, too short to print", text: "Number of threads: 1\ntotal time: 10s\ntotal number of " +
			"events: 3568104\n" +
			"avg: 0.00\n95th percentile: 0.00\n", clients: []int{1}, rate: []float64{356810.4}, mean: []float64{0}},
		{name: "sysbench, beyond its histogram", text: "Number of threads: 64\ntotal time: 1000s\ntotal number of " +
			"events: 400\n" +
			"avg: 160000.00\nmax: 172000.00\n99th percentile: 100000.00\n", clients: []int{64}, rate: []float64{0.4},
			mean: []float64{160000}, note: "its 99 percentile is at least that"},
		{name: "sysbench, the end of a bucket", text: "Number of threads: 8\ntotal time: 10s\ntotal number of " +
			"events: 6600\n" +
			"avg: 12.00\nmax: 15.00\n99th percentile: 15.27\n", clients: []int{8}, rate: []float64{660}, mean: []float64{12},
			p99: 15},
		{name: "sysbench fileio", text: fileIO, clients: []int{1}, rate: []float64{1597.08}, mean: []float64{0}},
		{name: "sysbench fileio 1.1", text: strings.NewReplacer("reads/s:", "read: IOPS=", "writes/s:",
			"write: IOPS=", "fsyncs/s:", "fsync: IOPS=").Replace(strings.ReplaceAll(fileIO, "  ", "")),
			clients: []int{1}, rate: []float64{1597.08}, mean: []float64{0}},
	} {
		run, wrong := read([]File{{"x", []byte(c.text)}}, nil)
		if len(wrong) > 0 || len(run.Trials) != len(c.rate) {
			t.Errorf("%s: %d trials, %v", c.name, len(run.Trials), wrong)
			continue
		}
		for i := range c.rate {
			m := run.Trials[i].Measured()
			l := m.Operations[0].Latency[result.Total]
			if clients := run.Mixes[i].Tenants[0].LoadOf().Clients; clients != c.clients[i] || !near(m.IOPS(), c.rate[i]) ||
				!near(l.MeanNS/1e6, c.mean[i]) {
				t.Errorf("%s, result %d: %d clients, %v/s, mean %v ms", c.name, i, clients, m.IOPS(), l.MeanNS/1e6)
			}
			printed := map[float64]float64{}
			for _, q := range l.Printed {
				printed[q.Percent] = float64(q.NS) / 1e6
			}
			if i == 0 && (printed[50] != c.p50 || printed[99] != c.p99) {
				t.Errorf("%s: percentiles %v", c.name, printed)
			}
			notes := strings.Join(append(m.Notes, run.Environment.Notes...), "; ")
			if c.note != "" && !strings.Contains(notes, c.note) {
				t.Errorf("%s is noted as %q, and not %q", c.name, notes, c.note)
			}
		}
	}
}

// The command of a shell that ran YCSB says how many clients there were, and whether at a rate.
func TestCommandsOfYCSB(t *testing.T) {
	const result = "    [OVERALL], Throughput(ops/sec), 1000.0\n    [READ], Operations, 100\n    [READ], Return=OK, 100\n"
	run, wrong := read([]File{{"notes.md", []byte("# A\n    $ bin/ycsb run scylla -threads 84 -p x=1\n" + result +
		"# B\n```\n./bin/ycsb.sh load redis -s \\\n  -P workloads/workloada \\\n  -threads 50\n" + result + "```\n")}}, nil)
	if len(wrong) > 0 || len(run.Trials) != 2 {
		t.Fatalf("%d results, %v", len(run.Trials), wrong)
	}
	for i, want := range []int{50, 84} { // levels are sorted
		if got := run.Mixes[i].Tenants[0].LoadOf().Clients; got != want {
			t.Errorf("result %d has %d clients, want %d", i, got, want)
		}
	}
	_, wrong = read([]File{{"rated.md", []byte("$ bin/ycsb run scylla -target 5000 -threads 84\n" + result)}},
		map[string]string{"clients": "84"})
	if len(wrong) != 1 || !strings.Contains(wrong[0].What, "at a rate") {
		t.Errorf("a result at a rate: %v", wrong)
	}
}

// Java writes large numbers with an exponent.
func TestNumbersOfJava(t *testing.T) {
	for text, want := range map[string]float64{"1.0E7": 1e7, "1.5e3 x": 1500, "205.7 per sec.)": 205.7, "6,5 ms": 6.5,
		"1.0E": 1} {
		if x, ok := leading(text); !ok || x != want {
			t.Errorf("%q is %v, %v", text, x, ok)
		}
	}
}

const pgbenchRun = `transaction type: <builtin: TPC-B (sort of)>
number of clients: 4
number of transactions actually processed: %s
number of failed transactions: %d (x)
latency average = 4.0 ms
tps = 1000.0 (without initial connection time)
`

const ycsbRun = `java site.ycsb.Client -db x -threads 8
[OVERALL], Throughput(ops/sec), 1000
[READ], Operations, %d
[READ], AverageLatency(us), 7900
[READ], Return=OK, %[1]d
[READ], Return=ERROR, %d
`

// Operations that failed are noted from the first one on, and refused above the share that is allowed; a run that was
// aborted is refused.
func TestFailedOperations(t *testing.T) {
	for _, c := range []struct {
		name, text, noted, refused string
		limit                      float64
	}{
		{"pgbench", fmt.Sprintf(pgbenchRun, "10000", 1), "1 of 10001 operations failed", "", 0.01},
		{"pgbench", fmt.Sprintf(pgbenchRun, "9000", 1000), "", "x:1: 1000 of 10000 operations failed (10.0%)", 0.01},
		{"pgbench, allowed", fmt.Sprintf(pgbenchRun, "9000", 1000), "1000 of 10000 operations failed (10.0%)", "", 0.2},
		{"pgbench, aborted", fmt.Sprintf(pgbenchRun, "77/80", 0), "",
			"x:1: pgbench did not end well: number of transactions", 1},
		{"pgbench, aborted", fmt.Sprintf(pgbenchRun, "10", 0) + "Run was aborted; the above results are incomplete.\n", "",
			"x:1: pgbench did not end well: Run was aborted", 1},
		{"ycsb", fmt.Sprintf(ycsbRun, 4, 96), "", "x:2: 96 of 100 operations failed (96.0%)", 0.01},
		{"ycsb", fmt.Sprintf(ycsbRun, 999, 1), "1 of 1000 operations failed", "", 0.01},
		{"ycsb of failures alone", "site.ycsb.Client -threads 8\n[OVERALL], Throughput(ops/sec), 1000\n" +
			"[UPDATE], Operations, 0\n" +
			"[UPDATE-FAILED], Operations, 50\n", "", "x:2: 50 of 50 operations failed", 0.01},
		{"sysbench", "Number of threads: 8\nignored errors: 5 (x)\ntotal time: 10s\ntotal number of events: 995\n",
			"5 of 1000 operations failed", "", 0.01},
		{"hammerdb", "Vuser 1:4 Active Virtual Users configured\nVuser 3:FINISHED FAILED\n" +
			"Vuser 1:TEST RESULT : System achieved 6000 NOPM from 1 X TPM\n", "",
			"x:3: hammerdb did not end well: Vuser 3:FINISHED FAILED", 1},
		{"hammerdb, later", "Vuser 1:4 Active Virtual Users configured\n" +
			"Vuser 1:TEST RESULT : System achieved 6000 NOPM from 1 X TPM\nVuser 3:FINISHED FAILED\n", "",
			"x:2: hammerdb did not end well: Vuser 3:FINISHED FAILED", 1},
	} {
		run, wrong := Read([]File{{"x", []byte(c.text)}}, Options{MostFailed: c.limit})
		if said := wrong.Join("\n"); c.refused == "" && said != "" || !strings.Contains(said, c.refused) {
			t.Errorf("%s: %q, and not %q", c.name, said, c.refused)
		}
		if c.noted == "" || len(run.Trials) == 0 {
			continue
		}
		if notes := strings.Join(run.Trials[0].Measured().Notes, "; "); !strings.Contains(notes, c.noted) {
			t.Errorf("%s is noted as %q, and not %q", c.name, notes, c.noted)
		}
	}
}

// A rate and a mean that need more clients than there were cannot be; with few of them at work there is a note.
func TestLittlesLaw(t *testing.T) {
	text := func(events int, mean string) []File {
		return []File{{"x", fmt.Appendf(nil, "Number of threads: 8\ntotal time: 10s\ntotal number of events: %d\navg: %s\n",
			events, mean)}}
	}
	if _, wrong := read(text(335910, "7.03"), nil); !strings.Contains(wrong.Join(""),
		"x:1: 33.6k a second that take 7.03 ms each need 237 clients at a time, and there were 8 clients") {
		t.Error(wrong)
	}
	for mean, want := range map[string]string{"1.00": "keep 1.00 of 8 clients at work", "7.90": ""} {
		run, wrong := read(text(10000, mean), nil)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		notes := strings.Join(run.Trials[0].Measured().Notes, "; ")
		if !strings.Contains(notes, want) || want == "" && notes != "" {
			t.Errorf("mean %s is noted as %q, and not %q", mean, notes, want)
		}
	}
}

// Percentiles of pgbench are those of its log, which may be of several threads.
func TestPgbenchLog(t *testing.T) {
	log := func(from, to int) []byte {
		var out strings.Builder
		for us := from; us <= to; us++ {
			fmt.Fprintf(&out, "0 %d %d 0 1700000000 123456\n", us, us)
		}
		return []byte(out.String())
	}
	files := []File{{"run.txt", fmt.Appendf(nil, pgbenchRun, "10000", 0)}, {"pgbench_log.7", log(501, 1000)},
		{"pgbench_log.7.1", append(log(1, 500), "0 1 fail"...)}}
	run, wrong := read(files, nil)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	printed := run.Trials[0].Measured().Operations[0].Latency[result.Total].Printed
	want := []uint64{500_000, 950_000, 990_000, 999_000}
	for i, q := range printed {
		if len(printed) != len(want) || q.NS != want[i] {
			t.Fatalf("%+v, want %v", printed, want)
		}
	}
	if _, wrong := read(files[1:2], nil); !strings.Contains(wrong.Join(""), "alone are no result") {
		t.Error(wrong)
	}
}

const iostatText = `Linux 6.1 (host) 	01/01/26 	_x86_64_	(8 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          40.00    0.00   10.00    0.00    0.00   50.00

`

// All forms of iostat have the same counters. Times before lines do not matter.
func TestFormsOfIostat(t *testing.T) {
	table := "Device r/s rkB/s w/s wkB/s %util\nsda 1000 4000 200 1600 90\ncciss/c0d0 0 0 0 0 0\n\n"
	pretty := "r/s rkB/s rareq-sz Device\n1000 4000 4 sda\n\nw/s wkB/s wareq-sz Device\n200 1600 8 sda\n\n" +
		"aqu-sz %util Device\n1 90 sda\n\n"
	json := `{"avg-cpu": {"user": 40.0, "nice": 0.0, "system": 10.0, "idle": 50.0}, "disk": [{"disk_device": "sda", ` +
		`"r/s": 1000.0, "w/s": 200.0, "rkB/s": 4000.0, "wkB/s": 1600.0, "util": 90.0}]}`
	stampedText := ""
	for line := range strings.Lines(iostatText + table + iostatText + table) {
		stampedText += "2026-01-01 10:44:05.254054\t" + line
	}
	for name, text := range map[string]string{
		"text":   iostatText + table + iostatText + table,
		"pretty": iostatText + pretty + iostatText + pretty,
		"json":   `{"sysstat": {"hosts": [{"number-of-cpus": 8, "statistics": [` + json + "," + json + "]}]}}\n",
		"ts":     stampedText,
	} {
		run, wrong := read([]File{sysbenchOf(8, 400), {"iostat.txt", []byte(text)}}, nil)
		if len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
			continue
		}
		trial := run.Trials[0]
		served := trial.Checks[0].Served[0]
		n := float64(trial.Measured().IOs())
		if !near(float64(served.Reads)/n, 2.5) || !near(float64(served.Writes)/n, 0.5) ||
			!near(float64(served.ReadBytes)/n, 10240) || !near(trial.Instances[0].Usage.CPUSeconds/n, 0.01) ||
			run.Mixes[0].Host.CPUs != 8 {
			t.Errorf("%s: %+v, %+v", name, served, trial.Instances[0].Usage)
		}
	}
	for text, want := range map[string]string{
		iostatText + table: "unless iostat ran with -y",
		iostatText + "Device tps kB/s rqm/s await areq-sz aqu-sz %util\n" +
			"sda 1 1 1 1 1 1 1\n": "iostat -s does not distinguish reads from writes",
		iostatText + table + strings.ReplaceAll(table, "4000", "4.0k"): "iostat --human rounds its numbers",
	} {
		_, wrong := read([]File{sysbenchOf(8, 400), {"iostat.txt", []byte(text)}}, nil)
		if !strings.Contains(wrong.Join(""), want) {
			t.Errorf("%v, and not %q", wrong, want)
		}
	}
	once := File{"iostat.txt", []byte(iostatText + table)}
	if _, wrong := Read([]File{sysbenchOf(8, 400), once}, Options{FirstReport: true}); len(wrong) > 0 {
		t.Errorf("one report of iostat -y: %v", wrong)
	}
}

// A refusal names the program that printed a file, or all that are read.
func TestUnread(t *testing.T) {
	for text, want := range map[string]string{
		" \n":                          "the file is empty",
		"Command Line: diskspd -b4K\n": "this is output of DiskSpd, which is not read",
		"ALL STATS\nType Ops/sec\n":    "this is output of memtier_benchmark, as text",
		"hello\n":                      "sysbench, pgbench, hammerdb, ycsb, go-ycsb, benchbase, memtier, elbencho, vdbench",
	} {
		if what, remedy := Unread([]byte(text)); !strings.Contains(what, want) || remedy == "" {
			t.Errorf("%q: %q, %q", text, what, remedy)
		}
	}
	for text, want := range map[string]string{
		"progress: 5.0 s, 801.5 tps, lat 19.9 ms stddev 3.0\n": "pgbench printed no result here",
		"java site.ycsb.Client -threads 16\nException\n":       "ycsb printed no result here",
	} {
		if _, wrong := read([]File{{"x", []byte(text)}}, nil); !strings.Contains(wrong.Join(""), want) {
			t.Errorf("%v, and not %q", wrong, want)
		}
	}
}
