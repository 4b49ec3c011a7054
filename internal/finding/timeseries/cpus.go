package timeseries

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// mostScalings is the most workloads whose CPUs are drawn over the number of instances: each reads a trial for each
// number.
const mostScalings = 4

// cpuLines are the lines of a figure of CPUs: those of all instances, which have no clients of servers in them, and
// those of the host.
var cpuLines = []struct{ name, source, metric string }{
	{"instances, user", "instance", "cpu.user"}, {"instances, system", "instance", "cpu.system"},
	{"host, user", "host", "cpu.user"}, {"host, system", "host", "cpu.system"}, {"host, iowait", "host", "cpu.iowait"},
}

// cpusOverInstances draws the CPUs over the number of instances, of mixes that differ in that number alone: means of what
// was sampled while all instances were measured, in the last trial of each number.
func cpusOverInstances(v *runview.View, read func(trial int) ([]result.Series, error)) (figures []section.Figure,
	err error) {
	scalings := v.Scalings()
	for _, s := range scalings[:min(len(scalings), mostScalings)] {
		f := section.Figure{Title: "CPUs over instances: " + strings.TrimSpace(s.Workload+" "+s.Policy), Stack: s.Stack.Name,
			Note: "of all instances, and of the host with all that runs on it",
			X:    section.Axis{Label: "instances", Of: section.Count, Each: true}, Y: section.Axis{Of: section.Number}}
		lines := make([]section.Series, len(cpuLines))
		for _, level := range s.Levels {
			last := level.Cell.Trials[len(level.Cell.Trials)-1]
			sampledSeries, err := read(last.Seq)
			if err != nil {
				return nil, err
			}
			for i, l := range cpuLines {
				lines[i].Name = l.name
				y, sampled := meanWhileMeasured(last, sampledSeries, l.source, l.metric)
				if !sampled {
					continue
				}
				lines[i].Marks = append(lines[i].Marks, section.Mark{X: level.Value, Y: y, Text: fmt.Sprintf("%s, %s: %s CPUs",
					plural.Count(level.Count(), "instance"), l.name, section.Number.Exact(y))})
			}
		}
		for _, l := range lines {
			if len(l.Marks) > 1 {
				f.Series = append(f.Series, l)
			}
		}
		if len(f.Series) > 0 {
			figures = append(figures, f)
		}
	}
	return figures, nil
}

// meanWhileMeasured returns the mean of a metric of a kind of source while all instances of a trial were measured, added
// up over its sources. sampled is false where nothing was sampled then.
func meanWhileMeasured(t *result.Trial, series []result.Series, source, metric string) (sum float64, sampled bool) {
	for _, s := range series {
		kind, _, _ := strings.Cut(s.Source, " ")
		if kind != source || s.Metric != metric || s.Step <= 0 {
			continue
		}
		total, count := 0.0, 0
		for i, v := range s.Values {
			middle := s.Start.Add(s.Step * time.Duration(2*i+1) / 2)
			measured := t.Window == nil || !middle.Before(t.Window.Start) &&
				middle.Sub(t.Window.Start).Seconds() <= t.Window.Seconds
			if measured && !math.IsNaN(v) && !math.IsInf(v, 0) {
				total, count = total+v, count+1
			}
		}
		if count > 0 {
			sum, sampled = sum+total/float64(count), true
		}
	}
	return sum, sampled
}
