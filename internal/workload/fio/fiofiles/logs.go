package fiofiles

import (
	"fmt"
	"math"
	"path"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// kinds of latency, and which logs have them.
var kinds = []struct {
	stage result.Stage
	logs  []fio.LogKind // best first: with a line for each I/O, or with a histogram
}{
	{result.Submission, []fio.LogKind{fio.LogSubmission}},
	{result.Completion, []fio.LogKind{fio.LogCompletion, fio.LogHistogram}},
	{result.Total, []fio.LogKind{fio.LogTotal}},
}

// directions of a measurement and of a log.
var directions = []struct {
	operation string
	name      string // for people
	log       func(*fio.Log) fio.LogCounts
}{
	{result.Read, "reads", func(l *fio.Log) fio.LogCounts { return l.Read }},
	{result.Write, "writes", func(l *fio.Log) fio.LogCounts { return l.Write }},
}

// addHistograms takes the histograms that a result lacks from its logs.
func (m *importer) addHistograms(i *item) {
	if i.Measurement == nil {
		return
	}
	for _, kind := range kinds {
		lacking := false
		for _, d := range directions {
			direction := i.Measurement.Operation(d.operation)
			l := direction.Latency[kind.stage]
			if direction.Count == 0 || !l.Bins.IsEmpty() {
				continue
			}
			logged, from := mergeLatencyLogs(i.logs, kind.logs, d.log)
			if logged.Count == 0 {
				lacking = lacking || l.MaxNS > 0
				continue
			}
			total := l.Count
			if total == 0 {
				total = direction.Count
			}
			m.notes = append(m.notes, fmt.Sprintf("the histogram of %s latency of the %s in %s is from %s, which has %d of %d",
				kind.stage, d.name, path.Base(i.name()), abbreviate(from), logged.Count, total))
			l.Bins, l.Count = logged.Bins, logged.Count
			if l.MaxNS == 0 { // switched off but for the log
				logged.Printed = l.Printed
				l = logged
			}
			direction.SetLatency(kind.stage, l)
			i.Measurement.SetOperation(direction)
		}
		if !lacking {
			i.Lacks = slices.DeleteFunc(i.Lacks, func(l fio.Lack) bool {
				return l.Latency == string(kind.stage) && (l.What == fio.Histogram || l.What == fio.Percentiles)
			})
		}
	}
}

// mergeLatencyLogs merges the histograms of all logs of one kind: the first of kinds that has any.
func mergeLatencyLogs(
	logs []*logFile,
	kinds []fio.LogKind,
	countsOf func(*fio.Log) fio.LogCounts,
) (hist.Histogram, []string) {
	for _, kind := range kinds {
		var parts []hist.Histogram
		var from []string
		for _, l := range logs {
			if c := countsOf(l.Log); l.Log.Name.Kind == kind && c.Latency.Count > 0 {
				parts, from = append(parts, c.Latency), append(from, path.Base(l.File.Name))
			}
		}
		if len(parts) > 0 {
			return hist.Merge(parts...), from
		}
	}
	return hist.Histogram{}, nil
}

// addLogsAlone makes results of logs that belong to none: those of one prefix
// in one directory are of one result.
func (m *importer) addLogsAlone(logs []*logFile) {
	type place struct{ dir, prefix string }
	var order []place
	groups := map[place][]*logFile{}
	for _, l := range logs {
		p := place{path.Dir(l.File.Name), l.Log.Name.Prefix}
		if groups[p] == nil {
			order = append(order, p)
		}
		groups[p] = append(groups[p], l)
	}
	for _, p := range order {
		i := &item{logs: groups[p]}
		i.Job = p.prefix
		if i.Job == "" {
			i.Job = Unknown
		}
		i.Info = result.Workload{Kind: fio.Kind.Name, Summary: i.Job + ": known from logs alone, options unknown"}
		i.lacks("the options of the jobs", "")
		i.lacks("the use of CPU", "")
		measured, why := measurementFromLogs(i.logs)
		if measured == nil {
			remedy := "name the JSON output of the same fio together with its logs, or the logs that are missing"
			if at := slices.IndexFunc(i.logs, func(l *logFile) bool { return l.Shared }); at >= 0 {
				why = path.Base(i.logs[at].File.Name) + " has windows of several jobs, which cannot be distinguished"
				remedy = "name the JSON output of the same fio together with its logs, or measure again without per_job_logs=0"
			}
			m.problem(i.logs[0].File.Name, 0, why, remedy)
			continue
		}
		i.Measurement = measured
		i.noteLogs()
		m.noteOneJob(i)
		m.items = append(m.items, i)
	}
}

// noteOneJob adds the note that logs without JSON are assumed to be of one job, since they do not name theirs.
func (m *importer) noteOneJob(i *item) {
	var names []string
	threads := map[int]bool{}
	for _, l := range i.logs {
		names = append(names, path.Base(l.File.Name))
		threads[l.Log.Name.Thread] = true
	}
	processes := "one process"
	if n := len(threads); n > 1 {
		processes = fmt.Sprintf("the %d processes of one job, which ran at the same time: their rates are added up", n)
	}
	m.notes = append(m.notes,
		fmt.Sprintf("no JSON output shows whose %s %s; taken for one job, %s", abbreviate(names),
			plural.Choose(len(names), "is", "are"), processes))
}

// measurementFromLogs makes a measurement from logs alone, or returns the reason why they do not suffice.
func measurementFromLogs(logs []*logFile) (*result.Measurement, string) {
	var m result.Measurement
	for _, d := range directions {
		rate, bytes := countFromLogs(logs, d.log)
		if rate.IOs == 0 {
			if bytes.Bytes > 0 {
				return nil, fmt.Sprintf("these logs do not show how many %s there were: a bandwidth log has no IOPS", d.name)
			}
			continue
		}
		switch {
		case bytes.Bytes == 0:
			return nil, fmt.Sprintf("these logs do not show how many bytes the %s had: an IOPS log has no bandwidth", d.name)
		case rate.Seconds <= 0 || bytes.Seconds <= 0:
			return nil, fmt.Sprintf("the logs of the %s cover no time", d.name)
		case rate.IOs > math.MaxInt64 || bytes.Bytes > math.MaxInt64:
			return nil, fmt.Sprintf("the logs have more %s than can be", d.name)
		}
		done := result.Operation{
			Name:  d.operation,
			Count: uint64(math.Round(rate.IOs)), Bytes: uint64(math.Round(bytes.Bytes)),
			Rate: rate.IOs / rate.Seconds, BytesPerSecond: bytes.Bytes / bytes.Seconds,
		}
		m.Seconds = max(m.Seconds, rate.Seconds)
		for _, kind := range kinds {
			latency, _ := mergeLatencyLogs(logs, kind.logs, d.log)
			done.SetLatency(kind.stage, latency)
		}
		m.SetOperation(done)
	}
	if m.IOs() == 0 {
		return nil, "these logs do not show how many I/Os there were: averages of latencies and of bandwidth have no IOPS"
	}
	return &m, ""
}

// countFromLogs adds up the I/Os and bytes of one direction, from the kind of log that counts them best.
func countFromLogs(logs []*logFile, countsOf func(*fio.Log) fio.LogCounts) (ios, bytes fio.LogCounts) {
	for _, kind := range []fio.LogKind{fio.LogTotal, fio.LogCompletion, fio.LogSubmission, fio.LogHistogram,
		fio.LogIOPS, fio.LogBandwidth} {
		var sum fio.LogCounts
		for _, l := range logs {
			if l.Log.Name.Kind != kind {
				continue
			}
			c := countsOf(l.Log)
			sum.IOs, sum.Bytes, sum.Seconds = sum.IOs+c.IOs, sum.Bytes+c.Bytes, max(sum.Seconds, c.Seconds)
		}
		if ios.IOs == 0 && sum.IOs > 0 {
			ios = sum
		}
		if bytes.Bytes == 0 && sum.Bytes > 0 {
			bytes = sum
		}
	}
	return ios, bytes
}

func (i *item) lacks(what, because string) {
	i.Lacks = append(i.Lacks, fio.Lack{What: what, Because: because})
}

// noteLogs adds notes on how a measurement was made from logs.
func (i *item) noteLogs() {
	exact, histogram, merged := false, false, 0
	for _, l := range i.logs {
		histogram = histogram || l.Log.Name.Kind == fio.LogHistogram
		exact = exact || histogram || l.PerIO
		merged = max(merged, l.BinsMerged)
		if l.Trims > 0 {
			i.lacks("trims", fmt.Sprintf("%d lines of %s about them were passed over", l.Trims, path.Base(l.File.Name)))
		}
	}
	switch {
	case !exact:
		i.lacks("counts of I/Os", "they are the rates of its windows times their length, the first window taken to "+
			"be as long as the second")
	case i.Measurement.Operation(result.Read).Latency[result.Total].Count+
		i.Measurement.Operation(result.Write).Latency[result.Total].Count > 0:
		i.lacks("the unit of latencies", "taken as nanoseconds, as fio writes them since 3.0")
	}
	if histogram {
		i.lacks("what came after the last window of its histogram log", "")
	}
	if merged > 1 {
		i.lacks("fio's full resolution", fmt.Sprintf("%d bins of the histogram are one in the log", merged))
	}
}
