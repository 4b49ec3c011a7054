package metadata

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

func decoded(t *testing.T, text string) (workload.Workload, problem.List) {
	t.Helper()
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(text), &doc)
	if err != nil {
		t.Fatal(err)
	}
	return Kind.Decode(doc.Content[0], nil)
}

// The steps have the generator do what was declared, below the directory of the stack.
func TestSteps(t *testing.T) {
	w, problems := decoded(t, "{files: 100, size: 8KiB, threads: 3, lookups: 90%, fsync: no, runtime: 7s}")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = "100 files of 8KiB, 3 threads, 90% stat and open, 10% create and unlink, without fsync"
	if said := w.Info().Summary; said != want {
		t.Error(said)
	}
	target := workload.Target{Path: "/data"}
	fill, err := w.Prepare(target)
	if err != nil {
		t.Fatal(err)
	}
	drive, err := w.Drive(target, w.Timing(workload.Timing{Ramp: time.Second, Runtime: time.Minute, Sample: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	if drive.Live != outputName || drive.Gate != gateName ||
		strings.Join(fill.Argv, " ") != "plimsoll generate --load @scratch@/fill.json" {
		t.Errorf("%+v, %+v", drive, fill)
	}
	for _, text := range [][]byte{fill.Files[fillName], drive.Files[planName]} {
		plan, err := ycsb.ReadPlan(text)
		if err != nil {
			t.Fatal(err)
		}
		if want := (ycsb.Files{Dir: "/data/" + w.Layout(), Count: 100, Bytes: 8192, Lookups: 0.9}); *plan.Files != want {
			t.Errorf("%+v, and is to be %+v", *plan.Files, want)
		}
	}
	if plan, _ := ycsb.ReadPlan(drive.Files[planName]); plan.Runtime != 7*time.Second || plan.Ramp != time.Second {
		t.Errorf("%v after %v", plan.Runtime, plan.Ramp)
	}
	if need := w.NeedBytes(); need < 100*8192 || need > 2*100*8192 {
		t.Errorf("%d bytes", need)
	}
	scaled, err := w.Abilities().Scaling.To(5, 1<<20)
	if err != nil || !strings.HasPrefix(scaled.Info().Summary, "128 files of 8KiB, 5 threads") {
		t.Errorf("%+v, %v", scaled, err)
	}
}

// A device has no names, and too little room is said before anything is written.
func TestRefusals(t *testing.T) {
	w, _ := decoded(t, "{files: 1000}")
	for _, c := range []struct {
		target workload.Target
		says   string
	}{
		{workload.Target{Path: "/dev/x", Block: true}, "bare device"},
		{workload.Target{Path: "/data", SizeBytes: 1 << 20}, "1048576 may be written there"},
	} {
		_, err := w.Prepare(c.target)
		_, too := w.Drive(c.target, workload.Timing{Runtime: time.Second})
		if err == nil || too == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v and %v, and are to say %q", err, too, c.says)
		}
	}
	for text, says := range map[string]string{
		"{files: 3, threads: 4}": "3 files for 4 threads: each thread needs one", "{threads: 20000}": "20000",
		"{lookups: 101%}": "101%", "{overwrites: -1%}": "-1%",
		"{lookups: 60%, overwrites: 60%}": "lookups of 60% and overwrites of 60% are more than all",
		"{overwrites: 60%}":               "are more than all", "{size: 1GiB}": "1GiB", "{fsyncs: 1}": `"fsyncs"`,
	} {
		_, problems := decoded(t, text)
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What the generator says becomes a measurement, and its failure one with the reason.
func TestRead(t *testing.T) {
	w, _ := decoded(t, "{files: 1000, threads: 1}")
	l := ycsb.Line{Seconds: 2, UserSeconds: 1, SystemSeconds: 3, Rest: true,
		Operations: []ycsb.Done{
			{Name: ycsb.Create, Count: 2, Bytes: 8192, Total: ycsb.Latencies{SumNS: 40, MinNS: 10, MaxNS: 30,
				Bins: [][2]uint64{{10, 1}, {30, 1}}}},
		}, End: &ycsb.End{CPUs: 2, Threads: 1, FlushSeconds: 1.5}}
	m, err := w.Read(map[string][]byte{outputName: l.Text()}, workload.Exit{})
	if err != nil || m.Operation(ycsb.Create).Rate != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "took 1.50 s to write back after the 2.00 s measured") {
		t.Errorf("notes %q", m.Notes)
	}
	for name, says := range map[string]string{
		outputName: "no space left", fillName: "laying out the files failed: no space left",
	} {
		_, err := w.Read(map[string][]byte{name: nil}, workload.Exit{Code: 1, Stderr: "plimsoll: no space left\n"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
