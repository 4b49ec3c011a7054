package fio

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
)

// A rate is shared by the jobs, and requests of each are due at random times.
func TestRateInTheJobFile(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("{rw: randread, size: 256MiB, jobs: 8, rate: 4k}"), &doc); err != nil {
		t.Fatal(err)
	}
	w, problems := decode(doc.Content[0], nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	step, err := w.Drive(workload.Target{Path: "/mnt"}, workload.Timing{Runtime: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	text := string(step.Files[jobFileName])
	if !strings.Contains(text, "\nrate_iops=500\nrate_process=poisson\n") {
		t.Error(text)
	}
}

// What was due and is not done counts as overdue, but for what chance explains; requests that wait for another of their
// job are noted.
func TestOpenLoopOfARate(t *testing.T) {
	for _, c := range []struct {
		done    uint64
		mean    float64
		overdue uint64
		noted   bool
	}{
		{10000, 1e5, 0, false},
		{9800, 1e5, 0, false}, // within three standard deviations, which are 300
		{9000, 1e5, 700, false},
		{10000, 1e6, 0, true}, // ten jobs are busy all the time
	} {
		o := result.Operation{Name: result.Read, Count: c.done}
		o.SetLatency(result.Total, hist.Histogram{Count: c.done, MeanNS: c.mean})
		m := result.Measurement{Seconds: 1, Operations: []result.Operation{o}}
		reader{rate: 10000, jobs: 10 * 10}.addOpenLoop(&m)
		if m.OpenLoop.Rate != 10000 || m.OpenLoop.Overdue != c.overdue || len(m.Notes) > 0 != c.noted {
			t.Errorf("%+v: %+v, %v", c, m.OpenLoop, m.Notes)
		}
	}
}

// Loads that differ in their rate alone are one family.
func TestOpenOf(t *testing.T) {
	a, okA := OpenOf("{rw: randread, size: 1GiB, jobs: 4, rate: 400, ramp: 1s}")
	b, okB := OpenOf("{rate: 4k, rw: randread, jobs: 4, size: 1GiB, ramp: 1s}")
	_, okC := OpenOf("{rw: randread, size: 1GiB}")
	if !okA || !okB || okC || a.Family != b.Family || a.Rate != 400 || b.Rate != 4000 {
		t.Errorf("%+v %+v %v", a, b, okC)
	}
}
