package store

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// shape is the size of a trial's measurements.
type shape struct{ bins, operations, stages int }

// shapes are those of fio alone in which everything was counted, of an ordinary trial, and of reads and writes with
// all of their parts.
var shapes = []shape{{1000, 1, 2}, {200, 1, 2}, {200, 2, 3}, {1000, 2, 3}}

func (s shape) String() string {
	return fmt.Sprintf("bins=%d/operations=%d/stages=%d", s.bins, s.operations, s.stages)
}

// measured is a planned trial as it ends, with latencies in fio's bins, 64 in each power of two, most in their middle.
func (s shape) measured(t result.Trial) result.Trial {
	t = done(t, 0)
	m := t.Instances[0].Measurement
	m.Operations = nil
	for o := range s.operations {
		operation := result.Operation{
			Name: []string{result.Read, result.Write}[o], Latency: map[result.Stage]hist.Histogram{},
		}
		for k, stage := range result.Stages[:s.stages] {
			var bins []hist.Bin
			h := hist.Histogram{}
			for i := range s.bins {
				index := 600 + i + t.Seq%50 + k
				z := float64(i-s.bins/3) / (float64(s.bins) / 8)
				n := 1 + uint64(8000*math.Exp(-z*z/2)*(1+0.1*math.Sin(float64(i*t.Seq+o))))
				bins = append(bins, hist.Bin{NS: (64+uint64(index%64))<<(index/64-1) + 1<<(index/64-1)/2, Count: n})
				h.Count += n
			}
			h.MeanNS, h.MinNS, h.MaxNS = float64(bins[s.bins/3].NS), bins[0].NS, bins[s.bins-1].NS
			h.Bins = hist.Pack(bins)
			operation.Latency[stage] = h
			operation.Count = h.Count
		}
		m.Operations = append(m.Operations, operation)
	}
	return t
}

// stored stores a finished run of so many trials.
func (s shape) stored(tb testing.TB, trials int) (dir string) {
	tb.Helper()
	dir = filepath.Join(tb.TempDir(), "run")
	run := plannedRun(trials)
	for i, t := range run.Trials {
		run.Trials[i] = s.measured(t)
	}
	run.Status = result.RunComplete
	stored, err := Create(dir, run)
	if err != nil {
		tb.Fatal(err)
	}
	if err := stored.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// live reads a run and returns the memory that it then takes, in bytes.
func live(tb testing.TB, dir string) uint64 {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run, err := Read(dir)
	if err != nil {
		tb.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(run)
	return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
}

const mebibyte = 1 << 20

// BenchmarkOpen opens a run of 5,000 trials, and reports the memory that it then takes.
func BenchmarkOpen(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.String(), func(b *testing.B) {
			dir := s.stored(b, 5000)
			for b.Loop() {
				if _, err := Read(dir); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(live(b, dir))/mebibyte, "MiB-live")
		})
	}
}

// A run of 5,000 trials takes less than 100 MiB, whatever it measured.
func TestAnOpenRunIsSmall(t *testing.T) {
	const trials = 250
	for _, s := range shapes {
		if took := live(t, s.stored(t, trials)); took > trials*100*mebibyte/5000 {
			t.Errorf("%s: a run of %d trials takes %.1f MiB", s, trials, float64(took)/mebibyte)
		}
	}
}
