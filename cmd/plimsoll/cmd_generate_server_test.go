package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// A real server that is stopped for two seconds shows as such in p99.9 of an open loop;
// a closed loop does not ask meanwhile, and hides it.
func TestAStoppedServerShowsInAnOpenLoop(t *testing.T) {
	for _, c := range []struct {
		loop      string
		low, high float64 // seconds
	}{{"rate: 1000, threads: 4", 1.7, 4}, {"threads: 2", 0, 0.5}} {
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
			began := time.Now()
			cmd, stderr := e.start(*step)
			within(t, 20*time.Second, "it begins", func() bool { return e.exists(step.Outputs[0]) })
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
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
			total := m.Latency(result.Total)
			ns, _ := hist.Percentile(total.Bins, 99.9)
			if at := float64(ns) / 1e9; at < c.low || at > c.high || total.MaxNS < 1.7e9 {
				t.Errorf("p99.9 of %d operations is %v s, and the greatest latency %d ns", m.IOs(), at, total.MaxNS)
			}
			if o := m.Operation(ycsb.Read); o.Errors > 0 || o.Count == 0 {
				t.Errorf("%d reads and %d errors", o.Count, o.Errors)
			}
		})
	}
}
