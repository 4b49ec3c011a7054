package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
)

// foreignFile parses a file of fio's output.
type foreignFile struct {
	text      []byte
	lines     []int // of the file, of each line of text; nil where text is all of it
	documents []document
	problems  problem.List
}

// document is one JSON document of a file.
type document struct {
	output
	start, end int    // offsets in the file
	notes      string // plain text before it
	jobs       []job  // of Jobs or ClientStats, without fio's sum over clients
}

// allClients is the name of fio's sum over all clients. It has no histograms
// and no percentiles, so the clients themselves are read.
const allClients = "All clients"

func (f *foreignFile) problem(at int, what, remedy string) {
	f.problems.InLine(f.line(at), what, remedy)
}

// line returns the number of the file's line at an offset.
func (f *foreignFile) line(offset int) int {
	n := lineAt(f.text, offset)
	if f.lines == nil {
		return n
	}
	return f.lines[min(n, len(f.lines))-1]
}

// lineAt is the number of the line, from 1, that an offset lies in.
func lineAt(text []byte, at int) int {
	return 1 + bytes.Count(text[:min(max(at, 0), len(text))], []byte("\n"))
}

// documentStart matches the beginning of a document.
var documentStart = regexp.MustCompile(`\{\s*"fio version"`)

// split finds the documents. A document begins as fio's do, anywhere in a line. If there is none, other JSON objects
// are taken: documents whose keys were reordered, or files of other programs.
func (f *foreignFile) split() {
	if bytes.Count(f.text, []byte(",")) > mostValues {
		f.addOversized(0, fmt.Sprintf("%d values", mostValues))
		return
	}
	jobs := 0
	next := nextObject
	if documentStart.Match(f.text) {
		next = nextVersioned
	}
	for offset := 0; offset < len(f.text) && len(f.problems) < maxProblems; {
		start := next(f.text, offset)
		if start < 0 {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(f.text[start:]))
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			f.addDamaged(start, err)
			return
		}
		d := document{start: start, end: start + int(decoder.InputOffset()), notes: string(f.text[offset:start])}
		var has struct {
			Jobs        listLength `json:"jobs"`
			ClientStats listLength `json:"client_stats"`
		}
		if err := json.Unmarshal(raw, &has); err == nil {
			jobs += int(has.Jobs + has.ClientStats)
		}
		if jobs > mostJobs {
			f.addOversized(start, fmt.Sprintf("%d jobs", mostJobs))
			return
		}
		if err := json.Unmarshal(raw, &d.output); err != nil {
			f.addMistyped(start, err)
			return
		}
		f.check(&d)
		f.documents = append(f.documents, d)
		offset = d.end
	}
}

// nextVersioned is the offset of the next document, or -1.
func nextVersioned(text []byte, from int) int {
	at := documentStart.FindIndex(text[from:])
	if at == nil {
		return -1
	}
	return from + at[0]
}

// nextObject returns the offset of the next line that begins a JSON object, or -1.
func nextObject(text []byte, from int) int {
	for offset := from; offset < len(text); {
		if text[offset] == '{' && (offset == 0 || text[offset-1] == '\n' || offset == from) {
			if inside := bytes.TrimLeft(text[offset+1:], " \t\r\n"); len(inside) == 0 || inside[0] == '"' || inside[0] == '}' {
				return offset
			}
		}
		end := bytes.IndexByte(text[offset:], '\n')
		if end < 0 {
			break
		}
		offset += end + 1
	}
	return -1
}

// addDamaged adds the problem of a document that is not valid JSON.
func (f *foreignFile) addDamaged(start int, err error) {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		f.problem(len(f.text), fmt.Sprintf("the JSON document that begins in line %d is cut short", f.line(start)),
			"copy the file again; or cut this document off, when fio was stopped while it wrote it")
	case errors.As(err, &syntax):
		at := start + int(syntax.Offset) - 1
		remedy := "copy the file again"
		if near := around(f.text, at); strings.Contains(near, "nan") || strings.Contains(near, "inf") {
			remedy = "fio wrote a number that is none: replace it by 0 if it is not one that matters"
		}
		f.problem(at, fmt.Sprintf("no JSON at offset %d: %v", at, syntax), remedy)
	default:
		f.problem(start, err.Error(), "copy the file again")
	}
}

// around is the line of an offset.
func around(text []byte, at int) string {
	at = min(max(at, 0), len(text))
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	return string(line)
}

// addOversized adds the problem of a document that is too large.
func (f *foreignFile) addOversized(at int, what string) {
	f.problem(at, "it has more than "+what+", which is the most that is read of one file",
		"import its documents or jobs in parts, each from a file of its own; fio prints fewer with group_reporting, "+
			"and without --status-interval")
}

// addMistyped adds the problem of a document with a value of another type.
func (f *foreignFile) addMistyped(start int, err error) {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		at := start + int(typed.Offset)
		f.problem(at, fmt.Sprintf("%s at offset %d is a %s, which no fio writes there", typed.Field, at, typed.Value),
			"copy the file again, as fio wrote it")
		return
	}
	f.problem(start, err.Error(), "copy the file again, as fio wrote it")
}

// check checks that a document is fio's, and collects its jobs. It adds a problem if not.
func (f *foreignFile) check(d *document) {
	if d.Version == "" {
		f.problem(d.start, `the JSON document has no "fio version"`,
			"name files that fio --output-format=json or json+ printed; a run of plimsoll's own needs no import")
		return
	}
	written, err := version.ParseFio(d.Version)
	switch {
	case err != nil:
		f.problem(d.start, err.Error(), "name files as fio wrote them")
		return
	case !written.AtLeast(MinForeign):
		f.problem(d.start, fmt.Sprintf("fio %s is too old: before %s its latencies were in microseconds and its sizes "+
			"in KiB", written, MinForeign), "measure again with a newer fio")
		return
	}
	d.jobs = d.Jobs
	if len(d.jobs) == 0 {
		d.jobs = slices.DeleteFunc(slices.Clone(d.ClientStats), func(j job) bool { return j.Name == allClients })
	}
	if len(d.jobs) == 0 {
		why := "fio's output has no jobs"
		if said := summarize(d.notes); said != "" {
			why += "; before it stands: " + said
		}
		f.problem(d.start, why, "fio failed before it measured: measure again")
	}
}

// IsOutput reports whether a text may be one that fio printed: JSON, whole or cut short, or another form, or a log.
func IsOutput(text []byte) bool {
	text = toUTF8(text)
	what, _ := noDocument(text)
	return what != noFio || bytes.Contains(text, []byte(versionKey))
}

// noFio is said of a text in which nothing is fio's.
const noFio = "there is no JSON document of fio in it"

// noDocument describes a file without JSON.
func noDocument(text []byte) (what, remedy string) {
	first, _, _ := strings.Cut(strings.TrimLeft(string(text[:min(len(text), 500)]), " \t\r\n"), "\n")
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return "the file is empty", "see whether fio ended well"
	case strings.HasPrefix(first, "3;fio-"), strings.HasPrefix(first, "4;fio-"), strings.HasPrefix(first, "5;fio-"):
		return "this is fio's terse output, which is not read", "print it with fio --output-format=json+"
	case bytes.Contains(text, []byte("IOPS=")):
		return "this is fio's output for people, which is rounded", "print it with fio --output-format=json+"
	case isLogLine(first):
		return "this looks like a log of fio, but its name does not say which",
			"call it as fio did: PREFIX_bw.1.log, _iops, _lat, _clat, _slat or _clat_hist"
	}
	return noFio, "name files that fio --output-format=json or json+ printed, or its logs"
}

// rampTime is the time that the jobs of a document are not measured for.
func (d document) rampTime() time.Duration {
	var longest time.Duration
	for _, j := range d.jobs {
		ramp, _ := fioDuration(d.options(j)["ramp_time"])
		longest = max(longest, ramp)
	}
	return longest
}

// printedMS returns when fio printed the document, in milliseconds; 0 for unknown.
func (d document) printedMS() int64 {
	if d.TimestampMS > 0 {
		return d.TimestampMS
	}
	return d.Timestamp * 1000
}

// measuredMS returns the measured time of the document, in milliseconds: groups run one after another.
func (d document) measuredMS() int64 {
	groups := map[int]uint64{}
	for _, j := range d.jobs {
		groups[j.Group] = max(groups[j.Group], j.runtimeMS())
	}
	var sum uint64
	for _, ms := range groups {
		sum += ms
	}
	return int64(sum)
}

// ios returns the I/Os so far, for each group.
func (d document) ios() map[int]uint64 {
	sum := map[int]uint64{}
	for _, j := range d.jobs {
		sum[j.Group] += j.Read.IOs + j.Write.IOs + j.Trim.IOs
	}
	return sum
}

// continues reports whether b is a later state of the very jobs that a reports: they have done more, and had begun
// when a was printed. During the ramp, fio reports too, and then forgets it. Jobs of the same options that ran at the
// same time are others.
func continues(a, b document) bool {
	if len(a.jobs) != len(b.jobs) || len(a.ClientStats) != len(b.ClientStats) {
		return false
	}
	for i := range a.jobs {
		if a.jobs[i].Name != b.jobs[i].Name || a.jobs[i].Host != b.jobs[i].Host || a.jobs[i].Error != 0 ||
			a.jobs[i].StartMS != b.jobs[i].StartMS {
			return false
		}
	}
	begunA, begunB := a.printedMS()-a.measuredMS(), b.printedMS()-b.measuredMS()
	if ramp := a.rampTime().Milliseconds(); ramp > 0 && a.measuredMS() <= ramp+1000 && begunB-begunA <= ramp+1000 &&
		b.printedMS() >= a.printedMS() {
		return true
	}
	before, after := a.ios(), b.ios()
	for group, n := range before {
		if after[group] < n {
			return false
		}
	}
	for i := range a.jobs {
		if !a.jobs[i].Read.within(b.jobs[i].Read) || !a.jobs[i].Write.within(b.jobs[i].Write) {
			return false
		}
	}
	return b.measuredMS() >= a.measuredMS() && begunB < a.printedMS()-a.measuredMS()/2
}

// within reports whether a later state may have all the latencies that d has.
func (d direction) within(later direction) bool {
	ends := []latency{later.Submission, later.Completion, later.Total}
	for i, before := range []latency{d.Submission, d.Completion, d.Total} {
		after := ends[i]
		if before.Max > after.Max || before.Max > 0 && before.Min < after.Min {
			return false
		}
		for ns, n := range before.Bins {
			if after.Bins[ns] < n {
				return false
			}
		}
	}
	return true
}

// inRamp reports whether a state was printed before the start of what the next one covers: its numbers are of the
// ramp.
func inRamp(state, next document) bool {
	begun := next.printedMS() - next.measuredMS()
	if state.rampTime() > 0 && begun >= state.printedMS()-state.measuredMS()/2 {
		return true
	}
	before, after := state.ios(), next.ios()
	for group, n := range before {
		if after[group] < n {
			return true
		}
	}
	return false
}
