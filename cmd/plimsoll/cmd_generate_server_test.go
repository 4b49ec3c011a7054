package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// A real server that is stopped for two seconds shows as such in p99.9 of an open loop;
// a closed loop does not ask meanwhile, and hides it.
func TestAStoppedServerShowsInAnOpenLoop(t *testing.T) {
	for _, c := range []struct {
		loop  string
		least uint64 // operations that took a second or more
		most  uint64
	}{
		{"rate: 1000, threads: 4", 900, math.MaxUint64}, // those that were due in the first second of the stop
		{"threads: 2", 1, 2 * 8},                        // of each thread no more than there are seconds
	} {
		t.Run(c.loop, func(t *testing.T) {
			e := newEmbedded(t, thousand)
			e.load()
			server, _, conn := e.serve()
			_ = conn.Close()
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte("{workload: C, records: 1000, seed: 1, "+c.loop+"}"), &doc); err != nil {
				t.Fatal(err)
			}
			w, problems := ycsb.Kind.Decode(doc.Content[0], nil)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			step, err := w.Drive(workload.Target{Path: e.dir}, workload.Timing{Runtime: 4 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range step.Files {
				e.file(name, string(content))
			}
			cmd, stderr := e.start(*step)
			within(t, hang, "it begins", func() bool { return e.exists(step.Outputs[0]) })
			time.Sleep(time.Second)
			stopped := server.Process.Signal(unix.SIGSTOP)
			time.Sleep(2 * time.Second)
			if err := server.Process.Signal(unix.SIGCONT); err != nil || stopped != nil {
				t.Fatal(stopped, err)
			}
			x := e.exit(cmd, stderr)
			out, err := os.ReadFile(filepath.Join(e.dir, step.Outputs[0]))
			if err != nil {
				t.Fatalf("%v: %+v", err, x)
			}
			m, err := w.Read(map[string][]byte{step.Outputs[0]: out}, x)
			if err != nil {
				t.Fatal(err)
			}
			total := m.Latency(result.Total)
			var late uint64
			for bin := range total.Bins.All() {
				if bin.NS >= 1e9 {
					late += bin.Count
				}
			}
			if late < c.least || late > c.most || total.MaxNS < 1.7e9 {
				t.Errorf("%d of %d operations took a second, and the greatest latency is %d ns", late, m.IOs(), total.MaxNS)
			}
			if o := m.Operation(ycsb.Read); o.Errors > 0 || o.Count == 0 {
				t.Errorf("%d reads and %d errors", o.Count, o.Errors)
			}
		})
	}
}
