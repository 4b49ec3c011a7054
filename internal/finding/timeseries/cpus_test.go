package timeseries

import (
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// CPUs over instances are means of the time in which all instances were measured, added up over instances.
func TestCPUsOverInstances(t *testing.T) {
	run := runtest.Tell(t, "stack disk: loop > xfs\nworkload C ycsb {workload: C, records: 1000}\n"+
		"instances C disk x1 1000 1010\ninstances C disk x2 2000 2010\n")
	start := time.Unix(1000, 0)
	for i := range run.Trials {
		run.Trials[i].Window = &result.Window{Start: start.Add(2 * time.Second), Seconds: 2}
	}
	read := func(seq int) (series []result.Series, err error) {
		add := func(source, metric string, values ...float64) {
			series = append(series, result.Series{Source: source, Metric: metric, Start: start, Step: time.Second, Values: values})
		}
		add("instance", "cpu.user", 9, 9, 1, 3, 9)
		add("instance", "cpu.user", 9, 9, 2, 2, 9)
		add("host", "cpu.iowait", 9, 9, 0.5, 0.5)
		add("host", "cpu.user", 9, 9) // before all were measured
		return series, nil
	}
	figures, err := cpusOverInstances(runview.New(run), read)
	if err != nil || len(figures) != 1 || len(figures[0].Series) != 2 {
		t.Fatalf("%+v, %v", figures, err)
	}
	for name, want := range map[string]float64{"instances, user": 4, "host, iowait": 0.5} {
		for _, s := range figures[0].Series {
			if s.Name == name && (len(s.Marks) != 2 || s.Marks[1].Y != want || s.Marks[1].X != 2) {
				t.Errorf("%s: %+v, want %g with 2", name, s.Marks, want)
			}
		}
	}
}
