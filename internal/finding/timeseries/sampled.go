package timeseries

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// What keeps the figures of series few and small.
const (
	mostSampledMixes  = 12 // points of mixes that are drawn; export has all
	mostSampledAlone  = 2  // points of workloads alone, of which there is less to see
	mostSampledLines  = 8  // instances with a line each; beyond it three stand for all
	mostSampledValues = 60 // of a line
	fewestSampled     = 5  // values of a series; fewer tell nothing that the tables do not
)

// sampledMetric is a figure of what was sampled: one small multiple for a point.
type sampledMetric struct {
	title   string
	sources []string // first words of sources that share a figure; the first of these that sampled it
	metrics []string // that are added up
	unit    string   // in which its marks are said
	scale   float64  // from the unit of the series to that
	tick    func(float64) string
	label   string // of the vertical axis, where its ticks do not say the unit
	// apart names a line of each metric's own, beside the device; nil for metrics that are added up
	apart []string
}

var sampledMetrics = []sampledMetric{
	{"throughput of devices", []string{"device"}, []string{"io.read_bytes", "io.write_bytes"}, "MB/s", 1e-6,
		megabytes, "", nil},
	{"reads and writes of devices", []string{"device"}, []string{"io.read_bytes", "io.write_bytes"}, "MB/s", 1e-6,
		megabytes, "", []string{"reads", "writes"}},
	{"utilisation of devices", []string{"device"}, []string{"io.utilisation"}, "%", 100, percentTick, "", nil},
	{cpuTitle, []string{"instance miniature", "host"}, []string{"cpu.user", "cpu.system"}, "CPUs", 1, units.Significant,
		"", nil},
	{"CPUs of the host, by what they do", []string{"host"}, []string{"cpu.user", "cpu.system", "cpu.irq", "cpu.iowait"},
		"CPUs", 1, units.Significant, "", []string{"user", "system", "of that, irq", "iowait"}},
	{pageCacheTitle, []string{"instance miniature", "host"}, []string{"memory.file"}, "MiB", 1. / (1 << 20), units.Grouped,
		"MiB", nil},
	{"time that waits for I/O", []string{"instance miniature", "host"}, []string{"pressure.io.some"}, "%", 100,
		percentTick, "", nil},
	{"time that waits for memory", []string{"instance miniature", "host"}, []string{"pressure.memory.some"}, "%", 100,
		percentTick, "", nil},
}

func percentTick(v float64) string { return units.Significant(v) + "%" }

func megabytes(v float64) string { return section.Bandwidth.Format(1e6 * v) }

// Sampled returns what was sampled in the last trial of points, in the order of their stacks' places. read
// reads what was sampled while the trial of that number ran; it is asked for few trials. Sampled is nil where
// there is nothing to say.
func Sampled(run *result.Run, place func(stack string) int, read func(trial int) ([]result.Series, error)) *section.Section {
	if read == nil {
		return nil
	}
	s := &section.Section{Title: "While trials ran",
		Note: prose.MeasuredIn(run, "What was sampled once a second in the last trial of each point. "+
			"plimsoll export --series has all trials and all metrics."),
	}
	limit, left := mostSampledMixes, 0
	if len(run.Mixes) == 0 {
		limit = mostSampledAlone
	}
	remark := func(format string, about ...any) {
		s.Remarks = append(s.Remarks, section.Remark{Text: fmt.Sprintf(format, about...)})
	}
	cells := runview.Of(run)
	points := slices.Clone(cells.Points())
	slices.SortStableFunc(points, func(a, b result.Point) int { return cmp.Compare(place(a.Stack), place(b.Stack)) })
	for _, p := range points {
		for _, t := range sampledTrials(cells.Trials(p)) {
			if len(s.Parts) == limit {
				left++
				break
			}
			part, err := sampledPart(t, read)
			switch {
			case err != nil:
				remark("%s on %s: what was sampled cannot be read: %v", p.Mix, p.Stack, err)
			case len(part.Figures) > 0:
				s.Parts = append(s.Parts, part)
			}
		}
	}
	if len(s.Parts) > 0 {
		over, err := cpusOverInstances(runview.New(run), read)
		if err != nil {
			remark("CPUs over instances: the samples cannot be read: %v", err)
		}
		s.Figures = over
	}
	if left > 0 && len(s.Parts) > 0 {
		remark("%s more: plimsoll export --series", plural.Count(left, "point"))
	}
	if len(s.Parts)+len(s.Remarks) == 0 {
		return nil
	}
	return s
}

// sampledTrials are the trials of a point that are drawn: the last one, and the last in which
// an instance died.
func sampledTrials(trials []*result.Trial) (drawn []*result.Trial) {
	var done, died *result.Trial
	for _, t := range trials {
		if t.Status == result.TrialDone {
			done = t
		}
		if slices.ContainsFunc(t.Instances, func(in result.Instance) bool { return in.Problem != nil }) {
			died = t
		}
	}
	for _, t := range []*result.Trial{done, died} {
		if t != nil {
			drawn = append(drawn, t)
		}
	}
	return drawn
}

// sampledPart returns the figures of the series of one trial.
func sampledPart(t *result.Trial, read func(int) ([]result.Series, error)) (*section.Section, error) {
	s := &section.Section{Title: fmt.Sprintf("%s on %s, trial %d", t.Mix, t.Stack, t.Seq)}
	if t.Status != result.TrialDone {
		s.Title += ", in which an instance died"
	}
	sampled, err := read(t.Seq)
	if err != nil {
		return s, err
	}
	sampled = slices.DeleteFunc(slices.Clone(sampled), func(series result.Series) bool {
		return len(series.Values) < fewestSampled || series.Step <= 0
	})
	if len(sampled) == 0 {
		return s, nil
	}
	begun := sampled[0].Start
	for _, series := range sampled {
		if series.Start.Before(begun) {
			begun = series.Start
		}
	}
	s.Rows = eachInstance(t, sampled, begun)
	for _, m := range sampledMetrics {
		if (m.title == cpuTitle || m.title == pageCacheTitle) && len(s.Rows) > 0 {
			m.sources = []string{"miniature", "host"} // those of instances are drawn one by one
		}
		f, ok := m.figure(t, sampled, begun)
		if ok {
			s.Figures = append(s.Figures, f)
		}
	}
	if t.Window != nil && len(s.Figures) > 0 {
		s.Keys = []section.Key{{Class: window, Text: "the time in which all instances were measured"}}
	}
	return s, nil
}

// figure returns the figure of the metric of a trial; false where there is nothing to see.
func (m sampledMetric) figure(t *result.Trial, all []result.Series, begun time.Time) (section.Figure, bool) {
	lines := m.lines(t, all)
	f := m.draw(t, lines, begun, spanOf(lines, begun))
	return f, highest(f) > 0
}

// highest is the greatest value of a figure.
func highest(f section.Figure) (high float64) {
	f.Values(func(y float64) {
		if !math.IsInf(y, 0) && !math.IsNaN(y) {
			high = max(high, y)
		}
	})
	return high
}

// sampledLine is a line of a figure of what was sampled.
type sampledLine struct {
	name   string
	start  time.Time
	step   time.Duration
	values []float64
}

// lines are the series of the metric by whose they are: devices, instances and
// what holds them, or else the host.
func (m sampledMetric) lines(t *result.Trial, sampled []result.Series) []sampledLine {
	for _, sources := range m.sources {
		var lines, instances []sampledLine
		for _, s := range sampled {
			kind, device, _ := strings.Cut(s.Source, " ")
			if !slices.Contains(strings.Fields(sources), kind) || !slices.Contains(m.metrics, s.Metric) {
				continue
			}
			line := sampledLine{name: kind, start: s.Start, step: s.Step, values: s.Values}
			switch {
			case m.apart != nil:
				line.name = strings.TrimSpace(device + " " + m.apart[slices.Index(m.metrics, s.Metric)])
			case kind == "miniature": // the name that series are stored under
				line.name = "scaled-down host"
			case device != "":
				line.name = device
			case s.Instance != result.NoInstance:
				line.name = instanceName(t, s.Instance)
			}
			if s.Instance == result.NoInstance {
				lines = addLine(lines, line)
			} else {
				instances = addLine(instances, line)
			}
		}
		if len(instances) > mostSampledLines {
			instances = spreadOf(instances)
		}
		lines = append(lines, instances...) // what holds them has the same colour in all figures
		if len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// addLine adds the values of a line to that of the same name, or the line to the
// others.
func addLine(lines []sampledLine, l sampledLine) []sampledLine {
	for i := range lines {
		if lines[i].name == l.name {
			sum := slices.Clone(lines[i].values)
			for j := range min(len(sum), len(l.values)) {
				sum[j] += l.values[j]
			}
			lines[i].values = sum
			return lines
		}
	}
	return append(lines, l)
}

// spreadOf returns three lines for many: the least, the median and the most of
// them at each time.
func spreadOf(lines []sampledLine) []sampledLine {
	count := fmt.Sprintf(" of %d", len(lines))
	lowest, median, highest := lines[0], lines[0], lines[0]
	lowest.name, median.name, highest.name = "least"+count, "median"+count, "most"+count
	lowest.values, median.values, highest.values = nil, nil, nil
	for i := range lines[0].values {
		var values []float64
		for _, l := range lines {
			if i < len(l.values) && !math.IsNaN(l.values[i]) {
				values = append(values, l.values[i])
			}
		}
		if len(values) == 0 {
			values = []float64{math.NaN()}
		}
		lowest.values = append(lowest.values, slices.Min(values))
		median.values = append(median.values, stats.Median(values))
		highest.values = append(highest.values, slices.Max(values))
	}
	return []sampledLine{lowest, median, highest}
}

// averaged returns the means of a line over stretches of the time since begun,
// not a number where it has no values.
func (l sampledLine) averaged(begun time.Time, stretch float64, n int) []float64 {
	sums, counts := make([]float64, n), make([]float64, n)
	for i, v := range l.values {
		middle := l.start.Sub(begun).Seconds() + (float64(i)+0.5)*l.step.Seconds()
		i := int(middle / stretch)
		if i < 0 || i >= n || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		sums[i] += v
		counts[i]++
	}
	for i := range sums {
		sums[i] /= counts[i] // 0/0 is no number
	}
	return sums
}

// instanceName names an instance of a trial by its tenant and its number, which is
// that of its artifacts and of export: "readers 2"; one that is alone has only its
// tenant's name.
func instanceName(t *result.Trial, index int) string {
	i := slices.IndexFunc(t.Instances, func(in result.Instance) bool { return in.Index == index })
	switch {
	case i < 0 || t.Instances[i].Tenant == "":
		return fmt.Sprintf("instance %d", index)
	case len(t.Instances) == 1:
		return t.Instances[i].Tenant
	}
	return fmt.Sprintf("%s %d", t.Instances[i].Tenant, index)
}
