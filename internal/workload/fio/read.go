package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload"
)

// reader parses the outputs of a step. It knows those properties of the job that explain failures.
type reader struct {
	engine    string // "" when jobs differ
	direct    bool
	blockSize int64 // 0 when jobs differ

	rate float64 // requests per second of all jobs that were due; 0 for a closed loop
	jobs int     // that share rate
}

// output is fio's JSON output, as far as it is used.
type output struct {
	Version     string `json:"fio version"`
	TimestampMS int64  `json:"timestamp_ms"` // when it was printed, since 1970; not in client mode
	Timestamp   int64  `json:"timestamp"`    // the same in seconds
	Jobs        []job  `json:"jobs"`
	ClientStats []job  `json:"client_stats"` // in the place of Jobs, from fio --client

	Options  json.RawMessage `json:"global options"`
	DiskUtil json.RawMessage `json:"disk_util"`
}

// Bounds of what is held of a file, which is some 50 times as large in memory.
const (
	mostJobs   = 10_000    // of all documents; fio itself takes 4096
	mostValues = 5_000_000 // bins of all histograms and anything else
)

// listLength is the length of a list in a document, whose elements are not stored.
type listLength int

// UnmarshalJSON implements json.Unmarshaler. It ignores values that are no list, which other checks report.
func (n *listLength) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	begin, err := in.Token()
	if err != nil || begin != json.Delim('[') {
		return err
	}
	var element json.RawMessage
	for in.More() {
		*n++
		if err := in.Decode(&element); err != nil || *n > mostJobs {
			return err
		}
	}
	return nil
}

type job struct {
	Name      string          `json:"jobname"`
	Group     int             `json:"groupid"`
	StartMS   int64           `json:"job_start"` // since 1970; only newer versions
	Elapsed   float64         `json:"elapsed"`   // seconds, ramp included
	Host      string          `json:"hostname"`  // only in client_stats
	Options   json.RawMessage `json:"job options"`
	Error     int             `json:"error"`
	Read      direction       `json:"read"`
	Write     direction       `json:"write"`
	Trim      direction       `json:"trim"`
	Sync      syncs           `json:"sync"`
	Mixed     json.RawMessage `json:"mixed"`
	RuntimeMS uint64          `json:"job_runtime"` // summed over the jobs of a group
	UserCPU   float64         `json:"usr_cpu"`     // per cent
	SystemCPU float64         `json:"sys_cpu"`     // per cent
	Errors    uint64          `json:"total_err"`   // only with continue_on_error
	Steady    *steadyState    `json:"steadystate"` // of a job that was to end when it is steady
}

// steadyState is fio's own verdict.
type steadyState struct {
	Criterion string `json:"ss"` // "iops:20%"
	Attained  int    `json:"attained"`
}

type direction struct {
	IOs        uint64  `json:"total_ios"`
	Bytes      uint64  `json:"io_bytes"`
	KBytes     *uint64 `json:"io_kbytes"`
	RuntimeMS  uint64  `json:"runtime"`
	Submission latency `json:"slat_ns"`
	Completion latency `json:"clat_ns"`
	Total      latency `json:"lat_ns"`
}

// syncs are the calls of fsync, fdatasync and their kin, which have a latency and nothing else.
type syncs struct {
	IOs   uint64  `json:"total_ios"`
	Total latency `json:"lat_ns"`
}

type latency struct {
	Min  uint64            `json:"min"`
	Max  uint64            `json:"max"`
	Mean float64           `json:"mean"`
	N    uint64            `json:"N"`    // only newer versions
	Bins map[string]uint64 `json:"bins"` // only in json+

	Percentiles map[string]uint64 `json:"percentile"`
}

// read turns the outputs of a step into a measurement. The outputs of Prepare
// and of warming the page cache give an empty one, or an error.
func (r reader) read(outputs map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	stepName, text, measured := "fio", outputs[outputName], true
	if _, driven := outputs[outputName]; !driven {
		for _, step := range []struct{ output, name string }{
			{layoutOutput, "fio, laying out its file"}, {warmOutput, "fio, reading its file into the page cache"},
		} {
			if printed, ok := outputs[step.output]; ok {
				stepName, text, measured = step.name, printed, false
			}
		}
	}
	m, problem := r.measure(text, exit, measured)
	if problem != nil {
		problem.What = stepName
		return result.Measurement{}, problem
	}
	return m, nil
}

// measure returns the measurement, or an error without its What.
func (r reader) measure(text []byte, exit workload.Exit, measured bool) (result.Measurement, *problem.Problem) {
	var empty result.Measurement
	if err := killedReason(exit); err != nil {
		return empty, err
	}
	notes, document := split(text)
	if document == nil {
		return empty, r.noOutput(notes, exit)
	}
	out, err := decodeOutput(document)
	if err != nil {
		return empty,
			failure("", fmt.Sprintf("its output is cut short or damaged: %v; it exited with code %d", err, exit.Code),
				"see whether the disk that holds the run directory is full, and run the trial again")
	}
	written, err := version.ParseFio(out.Version)
	if err != nil {
		return empty, failure("", err.Error(), "install fio "+version.OldestFio.String()+" or newer")
	}
	if !written.AtLeast(version.OldestFio) {
		return empty,
			failure("", fmt.Sprintf("fio %s is too old: histograms of all three latencies came with %s", written,
				version.OldestFio),
				"install fio "+version.OldestFio.String()+" or newer")
	}
	for _, j := range out.Jobs {
		if j.Error != 0 {
			return empty, r.errno(j, notes)
		}
		if j.Errors != 0 {
			return empty,
				failure("", fmt.Sprintf("job %q had %d failed I/Os", j.Name, j.Errors),
					"see the trial's artifacts; a stack that fails I/Os has no speed")
		}
	}
	if exit.Code != 0 {
		return empty, r.exited(notes, exit)
	}
	if len(out.Jobs) == 0 {
		return empty, failure("", "its output has no jobs", "see the trial's artifacts, and report this")
	}
	if !measured {
		return empty, nil
	}
	m, failed := merge(out.Jobs, mergeHistograms)
	if failed != nil {
		return empty, failed
	}
	for _, d := range []struct {
		name string
		result.Operation
	}{{"reads", m.Operation(result.Read)}, {"writes", m.Operation(result.Write)}} {
		if d.Count > 0 && d.Latency[result.Total].Count == 0 {
			return empty,
				failure("", "it reported no latencies of its "+d.name, "leave gtod_reduce and disable_lat out of the job file")
		}
	}
	return m, nil
}

// decodeOutput decodes a document; what follows it is ignored.
func decodeOutput(document []byte) (out output, err error) {
	err = json.NewDecoder(bytes.NewReader(document)).Decode(&out)
	return out, err
}

// split separates the lines of plain text that fio prints first from the JSON document, which is nil if there is none.
func split(text []byte) (notes string, document []byte) {
	for offset := 0; offset < len(text); {
		if text[offset] == '{' {
			return string(text[:offset]), text[offset:]
		}
		end := bytes.IndexByte(text[offset:], '\n')
		if end < 0 {
			break
		}
		offset += end + 1
	}
	return string(text), nil
}

// combine is a function that merges the distributions of several jobs. what is the operation ("reads"), kind that of
// the latency ("total").
type combine func(what, kind string, parts []latency) (hist.Histogram, *problem.Problem)

// merge adds jobs up as if fio had reported them as one group: what all did,
// in the time of the longest.
func merge(jobs []job, latencies combine) (result.Measurement, *problem.Problem) {
	var m result.Measurement
	var reads, writes []direction
	var cpu, user, system float64
	for _, j := range jobs {
		if j.Mixed != nil {
			return m,
				failure("", fmt.Sprintf("job %q reports reads and writes as one", j.Name),
					"leave unified_rw_reporting out of the job file")
		}
		if j.Trim.IOs > 0 {
			return m, failure("", fmt.Sprintf("job %q trimmed", j.Name), "only reads and writes are measured: choose another rw")
		}
		reads, writes = append(reads, j.Read), append(writes, j.Write)
		w := float64(j.RuntimeMS)
		cpu, user, system = cpu+w, user+w*j.UserCPU, system+w*j.SystemCPU
		m.Seconds = max(m.Seconds, float64(max(j.Read.RuntimeMS, j.Write.RuntimeMS))/1000)
	}
	if cpu > 0 {
		m.UserCPU, m.SystemCPU = user/cpu/100, system/cpu/100
	}
	read, err := mergeDirections("reads", reads, latencies)
	if err != nil {
		return m, err
	}
	written, err := mergeDirections("writes", writes, latencies)
	if err != nil {
		return m, err
	}
	m.Operations = result.ReadsWrites(read, written)
	synced, err := mergeSyncs(jobs, m.Seconds, latencies)
	if err != nil {
		return m, err
	}
	if synced.Count > 0 {
		m.Operations = append(m.Operations, synced)
	}
	if m.IOs() == 0 {
		return m, failure("", "not one I/O was completed in the measured time",
			"give it a longer runtime; a stack that takes longer than this for one I/O may hang")
	}
	for _, v := range []float64{m.UserCPU, m.SystemCPU, m.IOPS(), m.BytesPerSecond()} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return m, implausible("rates")
		}
	}
	return m, nil
}

func mergeDirections(name string, parts []direction, latencies combine) (result.Operation, *problem.Problem) {
	var d result.Operation
	var milliseconds uint64
	var submission, completion, total []latency
	for _, p := range parts {
		if d.Count+p.IOs < d.Count || d.Bytes+p.Bytes < d.Bytes {
			return d, implausible(name)
		}
		d.Count += p.IOs
		d.Bytes += p.Bytes
		milliseconds = max(milliseconds, p.RuntimeMS)
		submission, completion, total = append(submission, p.Submission), append(completion, p.Completion),
			append(total, p.Total)
	}
	if d.Count == 0 {
		return result.Operation{}, nil
	}
	if milliseconds == 0 {
		return d, failure("",
			fmt.Sprintf("its %d %s took less than a millisecond: too short to measure", d.Count, name),
			"give it a longer runtime, or time_based in the job file")
	}
	seconds := float64(milliseconds) / 1000
	d.Rate, d.BytesPerSecond = float64(d.Count)/seconds, float64(d.Bytes)/seconds
	d.Latency = map[result.Stage]hist.Histogram{}
	for _, l := range []struct {
		stage result.Stage
		parts []latency
	}{{result.Submission, submission}, {result.Completion, completion}, {result.Total, total}} {
		merged, err := latencies(name, string(l.stage), l.parts)
		if err != nil {
			return d, err
		}
		d.Latency[l.stage] = merged
	}
	return d, nil
}

// mergeSyncs adds up the calls that made writes durable, over the time in which all jobs wrote.
func mergeSyncs(jobs []job, seconds float64, latencies combine) (result.Operation, *problem.Problem) {
	o := result.Operation{Name: result.Fsync}
	var parts []latency
	for _, j := range jobs {
		o.Count += j.Sync.Total.N
		parts = append(parts, j.Sync.Total)
	}
	if o.Count == 0 || seconds == 0 {
		return result.Operation{}, nil
	}
	total, err := latencies(result.Fsync, string(result.Total), parts)
	if err != nil {
		return o, err
	}
	o.Rate = float64(o.Count) / seconds
	o.SetLatency(result.Total, total)
	return o, nil
}

// mergeHistograms merges distributions that all have histograms.
func mergeHistograms(subject, _ string, parts []latency) (hist.Histogram, *problem.Problem) {
	histograms := make([]hist.Histogram, len(parts))
	for i, p := range parts {
		var err *problem.Problem
		if histograms[i], err = p.latency(subject); err != nil {
			return hist.Histogram{}, err
		}
	}
	merged := hist.Merge(histograms...)
	if math.IsInf(merged.MeanNS, 0) || !addsUp(merged) {
		return merged, implausible("latencies of " + subject)
	}
	return merged, nil
}

// latency turns fio's distribution into ours. The count is that of the bins,
// because percentiles are.
func (l latency) latency(name string) (hist.Histogram, *problem.Problem) {
	if l.N == 0 {
		return hist.Histogram{}, nil // also slat of engines that submit and complete in one call
	}
	r := hist.Histogram{MeanNS: l.Mean, MinNS: l.Min, MaxNS: l.Max}
	var bins []hist.Bin
	for key, n := range l.Bins {
		ns, err := strconv.ParseUint(key, 10, 64)
		if err != nil || r.Count+n < r.Count || l.Mean < 0 {
			return r, implausible("latencies of " + name)
		}
		r.Count += n
		bins = append(bins, hist.Bin{NS: ns, Count: n})
	}
	if r.Count == 0 {
		return r, failure("", "it reported no histograms of the latencies of its "+name,
			"leave output options, and slat_, clat_ and lat_percentiles=0, out of the job file")
	}
	r.Bins = hist.Pack(bins)
	return r, nil
}

// addsUp guards against counts that overflowed.
func addsUp(l hist.Histogram) bool {
	var sum uint64
	for b := range l.Bins.All() {
		if sum+b.Count < sum {
			return false
		}
		sum += b.Count
	}
	return sum == l.Count
}

func implausible(what string) *problem.Problem {
	return failure("", "its output has "+what+" that cannot be", "see the trial's artifacts, and report this")
}

// summarize returns fio's first complaints on one line or, without any, its first lines.
func summarize(texts ...string) string {
	var complaints, otherLines []string
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(strings.ToValidUTF8(line, "?"))
			to := &otherLines
			if strings.HasPrefix(line, "fio:") || strings.HasPrefix(line, "Bad option") {
				to = &complaints
			}
			if line != "" && !slices.Contains(*to, line) {
				*to = append(*to, line)
			}
		}
	}
	if len(complaints) == 0 {
		complaints = otherLines
	}
	return strings.Join(complaints[:min(len(complaints), 3)], "; ")
}
