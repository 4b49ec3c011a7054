package export

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// TrialSeries holds the samples of one trial.
type TrialSeries struct {
	Trial  int // Seq of the trial
	Series []result.Series
}

// Sample is one value of a series, as a line of NDJSON.
type Sample struct {
	Trial    int      `json:"trial"`
	Time     string   `json:"time"` // at the end of the interval that the value is the mean over
	Source   string   `json:"source"`
	Instance *int     `json:"instance,omitempty"` // of source "instance"
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	Value    *float64 `json:"value"` // null where the kernel gave no value
}

// sampleTimeLayout is the time.Layout of a sample's time.
const sampleTimeLayout = "2006-01-02T15:04:05.000Z07:00"

// samples calls a function with each value of each series, and stops at its first error.
func samples(trials []TrialSeries, take func(Sample) error) error {
	for _, t := range trials {
		for _, s := range t.Series {
			sample := Sample{Trial: t.Trial, Source: s.Source, Metric: s.Metric, Unit: s.Unit}
			if s.Instance != result.NoInstance {
				sample.Instance = &s.Instance
			}
			for i, v := range s.Values {
				sample.Time = endOf(s, i).UTC().Format(sampleTimeLayout)
				sample.Value = nil
				if !math.IsNaN(v) {
					sample.Value = &v
				}
				if err := take(sample); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// endOf returns when an interval of a series ended.
func endOf(s result.Series, interval int) time.Time {
	return s.Start.Add(time.Duration(interval+1) * s.Step)
}

// SeriesNDJSON writes one JSON object per value and line.
func SeriesNDJSON(w io.Writer, trials []TrialSeries) error {
	out := bufio.NewWriter(w)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := samples(trials, func(s Sample) error { return e.Encode(s) }); err != nil {
		return err
	}
	return out.Flush()
}

// SeriesCSV writes a heading and one record per value; a value that the kernel did not give is an empty field.
func SeriesCSV(w io.Writer, trials []TrialSeries) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"trial", "time", "source", "instance", "metric", "unit", "value"}); err != nil {
		return err
	}
	err := samples(trials, func(s Sample) error {
		instance, value := "", ""
		if s.Instance != nil {
			instance = strconv.Itoa(*s.Instance)
		}
		if s.Value != nil {
			value = strconv.FormatFloat(*s.Value, 'g', -1, 64)
		}
		return out.Write(printable.Cells(strconv.Itoa(s.Trial), s.Time, s.Source, instance, s.Metric, s.Unit, value))
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// SeriesOpenMetrics writes OpenMetrics with timestamps, as `promtool tsdb create-blocks-from openmetrics` takes it: a
// family for each metric, its samples by trial, source and time. Values that the kernel did not give are left out.
func SeriesOpenMetrics(w io.Writer, trials []TrialSeries) error {
	type labelled struct {
		labels string
		series result.Series
	}
	families := map[string][]labelled{}
	units := map[string]string{}
	var names []string
	for _, t := range trials {
		for _, s := range t.Series {
			name, unit := openMetricsName(s.Metric, s.Unit)
			if _, seen := families[name]; !seen {
				names = append(names, name)
			}
			units[name] = unit
			families[name] = append(families[name], labelled{openMetricsLabels(t.Trial, s), s})
		}
	}
	slices.Sort(names)
	out := bufio.NewWriter(w)
	for _, name := range names {
		fmt.Fprintf(out, "# TYPE %s gauge\n# UNIT %s %s\n", name, name, units[name])
		for _, s := range families[name] {
			for i, v := range s.series.Values {
				if math.IsNaN(v) {
					continue
				}
				seconds := float64(endOf(s.series, i).UnixMilli()) / 1000
				fmt.Fprintf(out, "%s{%s} %s %s\n", name, s.labels,
					strconv.FormatFloat(v, 'g', -1, 64), strconv.FormatFloat(seconds, 'f', 3, 64))
			}
		}
	}
	fmt.Fprintln(out, "# EOF")
	return out.Flush() // which tells of every failure above
}

// openMetricsUnits are units in the words of OpenMetrics.
var openMetricsUnits = map[string]string{
	"bytes/s": "bytes_per_second", "ops/s": "operations_per_second", "faults/s": "faults_per_second", "share": "ratio",
}

// openMetricsName returns the name of a metric, which ends in its unit, and the unit: io.read_bytes in bytes/s is
// plimsoll_io_read_bytes_per_second.
func openMetricsName(metric, unit string) (name, word string) {
	word = openMetricsUnits[unit]
	if word == "" {
		word = openMetricsWord(unit)
	}
	name = "plimsoll_" + openMetricsWord(metric)
	first, _, _ := strings.Cut(word, "_")
	return strings.TrimSuffix(name, "_"+first) + "_" + word, word
}

// openMetricsWord replaces characters that a name of OpenMetrics may not have.
func openMetricsWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(text))
}

// openMetricsLabels returns the labels of a series: source="device loop0" becomes two, source and device.
func openMetricsLabels(trial int, s result.Series) string {
	source, device, isDevice := strings.Cut(s.Source, " ")
	labels := fmt.Sprintf(`trial="%d",source="%s"`, trial, openMetricsEscape.Replace(source))
	if isDevice {
		labels += fmt.Sprintf(`,device="%s"`, openMetricsEscape.Replace(device))
	}
	if s.Instance != result.NoInstance {
		labels += fmt.Sprintf(`,instance="%d"`, s.Instance)
	}
	return labels
}

var openMetricsEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
