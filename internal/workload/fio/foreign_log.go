package fio

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/problem"
	"plimsoll/internal/result/hist"
)

// LogKind is the quantity in a log of fio.
type LogKind string

// The kinds of logs, as in their names.
const (
	LogBandwidth  LogKind = "bw"
	LogIOPS       LogKind = "iops"
	LogSubmission LogKind = "slat"
	LogCompletion LogKind = "clat"
	LogTotal      LogKind = "lat"
	LogHistogram  LogKind = "clat_hist"
)

// LogName is a parsed name of a log.
type LogName struct {
	Prefix string // as given to write_bw_log and the like
	Kind   LogKind
	Thread int    // number of the job within fio, from 1; 0 when one log holds all jobs
	Host   string // that ran the job, from fio --client; "" for none
}

var logName = regexp.MustCompile(`^(.*)_(bw|iops|slat|clat|lat|clat_hist)(?:\.([0-9]{1,6}))?\.log(?:\.([^/]+))?$`)

// ParseLogName reads the name of a file; ok is false when no log of fio has
// such a name.
func ParseLogName(file string) (n LogName, ok bool) {
	m := logName.FindStringSubmatch(path.Base(file))
	if m == nil {
		return LogName{}, false
	}
	n = LogName{Prefix: m[1], Kind: LogKind(m[2]), Host: m[4]}
	n.Thread, _ = strconv.Atoi(m[3])
	return n, true
}

// Log is the content of a log, for reads and for writes.
type Log struct {
	Name  LogName
	PerIO bool // a line for each I/O, not averages over windows of time
	Read  LogCounts
	Write LogCounts
	Trims int // lines about trims, which are passed over

	// BinsMerged is how many of fio's bins each bin of a histogram log covers (log_hist_coarseness); 0 for other
	// logs.
	BinsMerged int

	Shared bool // several jobs may have written its windows, which cannot be separated: no counts
}

// LogCounts holds the counts of one direction in a log.
type LogCounts struct {
	Lines   int
	Seconds float64        // that the log covers
	IOs     float64        // 0 when unknown
	Bytes   float64        // 0 when unknown
	Latency hist.Histogram // of logs with a line for each I/O, and of histogram logs
}

// maxProblems bounds the problems reported for one file: a mistake in one line is usually in many.
const maxProblems = 5

// Bounds of a log: of each I/O, 24 bytes are held.
const (
	mostLines = 10_000_000
	mostLine  = 64 << 10 // bytes; a line of a histogram has a third of that
)

// ReadLog reads a log. Problems carry the line; there is a log only when
// there are no problems.
func ReadLog(name LogName, text []byte) (*Log, problem.List) {
	p := logParser{log: Log{Name: name}}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		p.problem(1, "this is no text",
			"a log that fio compressed (log_store_compressed) is made readable with fio --inflate-log=FILE")
		return nil, p.problems
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if number > mostLines {
			p.problem(number, fmt.Sprintf("it has more than %d lines, which is the most that is read of one log", mostLines),
				"import a part of it, or write averages: log_avg_msec")
			break
		}
		if !p.line(number, string(line)) {
			p.wrong++
		}
	}
	if p.wrong > len(p.problems) {
		p.problem(number, fmt.Sprintf("%d more lines like these", p.wrong-len(p.problems)), "")
	}
	if p.wrong == 0 && number > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		p.problem(number, "the last line has no end: the log was cut short", "copy the file again, or remove that line")
	}
	if len(p.problems) == 0 && p.lines == 0 {
		p.problem(1, "the log is empty", "leave it out; fio writes the first line when its first window ends")
	}
	if len(p.problems) == 0 {
		p.finish()
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return &p.log, nil
}

// logParser parses a log.
type logParser struct {
	log      Log
	lines    int
	columns  int // of a histogram log
	wrong    int // lines
	problems problem.List
	samples  [2][]logSample // reads, writes
	counts   [2]histogram
}

// logSample is a line of a log: 16 bytes, because there may be a line for
// each I/O.
type logSample struct {
	ms    uint64
	value uint64 // of a histogram log: the number of I/Os
	bs    uint32
}

func (p *logParser) problem(line int, what, remedy string) {
	p.problems.InLine(line, what, remedy)
}

// isLogLine reports whether a line may be one of a log.
func isLogLine(line string) bool {
	fields, ok := numbers(line, 3)
	return ok && len(fields) >= 4
}

// numbers reads the fields of a line: the first ones must be whole numbers.
func numbers(line string, needed int) (fields []string, ok bool) {
	fields = strings.Split(strings.TrimRight(line, ", \t"), ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
		if _, err := strconv.ParseUint(fields[i], 10, 64); err != nil && i < needed {
			return fields, false
		}
	}
	return fields, len(fields) >= needed
}

// line reads one line; false when it cannot be read.
func (p *logParser) line(number int, line string) bool {
	say := func(what, remedy string) bool {
		if len(p.problems) < maxProblems {
			p.problem(number, what, remedy)
		}
		return false
	}
	if len(line) > mostLine {
		return say(fmt.Sprintf("a line of %d bytes, and no line of fio is that long", len(line)),
			"name files as fio wrote them")
	}
	fields, ok := numbers(line, 3)
	histogram := p.log.Name.Kind == LogHistogram
	switch {
	case !ok:
		return say("no line of a log of fio: it begins with time, value and direction",
			"name files as fio wrote them; the last line of a file that was cut short can be removed")
	case !histogram && (len(fields) < 4 || len(fields) > 7):
		return say(fmt.Sprintf("%d fields, where fio writes 4 to 7: time, value, direction, block size, offset, "+
			"priority, issue time", len(fields)), "name files as fio wrote them; the last line of a file that was "+
			"cut short can be removed")
	case histogram && p.columns == 0:
		if p.columns = len(fields); !p.setShape(len(fields) - 3) {
			return say(fmt.Sprintf("%d bins, which no log_hist_coarseness makes", len(fields)-3),
				"name files as fio wrote them: time, direction, block size, and a count for each bin")
		}
	case histogram && len(fields) != p.columns:
		return say(fmt.Sprintf("%d fields, where the first line has %d", len(fields), p.columns),
			"name files as fio wrote them; the last line of a file that was cut short can be removed")
	}
	if histogram {
		return p.histogramLine(fields) || say("a count that is no whole number", "name files as fio wrote them")
	}
	n := make([]uint64, 4)
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, 64); err != nil {
			return say(fmt.Sprintf("field %d, %q, is no whole number", i+1, fields[i]), "name files as fio wrote them")
		}
	}
	if n[2] > 2 || n[3] > math.MaxUint32 {
		return say(fmt.Sprintf("direction %d and block size %d", n[2], n[3]),
			"fio writes 0 for reads, 1 for writes and 2 for trims")
	}
	p.lines++
	if n[2] == 2 {
		p.log.Trims++
		return true
	}
	p.samples[n[2]] = append(p.samples[n[2]], logSample{ms: n[0], value: n[1], bs: uint32(n[3])})
	return true
}

// setShape derives the layout of the histogram from the number of bins, and reports whether it is valid.
func (p *logParser) setShape(bins int) bool {
	for coarseness := range 7 {
		if bins == binCount>>coarseness || bins == oldBinCount>>coarseness {
			p.log.BinsMerged = 1 << coarseness
			return true
		}
	}
	return false
}

// histogramLine reads time, direction, block size and counts.
func (p *logParser) histogramLine(fields []string) bool {
	n := make([]uint64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseUint(f, 10, 64)
		if err != nil || i > 2 && v > math.MaxUint32*64 {
			return false
		}
		n[i] = v
	}
	if n[1] > 2 || n[2] > math.MaxUint32 {
		return false
	}
	p.lines++
	if n[1] == 2 {
		p.log.Trims++
		return true
	}
	bins := n[3:]
	unit := uint64(1)
	if len(bins)*p.log.BinsMerged <= oldBinCount {
		unit = 1000 // fio 2 counts in microseconds
	}
	if p.counts[n[1]] == nil {
		p.counts[n[1]] = histogram{}
	}
	sample := logSample{ms: n[0], bs: uint32(n[2])}
	for i, count := range bins {
		if count > 0 {
			p.counts[n[1]][mergedValue(i*p.log.BinsMerged, p.log.BinsMerged)*unit] += count
			sample.value += count
		}
	}
	p.samples[n[1]] = append(p.samples[n[1]], sample)
	return true
}

// mergedValue is the middle of bins that are one in the log; of a single bin
// it is fio's own value.
func mergedValue(first, merged int) uint64 {
	low, _ := binRange(first)
	last, width := binRange(first + merged - 1)
	return low + (last+width-low)/2
}

// finish makes sums of the lines.
func (p *logParser) finish() {
	l := &p.log
	l.PerIO = l.Name.Kind != LogHistogram && p.perIO()
	for i, to := range []*LogCounts{&l.Read, &l.Write} {
		samples := p.samples[i]
		to.Lines = len(samples)
		if len(samples) == 0 {
			continue
		}
		// fio 2.1 and older wrote no number into names; without one, jobs may share the log (per_job_logs=0).
		l.Shared = l.Shared || l.Name.Thread == 0 && !oneAfterAnother(samples)
		// Jobs that share a log, or that wait, leave lines out of order.
		slices.SortStableFunc(samples, func(a, b logSample) int { return compare(a.ms, b.ms) })
		switch {
		case l.PerIO:
			p.sumIOs(to, samples)
		case l.Name.Kind == LogHistogram:
			p.sumHistogram(to, samples, p.counts[i])
		default:
			p.sumWindows(to, samples)
		}
	}
}

// oneAfterAnother reports whether windows may be those of one job: jobs that share a log have windows at the same
// times, or begin again where the next one's come.
func oneAfterAnother(samples []logSample) bool {
	lengths := windows(samples)
	longest := slices.Max(lengths)
	for i := 1; i < len(samples); i++ {
		// the last one ends with its job
		if samples[i].ms <= samples[i-1].ms || i < len(samples)-1 && lengths[i] < longest/2 {
			return false
		}
	}
	return true
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// perIO reports whether there is a line for each I/O: fio writes the I/O's block size then, and 0 for a window.
// Before 3.0, bandwidth and IOPS over windows had a block size too; IOPS of one I/O are always 1.
func (p *logParser) perIO() bool {
	for _, samples := range p.samples {
		for _, s := range samples {
			if s.bs == 0 || p.log.Name.Kind == LogIOPS && s.value != 1 {
				return false
			}
		}
	}
	return true
}

// sinceEpoch is the time, in milliseconds, from which on a log counts from
// 1970 (log_unix_epoch) and not from the beginning of its job: 1973.
const sinceEpoch = 1e11

// sumIOs counts a line as an I/O.
func (p *logParser) sumIOs(to *LogCounts, samples []logSample) {
	to.IOs = float64(len(samples))
	to.Seconds = float64(samples[len(samples)-1].ms) / 1000
	if samples[0].ms > sinceEpoch {
		to.Seconds = float64(samples[len(samples)-1].ms-samples[0].ms) / 1000
	}
	h := histogram{}
	l := hist.Histogram{Count: uint64(len(samples)), MinNS: math.MaxUint64}
	sum := 0.0
	for _, s := range samples {
		to.Bytes += float64(s.bs)
		h[binValue(binIndex(s.value))]++
		sum += float64(s.value)
		l.MinNS, l.MaxNS = min(l.MinNS, s.value), max(l.MaxNS, s.value)
	}
	switch p.log.Name.Kind {
	case LogBandwidth:
		// Before 3.0, averages have a block size too: its lines count nothing.
		to.IOs, to.Bytes = 0, 0
		return
	case LogIOPS:
		return
	}
	l.MeanNS, l.Bins = sum/float64(len(samples)), hist.Pack(h.bins())
	to.Latency = l
}

// sumHistogram adds the counts of all lines up. What its windows have in
// common is a block size, or the bytes are not known.
func (p *logParser) sumHistogram(to *LogCounts, samples []logSample, counts histogram) {
	lengths := windows(samples)
	bins := counts.bins()
	l := hist.Histogram{Bins: hist.Pack(bins)}
	for i, s := range samples {
		to.Seconds += lengths[i]
		l.Count += s.value
	}
	to.IOs = float64(l.Count)
	if bs := samples[0].bs; !slices.ContainsFunc(samples, func(s logSample) bool { return s.bs != bs }) {
		to.Bytes = to.IOs * float64(bs)
	}
	if l.Count == 0 {
		to.Lines = 0
		return
	}
	// As near as bins are.
	for _, b := range bins {
		l.MeanNS += float64(b.NS) * float64(b.Count) / float64(l.Count)
	}
	l.MinNS, l.MaxNS = bins[0].NS, bins[len(bins)-1].NS
	to.Latency = l
}

// sumWindows converts rates over windows into counts. Windows of jobs that share a log cannot be separated.
func (p *logParser) sumWindows(to *LogCounts, samples []logSample) {
	if p.log.Shared {
		return
	}
	for i, length := range windows(samples) {
		to.Seconds += length
		switch p.log.Name.Kind {
		case LogIOPS:
			to.IOs += float64(samples[i].value) * length
		case LogBandwidth:
			to.Bytes += float64(samples[i].value) * 1024 * length
		}
	}
}

// windows returns the length of each window, in seconds. A line is written at a window's end; the first is assumed to
// be as long as the second, and no longer than the time since the start.
func windows(samples []logSample) []float64 {
	lengths := make([]float64, len(samples))
	for i := 1; i < len(samples); i++ {
		lengths[i] = float64(samples[i].ms-samples[i-1].ms) / 1000
	}
	since := float64(samples[0].ms) / 1000
	lengths[0] = since
	if len(samples) > 1 && lengths[1] > 0 {
		lengths[0] = min(since, lengths[1])
	}
	return lengths
}
