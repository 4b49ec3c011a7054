package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Foreign is one result in the output of an fio that plimsoll did not start: the jobs of one group together.
type Foreign struct {
	Line     int    // of the file, where its JSON document begins
	Document []byte // fio's own text: that document, and the earlier states of it

	Job     string          // names of the jobs, joined by "+"
	Version version.Version // of fio
	Started time.Time       // of the jobs; zero when unknown
	Written time.Time       // when fio printed it; zero when unknown
	Elapsed float64         // duration of the jobs in seconds, ramp included; 0 when unknown
	// From and To is the time in which they were measured for certain, by the clock of their host; zero when the file
	// does not tell
	From, To time.Time
	Hosts    []string // that ran the jobs, from fio --client

	Info    result.Workload     // without a name
	Options []map[string]string // of each kind of job, in canonical form; nil when unknown
	Targets []string            // files or devices that the jobs name, or their directories
	Threads []int               // numbers of the jobs within fio, from 1; nil when they cannot be told
	Logs    []string            // prefixes of the logs that the jobs wrote

	Measurement *result.Measurement // nil when there is none, and Problem says why
	Problem     *problem.Problem
	group       int      // of the document
	Lacks       []Lack   // missing parts of the measurement
	Devices     *DiskUse // nil where fio noted nothing of devices, or of jobs of other results, too
	Series      []Sample // earlier states of the measurement, from --status-interval
}

// Lack is a part of a measurement that a file lacks.
type Lack struct {
	What    string // "percentiles", or the whole of it when there is no Latency
	Latency string // the kind of latency that lacks it: "submission", "completion", "total"; "" for none
	Because string // "" when the file just does not have it
}

// What a latency may lack that a log can give.
const (
	Percentiles = "percentiles"
	Histogram   = "a histogram"
)

// Sample holds the totals of jobs at a time after they began to be measured.
type Sample struct {
	Seconds     float64
	Read, Write Counters
}

// Counters count from the beginning.
type Counters struct{ IOs, Bytes uint64 }

// MinForeign is the oldest fio whose output can be read: from 3.0 on,
// latencies are in nanoseconds and sizes in bytes.
var MinForeign = version.Version{Major: 3}

// ReadForeign reads a file that fio printed: json or json+, with whatever
// stands around the JSON, of fio itself or of fio --client, or with the prefixes
// of a log collector. A file may hold several documents: those that
// --status-interval made become one result with a series. Problems carry the
// line of the file; there are results only when there are no problems.
func ReadForeign(text []byte) ([]Foreign, problem.List) {
	var results []Foreign
	var problems problem.List
	for _, f := range foreignTexts(text) {
		f.split()
		if len(f.problems) == 0 && len(f.documents) == 0 {
			what, remedy := noDocument(f.text)
			f.problem(0, what, remedy)
		}
		problems = append(problems, f.problems...)
		for start := 0; start < len(f.documents); {
			end := start + 1
			for end < len(f.documents) && continues(f.documents[end-1], f.documents[end]) {
				end++
			}
			results = append(results, f.results(f.documents[start:end])...)
			start = end
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return results, nil
}

// results returns the results of the groups in the last document; the others are its earlier states.
func (f *foreignFile) results(states []document) []Foreign {
	last := states[len(states)-1]
	first := 0 // of the states that were measured
	for i := range len(states) - 1 {
		if inRamp(states[i], states[i+1]) {
			first = i + 1
		}
	}
	var groups []int
	for _, j := range last.jobs {
		if !slices.Contains(groups, j.Group) {
			groups = append(groups, j.Group)
		}
	}
	var results []Foreign
	for _, group := range groups {
		r := f.result(last, group)
		r.Line, r.Document = f.line(states[0].start), f.text[states[0].start:last.end]
		for _, state := range states[first : len(states)-1] {
			s := state.sample(group)
			// not before it began, nor after it ended
			if n := len(r.Series); s.Seconds > 0 && (n == 0 || r.Series[n-1].Seconds < s.Seconds) {
				r.Series = append(r.Series, s)
			}
		}
		results = append(results, r)
	}
	last.setTimes(results)
	return results
}

// setTimes determines when each result was measured. Where the jobs do not record their start, it counts back from
// the time at which fio printed the document, one group after another where new_group alone separates them.
func (d document) setTimes(results []Foreign) {
	end := d.printedMS()
	if end == 0 {
		return
	}
	for i := len(results) - 1; i >= 0; i-- {
		r := &results[i]
		var ran, ramp time.Duration
		waits, apart := false, false
		for _, j := range d.jobs {
			if j.Group != r.group {
				continue
			}
			options := d.options(j)
			_, stonewall := options["stonewall"]
			_, newGroup := options["new_group"]
			waits, apart = waits || stonewall, apart || newGroup
			rampTime, _ := fioDuration(options["ramp_time"])
			ramp = max(ramp, rampTime)
			ran = max(ran, time.Duration(j.runtimeMS())*time.Millisecond)
		}
		if ran == 0 && len(results) == 1 { // fio rounds it up
			ran = max(0, time.Duration((r.Elapsed-1)*float64(time.Second)))
		}
		r.To = time.UnixMilli(end).UTC()
		if !r.Started.IsZero() {
			r.To = r.Started.Add(ramp + ran)
		}
		r.From = r.To.Add(-ran)
		if waits || !apart { // for the group before
			end -= (ramp + ran).Milliseconds()
		}
		if d.TimestampMS == 0 && r.Started.IsZero() { // printed within that second
			r.From = r.From.Add(time.Second)
		}
	}
}

// runtimeMS returns the measured time of a job, in milliseconds.
func (j job) runtimeMS() uint64 {
	return min(max(j.Read.RuntimeMS, j.Write.RuntimeMS, j.Trim.RuntimeMS), math.MaxInt32*1000)
}

// sample returns the totals of a group.
func (d document) sample(group int) Sample {
	var s Sample
	for _, j := range d.jobs {
		if j.Group != group {
			continue
		}
		s.Seconds = max(s.Seconds, float64(max(j.Read.RuntimeMS, j.Write.RuntimeMS))/1000)
		s.Read.IOs, s.Read.Bytes = s.Read.IOs+j.Read.IOs, s.Read.Bytes+j.Read.Bytes
		s.Write.IOs, s.Write.Bytes = s.Write.IOs+j.Write.IOs, s.Write.Bytes+j.Write.Bytes
	}
	return s
}

// result reads one group of a document.
func (f *foreignFile) result(d document, group int) Foreign {
	r := Foreign{group: group}
	r.Version, _ = version.ParseFio(d.Version)
	if ms := d.printedMS(); ms > 0 {
		r.Written = time.UnixMilli(ms).UTC()
	}
	var jobs []job
	var names []string
	for i, j := range d.jobs {
		if j.Group != group {
			continue
		}
		jobs = append(jobs, j)
		if !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
		if j.Host != "" && !slices.Contains(r.Hosts, j.Host) {
			r.Hosts = append(r.Hosts, j.Host)
		}
		r.Threads = append(r.Threads, i+1)
		r.Elapsed = max(r.Elapsed, j.Elapsed)
		if started := time.UnixMilli(j.StartMS).UTC(); j.StartMS > 0 && (r.Started.IsZero() || started.Before(r.Started)) {
			r.Started = started
		}
	}
	if len(r.Hosts) > 0 { // every host counts its own
		r.Threads = nil
	}
	r.Job = strings.Join(names, "+")
	r.describe(d, jobs)
	r.measure(d, jobs)
	return r
}

// measure fills in the measurement, or the problem.
func (r *Foreign) measure(d document, jobs []job) {
	explain := reader{}
	if len(r.Options) == 1 {
		explain.engine, explain.direct = r.Options[0]["ioengine"], r.Options[0]["direct"] == "1"
	}
	fail := func(p *problem.Problem) {
		p.What = "fio, job " + r.Job
		r.Problem = p
	}
	for i, j := range jobs {
		switch {
		case j.Error != 0:
			fail(explain.errno(j, d.notes))
			return
		case j.Errors != 0:
			fail(failure("", fmt.Sprintf("job %q had %d failed I/Os", j.Name, j.Errors), "a stack that fails I/Os has no speed"))
			return
		case j.Mixed != nil && j.Read.IOs+j.Write.IOs > 0:
			jobs[i].Mixed = nil // reported as one and also apart
		}
		for _, part := range []direction{j.Read, j.Write} {
			if part.KBytes != nil && part.Bytes/1024 != *part.KBytes {
				fail(failure("", fmt.Sprintf("its %d bytes are not its %d KiB", part.Bytes, *part.KBytes),
					"name files as fio wrote them"))
				return
			}
		}
	}
	m, err := merge(jobs, r.latencies)
	if err != nil {
		fail(err)
		return
	}
	r.Measurement = &m
	r.Measurement.Notes = r.doubts(d, jobs)
	if len(jobs) == len(d.jobs) && len(r.Hosts) < 2 {
		r.Devices = d.diskUse()
	}
}

// latencies merges the distributions of several jobs, and records what the file lacks.
func (r *Foreign) latencies(subject, kind string, parts []latency) (hist.Histogram, *problem.Problem) {
	parts = slices.DeleteFunc(slices.Clone(parts),
		func(l latency) bool { return l.N == 0 && l.Max == 0 && l.Mean == 0 && len(l.Bins) == 0 })
	var merged hist.Histogram
	if len(parts) == 0 {
		if kind == "total" {
			r.lacks(Lack{What: "latencies", Because: r.unmeasured()})
		}
		return merged, nil
	}
	histograms := 0
	for _, l := range parts {
		if l.Mean < 0 {
			return merged, implausible("latencies of " + subject)
		}
		if len(l.Bins) > 0 {
			histograms++
		}
	}
	if histograms == len(parts) {
		for i := range parts {
			parts[i].N = 1 // older versions print none: the bins count
		}
		return mergeHistograms(subject, kind, parts)
	}
	merged = summary(parts)
	if merged.Count == 0 {
		r.lacks(Lack{What: "the number", Latency: kind})
	}
	switch {
	case len(parts) == 1:
		if merged.Printed = quantiles(parts[0].Percentiles); merged.Printed == nil {
			r.lacks(Lack{What: Percentiles, Latency: kind})
			return merged, nil
		}
		r.lacks(Lack{What: Histogram, Latency: kind, Because: "only the percentiles that fio printed are known"})
	case merged.Count == 0:
		r.lacks(Lack{What: "the mean", Latency: kind,
			Because: "the means of several jobs do not merge without their numbers"})
		fallthrough
	default:
		r.lacks(Lack{What: Percentiles, Latency: kind, Because: "those of several jobs do not merge without histograms"})
	}
	return merged, nil
}

// summary merges latencies without their histograms.
func summary(parts []latency) hist.Histogram {
	histograms := make([]hist.Histogram, len(parts))
	counted := true
	for i, l := range parts {
		histograms[i] = hist.Histogram{Count: l.N, MeanNS: l.Mean, MinNS: l.Min, MaxNS: l.Max}
		counted = counted && l.N > 0
	}
	switch {
	case len(histograms) == 1:
		return histograms[0]
	case counted:
		merged := hist.Merge(histograms...)
		merged.Bins = hist.Bins{}
		return merged
	}
	merged := hist.Histogram{MinNS: histograms[0].MinNS}
	for _, l := range histograms {
		merged.MinNS, merged.MaxNS = min(merged.MinNS, l.MinNS), max(merged.MaxNS, l.MaxNS)
	}
	return merged
}

// quantiles are the percentiles that fio printed, ascending; nil for none.
// Where fio has fewer than 20 to print, old versions fill up with "0.00".
func quantiles(printed map[string]uint64) []hist.Quantile {
	var out []hist.Quantile
	for key, ns := range printed {
		if p, err := strconv.ParseFloat(key, 64); err == nil && p > 0 && p <= 100 {
			out = append(out, hist.Quantile{Percent: p, NS: ns})
		}
	}
	slices.SortFunc(out, func(a, b hist.Quantile) int {
		switch {
		case a.Percent < b.Percent:
			return -1
		case a.Percent > b.Percent:
			return 1
		}
		return 0
	})
	return slices.CompactFunc(out, func(a, b hist.Quantile) bool { return a.Percent == b.Percent })
}

// unmeasured returns the options that disabled latency measurements; "" for none.
func (r *Foreign) unmeasured() string {
	for _, key := range []string{"gtod_reduce", "disable_lat"} {
		if slices.ContainsFunc(r.Options, func(o map[string]string) bool { return o[key] == "1" }) {
			return key + "=1 has fio measure none: leave it out to know them"
		}
	}
	return ""
}

func (r *Foreign) lacks(l Lack) {
	if !slices.Contains(r.Lacks, l) {
		r.Lacks = append(r.Lacks, l)
	}
}

// options returns a job's options, with the global ones, as fio recorded them. Files add up.
func (d document) options(j job) map[string]string {
	options := stringMap(d.output.Options)
	files := options["filename"]
	maps.Copy(options, stringMap(j.Options))
	if jobFiles := options["filename"]; files != "" && jobFiles != files {
		options["filename"] = files + ":" + jobFiles
	}
	return options
}

// stringMap reads an object of texts and numbers. Files that it names several times add up.
func stringMap(raw json.RawMessage) map[string]string {
	var values map[string]any
	_ = json.Unmarshal(raw, &values) // options that are none tell nothing
	texts := make(map[string]string, len(values))
	for key, value := range values {
		switch v := value.(type) {
		case string:
			texts[key] = v
		case float64:
			texts[key] = strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			texts[key] = map[bool]string{true: "1", false: "0"}[v]
		}
	}
	if key := []byte(`"filename"`); bytes.Count(raw, key) > 1 {
		texts["filename"] = strings.Join(textsOf(raw, "filename"), ":")
	}
	return texts
}

// textsOf returns the texts of a key that an object has several times.
func textsOf(raw json.RawMessage, name string) (texts []string) {
	in := json.NewDecoder(bytes.NewReader(raw))
	_, _ = in.Token()
	for in.More() {
		key, err := in.Token()
		var value any
		if err != nil || in.Decode(&value) != nil {
			break
		}
		if text, ok := value.(string); ok && key == name {
			texts = append(texts, text)
		}
	}
	return texts
}
