package store

import (
	"math"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// What was sampled comes back as it was, gaps included, and only when it is asked
// for.
func TestSeriesAreReadWhenTheyAreAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s, err := Create(dir, plannedRun(2))
	if err != nil {
		t.Fatal(err)
	}
	want := []result.Series{
		{Instance: 1, Source: "instance", Metric: "cpu.user", Unit: "CPUs", Start: time.Unix(5, 6).UTC(),
			Step: time.Second, Values: []float64{0.5, 1, math.Pi}},
		{Instance: result.NoInstance, Source: "device loop0", Metric: "reads", Unit: "1/s",
			Start: time.Unix(7, 0).UTC(), Step: time.Second, Values: []float64{}},
	}
	trial := done(s.Run().Trials[0], 20)
	trial.Series = want
	if err := s.SaveTrial(trial); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Read(dir)
	if err != nil || run.Trials[0].Series != nil {
		t.Errorf("%v; the run is read with series %v", err, run.Trials[0].Series)
	}
	got, err := ReadSeries(dir, 1)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v; got\n%+v\nwant\n%+v", err, got, want)
	}
	if none, err := ReadSeries(dir, 2); err != nil || none != nil {
		t.Errorf("a trial that was not run has series %v, %v", none, err)
	}
	for _, damaged := range [][]byte{{1}, make([]byte, 9)} {
		if _, err := decodeValues(damaged); err == nil {
			t.Errorf("%v is taken for values", damaged)
		}
	}
	gap, err := decodeValues(encodeValues([]float64{math.NaN(), math.Inf(1)}))
	if err != nil || !math.IsNaN(gap[0]) || !math.IsInf(gap[1], 1) {
		t.Errorf("gaps come back as %v, %v", gap, err)
	}
}
