package ycsb_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// What is declared is what the generator is told.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text    string
		summary string
		want    func(p *ycsb.Plan) bool
	}{
		{"{workload: C, records: 1000}", "YCSB C on the fake, 1000 records of 1000B, zipfian, 1 thread",
			func(p *ycsb.Plan) bool {
				return maps.Equal(p.Mix, ycsb.Mix{ycsb.Read: 1}) && p.Distribution == ycsb.Zipfian && p.Threads == 1 &&
					p.Dataset == database.Dataset{Records: 1000, Fields: 10, FieldBytes: 100, Seed: 1} && p.Fresh && !p.Open() &&
					p.Timeout == 5*time.Second && p.Client == "fake" && !p.ReadOne && !p.UpdateAll && p.MaxScan == 0
			}},
		{"{workload: D, records: 5, distribution: uniform, seed: 7}",
			"YCSB D on the fake, 5 records of 1000B, uniform, 1 thread",
			func(p *ycsb.Plan) bool { return p.Distribution == ycsb.Uniform && p.Seed == 7 && !p.Fresh }},
		{"{workload: E, records: 5, threads: 8, think: 5ms}",
			"YCSB E on the fake, 5 records of 1000B, zipfian, 8 threads, 5ms between operations",
			func(p *ycsb.Plan) bool { return p.MaxScan == 100 && p.Think == 5*time.Millisecond && p.Threads == 8 }},
		{"{mix: {read: 25%, read-modify-write: 3/4}, records: 5, fields: 3, field-size: 1KiB, update-fields: all, " +
			"read-fields: one}",
			"YCSB (25% read, 75% read-modify-write) on the fake, 5 records of 3KiB, uniform, 1 thread",
			func(p *ycsb.Plan) bool {
				return p.Distribution == ycsb.Uniform && p.ReadOne && p.UpdateAll && p.Dataset.FieldBytes == 1024
			}},
		{"{workload: A, mix: {scan: 1}, records: 5, max-scan: 9, rate: 2k, timeout: 1s, retries: 2}",
			"YCSB A (100% scan) on the fake, 5 records of 1000B, zipfian, 2000/s poisson on 64 connections",
			func(p *ycsb.Plan) bool {
				return p.Open() && !p.Constant && p.Threads == 64 && p.MaxScan == 9 && p.Timeout == time.Second && p.Retries == 2
			}},
		{"{workload: B, records: 5, rate: 0.5, arrivals: constant, threads: 2, distribution: hotspot, hot-set: 0.1}",
			"YCSB B on the fake, 5 records of 1000B, hotspot, 0.5/s constant on 2 connections",
			func(p *ycsb.Plan) bool {
				return p.Constant && p.Threads == 2 && p.HotSet == 0.1 && p.HotOperations == 0.8
			}},
		{"{workload: C, records: 5, database: fake}", "", func(*ycsb.Plan) bool { return true }},
		{"{workload: C, records: 5, database: {fake: }}", "", func(*ycsb.Plan) bool { return true }},
		{"{workload: C, records: 5, database: {fake: {cache: 1MiB}}}", "", func(*ycsb.Plan) bool { return true }},
	} {
		w := mustDecode(t, c.text)
		step, err := w.Drive(workload.Target{Path: "/data"}, workload.Timing{Ramp: time.Second, Runtime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := ycsb.ReadPlan(step.Files["load.json"])
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if !c.want(plan) || plan.Ramp != time.Second || plan.Runtime != time.Minute || (plan.Sample == 0) == plan.Open() {
			t.Errorf("%s: %s", c.text, step.Files["load.json"])
		}
		info := w.Info()
		if c.summary != "" && info.Summary != c.summary {
			t.Errorf("%s is\n%q, want\n%q", c.text, info.Summary, c.summary)
		}
		if again := mustDecode(t, info.Declared); again.Info().Summary != info.Summary || info.Kind != "ycsb" {
			t.Errorf("declared again it is %q", again.Info().Summary)
		}
	}
}

// All that is wrong is said at once, each with its line.
func TestDecodeProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"5", `1: ycsb needs parameters`},
		{"{}", "1: ycsb lacks a workload\n1: ycsb lacks records"},
		{"workload: G\nrecords: -1\nthreads: many\nthink: 5us\nrate: 0\nfoo: 1\ntimeout: 0s\nretries: 101",
			"1: workload takes one of A, B, C, D, E, F, stress-read, stress-write, not \"G\"\n" +
				"2: records takes a whole number from 1, not the number -1\n" +
				"3: threads takes a whole number from 1 to 4096, not \"many\"\n" +
				"4: think does not go with rate\n5: rate takes operations a second from 0.001 to 10000000, not the number 0\n" +
				"6: unknown key \"foo\" of ycsb\n7: timeout takes a time from 1ms to 24h, not \"0s\"\n" +
				"8: retries takes a whole number from 0 to 100, not the number 101"},
		{"workload: C\nrecords: 5\nrecords: 6\nfields: [1]\nseed: -1\nfield-size: 9MiB",
			"3: records is given more than once\n4: fields takes a whole number from 1 to 1024, not a list\n5: seed takes a " +
				"whole number from 0 to 2^64-1, not the number -1\n6: field-size takes a size above 0, up to 1MiB, not \"9MiB\""},
		{"mix: {read: 0.5, updat: 0.5}\nrecords: 5", "1: unknown key \"updat\" of mix"},
		{"mix: {read: 0.5, read: 0.5}\nrecords: 5", "1: read is given more than once"},
		{"mix: {read: 0.5, update: 0.6}\nrecords: 5", "1: mix: the shares add up to 110%, not to 100%"},
		{"mix: {read: x}\nrecords: 5", "1: read of mix takes a share from 0% to 100%, not \"x\""},
		{"mix: read\nrecords: 5", "1: mix needs the share of each operation"},
		{"workload: C\nrecords: 5\narrivals: poisson\nmax-scan: 5\nhot-set: 0.5\nupdate-fields: all",
			"3: arrivals has no effect\n4: max-scan has no effect\n5: hot-set has no effect on zipfian\n" +
				"6: update-fields has no effect"},
		{"mix: {insert: 1}\nrecords: 5\nread-fields: one", "3: read-fields has no effect"},
		{"workload: C\nrecords: 5\nrate: 5\nthink: 5ms", "4: think does not go with rate"},
		{"workload: C\nrecords: 5\nfields: 1000\nfield-size: 1MiB", "1: 1000 fields of 1MiB make records"},
		{"workload: C\nrecords: 5\ndatabase: {pebbel: {}}", "3: unknown database \"pebbel\""},
		{"workload: C\nrecords: 5\ndatabase: 5", "3: database needs one database"},
		{"workload: C\nrecords: 5\ndatabase: {fake: {cache: none}, other: {}}", "3: database needs one database"},
		{"workload: X\nrecords: 5\ndatabase:\n  fake: {cache: none}", "1: workload takes one of\n4: fake has no cache"},
		{"workload: C\nrecords: 10M\nthink: 5\nruntime: 1.5", "3: think takes a time from 1µs to 24h, not the number 5 " +
			"(add the unit: 5ms, or 5us)\n4: runtime takes a time from 100ms to 24h, not the number 1.5 (add the unit: 1.5s)"},
		{"workload: C\nrecords: 5\nruntime: 1ms\nramp: 25h", "3: runtime takes a time from 100ms to 24h, not \"1ms\"\n" +
			"4: ramp takes a time from 0s to 24h, not \"25h\""},
	} {
		_, problems := decoded(t, c.text)
		wants := strings.Split(c.want, "\n")
		ok := len(problems) == len(wants)
		for i := range wants {
			ok = ok && strings.HasPrefix(problems[i], wants[i])
		}
		if !ok {
			t.Errorf("%s\nsays\n%s\nwant\n%s", c.text, strings.Join(problems, "\n"), c.want)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("{workload: C, records: 5}"), &doc); err != nil {
		t.Fatal(err)
	}
	if _, problems := ycsb.DecodeWith(doc.Content[0], nil); len(problems) != 1 {
		t.Errorf("without any database: %v", problems)
	}
}

// Steps serve, load and drive one directory, and say why they cannot.
func TestSteps(t *testing.T) {
	w := mustDecode(t, "{workload: C, records: 100, database: {fake: {cache: 1MiB}}}")
	target := workload.Target{Path: "/mnt/x", SizeBytes: 1 << 20}
	data := "/mnt/x/" + w.Layout()
	serving := w.Abilities().Serving
	prepare, err := w.Prepare(target)
	if err != nil || !slices.Equal(prepare.Argv, []string{"fake", "load", data, "100"}) {
		t.Errorf("%+v, %v", prepare, err)
	}
	serve, err := serving.Serve(target)
	if err != nil || serving.Data != w.Layout() ||
		!slices.Equal(serve.Argv, []string{"fake", "serve", data, "db.sock", "1MiB"}) {
		t.Errorf("%+v, %v, in %s", serve, err, serving.Data)
	}
	ready, err := serving.Ready(target)
	if err != nil || !slices.Equal(ready.Argv, []string{workload.Self, "generate", "--wait", "@scratch@/ready.json"}) {
		t.Fatalf("%+v, %v", ready, err)
	}
	plan, err := ycsb.ReadPlan(ready.Files["ready.json"])
	if err != nil || plan.Patience < time.Minute || plan.At.Socket != "db.sock" || plan.Client != "fake" {
		t.Errorf("%+v, %v", plan, err)
	}
	drive, err := w.Drive(target, workload.Timing{Runtime: time.Second, Sample: 250 * time.Millisecond})
	if err != nil || drive.Live != drive.Outputs[0] || drive.Files[drive.Gate] == nil || drive.Dir != "" {
		t.Errorf("%+v, %v", drive, err)
	}
	if w.NeedBytes() != 2*100*1000 || !serving.ReadOnly {
		t.Errorf("it needs %d bytes, and reads alone: %v", w.NeedBytes(), serving.ReadOnly)
	}
	// The step that loads has no measurement.
	loaded := map[string][]byte{"loaded.json": prepare.Files["loaded.json"]}
	if m, err := w.Read(loaded, workload.Exit{}); err != nil || m.IOs() != 0 {
		t.Errorf("of the load: %+v, %v", m, err)
	}
	if _, err := w.Read(loaded, workload.Exit{Code: 3}); err == nil || !strings.Contains(err.Error(), "code 3") {
		t.Errorf("of a load that failed: %v", err)
	}
	for problem, target := range map[string]workload.Target{
		"raw device": {Path: "/dev/x", Block: true}, "take 200000 bytes, and 1000": {Path: "/x", SizeBytes: 1000},
	} {
		_, prepared := w.Prepare(target)
		_, driven := w.Drive(target, workload.Timing{Runtime: time.Second})
		_, served := serving.Serve(target)
		for _, err := range []error{prepared, driven, served} {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v", problem, err)
			}
		}
	}
	// What changes the records takes other ones each time; other records lie elsewhere.
	layouts := map[string]bool{w.Layout(): true}
	for text, shared := range map[string]bool{
		"{workload: A, records: 100}": true, "{workload: C, records: 100, threads: 5, rate: 9}": true,
		"{workload: C, records: 101}": false, "{workload: C, records: 100, fields: 5}": false,
		"{workload: C, records: 100, field-size: 5}": false,
	} {
		other := mustDecode(t, text)
		if layouts[other.Layout()] != shared {
			t.Errorf("%s has layout %s", text, other.Layout())
		}
		layouts[other.Layout()] = true
		if writes := strings.Contains(text, "A"); other.Abilities().Serving.ReadOnly == writes {
			t.Errorf("%s reads alone: %v", text, !writes)
		}
	}
}

func TestTiming(t *testing.T) {
	experiment := workload.Timing{Ramp: time.Second, Runtime: time.Minute}
	for text, want := range map[string]workload.Timing{
		"{workload: C, records: 5}":                          experiment,
		"{workload: C, records: 5, runtime: 9s}":             {Ramp: time.Second, Runtime: 9 * time.Second},
		"{workload: C, records: 5, ramp: 0}":                 {Runtime: time.Minute},
		"{workload: C, records: 5, ramp: 50ms, runtime: 2m}": {Ramp: 50 * time.Millisecond, Runtime: 2 * time.Minute},
	} {
		if got := mustDecode(t, text).Timing(experiment); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// What speaks against a measurement is in its notes, and only then.
func TestNotes(t *testing.T) {
	latencies := func(ns uint64) ycsb.Latencies {
		return ycsb.Latencies{SumNS: float64(ns) * 10, MinNS: ns, MaxNS: ns, Bins: [][2]uint64{{ns, 10}}}
	}
	for _, c := range []struct {
		name   string
		change func(l *ycsb.Line)
		want   string
	}{
		{"nothing", func(*ycsb.Line) {}, ""},
		{"busy", func(l *ycsb.Line) { l.UserSeconds, l.SystemSeconds = 1.2, 0.7 },
			"was itself the bottleneck: it used 95% of 2 CPUs"},
		{"late", func(l *ycsb.Line) { l.Lag = latencies(300_000) }, "was late by itself: p99 of its lag is 300 µs"},
		{"overload", func(l *ycsb.Line) { l.End.Overdue, l.End.Behind = 12, 0.5 }, "overload: at the end 12 operations"},
		{"errors", func(l *ycsb.Line) { l.Operations[0].Errors, l.Operations[0].Timeouts, l.End.Error = 3, 1, "broken" },
			"3 errors, 1 of them timeouts, are in no latency: broken"},
	} {
		w := mustDecode(t, "{workload: C, records: 5, rate: 10}")
		l := ycsb.Line{Seconds: 1, UserSeconds: 0.5, Lag: latencies(50_000), End: &ycsb.End{CPUs: 2, Threads: 64},
			Operations: []ycsb.Done{{Name: ycsb.Read, Count: 10, Total: latencies(1_000_000), Service: latencies(900_000)}}}
		c.change(&l)
		m, err := w.Read(map[string][]byte{"load.ndjson": l.Text()}, workload.Exit{})
		notes := strings.Join(m.Notes, "\n")
		if err != nil || c.want == "" && notes != "" || !strings.Contains(notes, c.want) || len(m.Notes) > 1 {
			t.Errorf("%s: %v, noted %q", c.name, err, notes)
		}
		if m.Operation(result.Read).Latency[result.Total].MaxNS != 1_000_000 {
			t.Errorf("%s: %+v", c.name, m)
		}
		hindered := c.name == "busy" || c.name == "late"
		if o := m.OpenLoop; o == nil || o.Rate != 10 || o.Hindered != hindered || o.Overdue != l.End.Overdue ||
			o.BehindSeconds != l.End.Behind || math.Abs(o.BusyCPU-(l.UserSeconds+l.SystemSeconds)/2) > 1e-9 {
			t.Errorf("%s: the open loop is %+v", c.name, o)
		}
	}
}

// An open loop tells its latencies over time, however it is asked to tell of itself: of a long
// one, those of neighbouring intervals are joined. A closed one tells none.
func TestLatenciesOverTime(t *testing.T) {
	for _, timing := range []workload.Timing{
		{Runtime: 9 * time.Second}, {Runtime: 9 * time.Second, Sample: 5 * time.Second},
	} {
		step, err := mustDecode(t, "{workload: C, records: 5, rate: 10}").Drive(workload.Target{Path: "/d"}, timing)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := ycsb.ReadPlan(step.Files["load.json"])
		if err != nil || plan.Sample != time.Second {
			t.Errorf("%+v: it reports itself every %v, %v", timing, plan.Sample, err)
		}
	}
	lines := func(n int) (out []byte) {
		ramp := ycsb.Line{Seconds: 1, Ramp: true, Operations: []ycsb.Done{doneIn(time.Hour)}}
		out = ramp.Text()
		for i := range n {
			l := ycsb.Line{Seconds: 0.5, Operations: []ycsb.Done{doneIn(time.Duration(i+1) * time.Millisecond)}}
			if i == 1 {
				l.Operations = nil
			}
			out = append(out, l.Text()...)
		}
		end := ycsb.Line{Rest: true, Operations: []ycsb.Done{doneIn(time.Hour)}, End: &ycsb.End{CPUs: 1, Threads: 1}}
		return append(out, end.Text()...)
	}
	read := func(load string, n int) *result.OpenLoop {
		m, err := mustDecode(t, load).Read(map[string][]byte{"load.ndjson": lines(n)}, workload.Exit{})
		if err != nil {
			t.Fatal(err)
		}
		return m.OpenLoop
	}
	short := read("{workload: C, records: 5, rate: 10}", 3)
	if want := []float64{1e6, 0, 3e6}; !slices.Equal(short.P99NS, want) || short.IntervalSeconds != 0.5 {
		t.Errorf("%v each %v s", short.P99NS, short.IntervalSeconds)
	}
	long := read("{workload: C, records: 5, rate: 10}", 200)
	if n := len(long.P99NS); n != 50 || long.IntervalSeconds != 2 || long.P99NS[0] != 4e6 || long.P99NS[49] != 200e6 {
		t.Errorf("%d, %v to %v, each %v s", n, long.P99NS[0], long.P99NS[n-1], long.IntervalSeconds)
	}
	if closed := read("{workload: C, records: 5}", 3); closed != nil {
		t.Errorf("a closed loop is %+v", closed)
	}
}

// doneIn is one read that took so long.
func doneIn(d time.Duration) ycsb.Done {
	ns := uint64(d)
	return ycsb.Done{Name: ycsb.Read, Count: 1,
		Total: ycsb.Latencies{SumNS: float64(ns), MinNS: ns, MaxNS: ns, Bins: [][2]uint64{{ns, 1}}}}
}

// What gives no measurement says why.
func TestReadProblems(t *testing.T) {
	good := ycsb.Line{Seconds: 1, End: &ycsb.End{CPUs: 1, Threads: 1}, Operations: []ycsb.Done{{Name: ycsb.Read, Count: 1,
		Total: ycsb.Latencies{SumNS: 5, MinNS: 5, MaxNS: 5, Bins: [][2]uint64{{5, 1}}}}}}
	text := string(good.Text())
	w := mustDecode(t, "{workload: C, records: 5}")
	for _, c := range []struct {
		out  string
		exit workload.Exit
		want string
	}{
		{text, workload.Exit{}, ""},
		{text, workload.Exit{Code: 1, Stderr: "plimsoll: connection 1 of 2: broken\n"}, "code 1: connection 1 of 2: broken"},
		{text, workload.Exit{Code: 137, Signal: "killed"}, "a signal ended the load generator (killed)"},
		{text, workload.Exit{Code: 137, OOMKilled: true}, "OOM killer"},
		{"", workload.Exit{Code: 127, Stderr: "plimsoll: command not found"}, "could not be started: command not found"},
		{"", workload.Exit{}, "cut short"},
		{text[:len(text)-1], workload.Exit{}, "cut short"},
		{text + text, workload.Exit{}, "damaged: something follows its end"},
		{"{}\n", workload.Exit{}, "cut short"},
		{strings.ReplaceAll(text, `"count":1`, `"count":2`), workload.Exit{}, "damaged: read: 1 latencies of 2 operations"},
		{strings.ReplaceAll(text, `"read"`, `"rm -rf"`), workload.Exit{}, `damaged: "rm -rf" is no operation`},
		{strings.ReplaceAll(text, `"seconds":1`, `"seconds":-1`), workload.Exit{}, "damaged: -1 is no time"},
		{strings.ReplaceAll(text, `"cpus":1`, `"cpus":1,"stopped":true`), workload.Exit{}, "ended the load generator early"},
		{strings.ReplaceAll(text, `"cpus":1`, `"cpus":1,"stopped":true`), workload.Exit{Asked: true}, ""},
		{`{"seconds":1,"operations":[{"name":"read","count":0,"errors":4}],"end":{"cpus":1,"threads":1,"error":"broken"}}` + "\n",
			workload.Exit{}, "not one operation was completed in the measured time, and 4 errors: broken"},
	} {
		watch := w.Abilities().Watch(workload.Timing{})
		watch.Feed([]byte(c.out))
		_, watched := watch.Read(c.exit, 0)
		message := ""
		if watched != nil {
			message = watched.Error()
		}
		if (message == "") != (c.want == "") || !strings.Contains(message, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.out, c.exit, message, c.want)
		}
		if !c.exit.Asked {
			if _, err := w.Read(map[string][]byte{"load.ndjson": []byte(c.out)}, c.exit); (err == nil) != (watched == nil) {
				t.Errorf("read at once: %v, watched %v", err, watched)
			}
		}
	}
}

// The schema that editors get takes what the decoder takes.
func TestParamsAreDescribed(t *testing.T) {
	text, err := json.Marshal(ycsb.Kind.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("%s is not described", name)
		}
		_, said := decoded(t, "{workload: C, records: 5, "+name+": [[]]}")
		if len(said) == 0 || strings.Contains(strings.Join(said, ""), "unknown key") {
			t.Errorf("the decoder does not know %s: %q", name, said)
		}
	}
	if len(schema.Properties) != 22 {
		t.Errorf("%d parameters", len(schema.Properties))
	}
}

// Nobody's text makes the decoder panic, and what it takes makes plans that hold.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"{workload: C, records: 1000}", "mix: {read: 0.5, scan: 0.5}\nrecords: 5\nrate: 9\narrivals: constant",
		"{workload: &a A, records: 5, database: {fake: *a}}", "{workload: D, records: 1e3, think: 1h, seed: 5}",
		"{mix: {read: .nan}, records: 5}", "database: {fake: {cache: none}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) != 1 {
			return
		}
		w, problems := ycsb.DecodeWith(doc.Content[0], []database.Kind{fakeKind})
		if len(problems) > 0 {
			return
		}
		step, err := w.Drive(workload.Target{Path: "/x"}, w.Timing(workload.Timing{Runtime: time.Second}))
		if err != nil {
			t.Fatalf("%q cannot be driven: %v", text, err)
		}
		if _, err := ycsb.ReadPlan(step.Files["load.json"]); err != nil {
			t.Fatalf("%q makes a plan that is refused: %v", text, err)
		}
		_ = w.Info()
	})
}

// Whatever is in the scratch directory, reading it ends, and what is taken for a
// measurement is one.
func FuzzRead(f *testing.F) {
	line := ycsb.Line{Seconds: 1, End: &ycsb.End{CPUs: 1, Threads: 1}, Operations: []ycsb.Done{{Name: ycsb.Read, Count: 1,
		Total: ycsb.Latencies{SumNS: 5, MinNS: 5, MaxNS: 5, Bins: [][2]uint64{{5, 1}}}}}}
	f.Add(line.Text(), "")
	line.Ramp, line.End = true, nil
	f.Add(append(line.Text(), line.Text()...), "killed")
	f.Add([]byte(`{"seconds":1e300}`), "")
	f.Fuzz(func(t *testing.T, out []byte, signal string) {
		w := mustDecode(t, "{workload: C, records: 5, rate: 5}")
		m, err := w.Read(map[string][]byte{"load.ndjson": out}, workload.Exit{Signal: signal})
		if err != nil {
			if m.IOs() > 0 {
				t.Fatal("a measurement that is none")
			}
			return
		}
		if m.IOs() == 0 || !(m.Seconds >= 0) || !(m.IOPS() >= 0) {
			t.Fatalf("measured %+v", m)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		watch := w.Abilities().Watch(workload.Timing{})
		watch.Feed(out)
		again := w.Abilities().Watch(workload.Timing{})
		again.Feed(watch.Final())
		if same, err := again.Read(workload.Exit{}, 0); err != nil || same.IOs() != m.IOs() {
			t.Fatalf("of what is kept: %d of %d, %v", same.IOs(), m.IOs(), err)
		}
	})
}

// A plan from anywhere is refused or holds.
func FuzzReadPlan(f *testing.F) {
	w := mustDecode(f, "{workload: E, records: 5, rate: 5}")
	step, err := w.Drive(workload.Target{Path: "/x"}, workload.Timing{Runtime: time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(step.Files["load.json"])
	f.Add([]byte(`{"at": {"socket": "../db.sock"}, "threads": 1e9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ycsb.ReadPlan(text)
		if err != nil {
			return
		}
		if strings.Contains(p.At.Socket+p.Output+p.Gate, "/") || p.Threads > 4096 || p.Runtime <= 0 {
			t.Fatalf("%+v", p)
		}
	})
}

// The examples of the documentation are taken, and its table has every parameter.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/workload-ycsb-tpcc.md")
	if err != nil {
		t.Fatal(err)
	}
	pebble := fakeKind
	pebble.Name = "pebble"
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	taken := 0
	for _, e := range examples {
		var workloads map[string]map[string]yaml.Node
		if err := yaml.Unmarshal(e[1], &workloads); err != nil {
			t.Fatal(err)
		}
		for name, w := range workloads {
			var problems problem.List
			if node, of := w["tpcc"]; of {
				_, problems = ycsb.TPCC.Decode(&node, nil)
			} else {
				node := w["ycsb"]
				_, problems = ycsb.DecodeWith(&node, []database.Kind{pebble})
			}
			if len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			taken++
		}
	}
	if taken < 3 {
		t.Errorf("%d examples", taken)
	}
	for pair := ycsb.Kind.Schema().Properties.Oldest(); pair != nil; pair = pair.Next() {
		name := pair.Key
		if !strings.Contains(string(text), "\n| `"+name+"` | ") {
			t.Errorf("%s is not in the table", name)
		}
	}
}
