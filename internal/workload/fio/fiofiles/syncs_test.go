package fiofiles

import (
	"encoding/json"
	"math"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// The test that etcd recommends: a file's rate is that of fio's writes, and the percentile that is asked for is that of
// fdatasync, as fio printed it. No percentile of the workload is one of fdatasync's.
func TestSyncsAreApart(t *testing.T) {
	for _, name := range []string{"fdatasync.json", "fdatasync-plus.json"} {
		files := named(t, name)
		imp, wrong := Read(files, Options{})
		if len(wrong) > 0 || len(imp.Run.Trials) != 1 {
			t.Fatalf("%s: %v", name, wrong)
		}
		var printed struct {
			Jobs []struct {
				Write struct {
					IOPS float64 `json:"iops"`
				} `json:"write"`
				Sync struct {
					Latency struct {
						N           uint64            `json:"N"`
						Percentiles map[string]uint64 `json:"percentile"`
					} `json:"lat_ns"`
				} `json:"sync"`
			} `json:"jobs"`
		}
		if err := json.Unmarshal(files[0].Text, &printed); err != nil {
			t.Fatal(err)
		}
		writes, syncs := printed.Jobs[0].Write, printed.Jobs[0].Sync.Latency
		trial := &imp.Run.Trials[0]
		if rate, _ := runview.Rate.Of(trial, ""); math.Abs(rate-writes.IOPS) > 1e-6*rate {
			t.Errorf("%s: %f IOPS, and fio printed %f", name, rate, writes.IOPS)
		}
		if n := trial.Measured().Operation(result.Fsync).Count; n != syncs.N || n == 0 {
			t.Errorf("%s: %d syncs, and fio printed %d", name, n, syncs.N)
		}
		p99, ok := runview.PercentileOf(result.Fsync, 99).Of(trial, "")
		if !ok || uint64(p99) != syncs.Percentiles["99.000000"] {
			t.Errorf("%s: p99 of fdatasync is %f, and fio printed %+v", name, p99, syncs)
		}
		if p50, ok := runview.P50.Of(trial, ""); ok {
			t.Errorf("%s: writes have a p50 of %f, which the file lacks", name, p50)
		}
	}
}
