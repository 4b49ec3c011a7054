package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
)

// foreignFile goes through a file.
type foreignFile struct {
	text      []byte
	documents []document
	problems  problem.List
}

// document is one JSON document of a file.
type document struct {
	output
	at, end int    // offsets in the file
	notes   string // plain text before it
	jobs    []job  // of Jobs or ClientStats, without fio's sum over clients
}

// allClients is the name of fio's sum over all clients. It has no histograms
// and no percentiles, so the clients themselves are read.
const allClients = "All clients"

func (f *foreignFile) problem(at int, what, remedy string) {
	f.problems.InLine(lineAt(f.text, at), what, remedy)
}

// lineAt is the number of the line, from 1, that an offset lies in.
func lineAt(text []byte, at int) int {
	return 1 + bytes.Count(text[:min(max(at, 0), len(text))], []byte("\n"))
}

// split finds the documents. They begin at the start of a line.
func (f *foreignFile) split() {
	for at := 0; at < len(f.text) && len(f.problems) < maxProblems; {
		start := nextDocument(f.text, at)
		if start < 0 {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(f.text[start:]))
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			f.damaged(start, err)
			return
		}
		d := document{at: start, end: start + int(decoder.InputOffset()), notes: string(f.text[at:start])}
		if err := json.Unmarshal(raw, &d.output); err != nil {
			f.mistyped(start, err)
			return
		}
		f.check(&d)
		f.documents = append(f.documents, d)
		at = d.end
	}
}

// nextDocument is the offset of the next line that begins a JSON object, or -1.
func nextDocument(text []byte, from int) int {
	for at := from; at < len(text); {
		if text[at] == '{' && (at == 0 || text[at-1] == '\n' || at == from) {
			if inside := bytes.TrimLeft(text[at+1:], " \t\r\n"); len(inside) == 0 || inside[0] == '"' || inside[0] == '}' {
				return at
			}
		}
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return -1
}

func (f *foreignFile) damaged(start int, err error) {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		f.problem(len(f.text), fmt.Sprintf("the JSON document that begins in line %d is cut short", lineAt(f.text, start)),
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

func (f *foreignFile) mistyped(start int, err error) {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		at := start + int(typed.Offset)
		f.problem(at, fmt.Sprintf("%s at offset %d is a %s, which no fio writes there", typed.Field, at, typed.Value),
			"copy the file again, as fio wrote it")
		return
	}
	f.problem(start, err.Error(), "copy the file again, as fio wrote it")
}

// check says why a document cannot be read as fio's, and finds its jobs.
func (f *foreignFile) check(d *document) {
	if d.Version == "" {
		f.problem(d.at, `the JSON document has no "fio version"`,
			"name files that fio --output-format=json or json+ printed; a run of plimsoll's own needs no import")
		return
	}
	version, err := ParseVersion(d.Version)
	switch {
	case err != nil:
		f.problem(d.at, err.Error(), "name files as fio wrote them")
		return
	case version.Less(MinForeign):
		f.problem(d.at, fmt.Sprintf("fio %s is too old: before %s its latencies were in microseconds and its sizes "+
			"in KiB", version, MinForeign), "measure again with a newer fio")
		return
	}
	d.jobs = d.Jobs
	if len(d.jobs) == 0 {
		d.jobs = slices.DeleteFunc(slices.Clone(d.ClientStats), func(j job) bool { return j.Name == allClients })
	}
	if len(d.jobs) == 0 {
		why := "fio's output has no jobs"
		if said := gist(d.notes); said != "" {
			why += "; before it stands: " + said
		}
		f.problem(d.at, why, "fio failed before it measured: measure again")
	}
}

// noDocument says what a file is that has no JSON.
func noDocument(text []byte) (what, remedy string) {
	first, _, _ := strings.Cut(strings.TrimLeft(string(text[:min(len(text), 500)]), " \t\r\n"), "\n")
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return "the file is empty", "see whether fio ended well"
	case strings.HasPrefix(first, "3;fio-"), strings.HasPrefix(first, "4;fio-"), strings.HasPrefix(first, "5;fio-"):
		return "this is fio's terse output, which is not read", "print it with fio --output-format=json+"
	case bytes.Contains(text, []byte("IOPS=")):
		return "this is fio's output for people, which is rounded", "print it with fio --output-format=json+"
	case logLine(first):
		return "this looks like a log of fio, but its name does not say which",
			"call it as fio did: PREFIX_bw.1.log, _iops, _lat, _clat, _slat or _clat_hist"
	}
	return "there is no JSON document in it",
		"name files that fio --output-format=json or json+ printed, or its logs"
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

// written is when fio printed the document, in milliseconds; 0 for unknown.
func (d document) written() int64 {
	if d.TimestampMS > 0 {
		return d.TimestampMS
	}
	return d.Timestamp * 1000
}

// measured is how long the document measured, in milliseconds: groups run one
// after another.
func (d document) measured() int64 {
	groups := map[int]uint64{}
	for _, j := range d.jobs {
		groups[j.Group] = max(groups[j.Group], j.Read.RuntimeMS, j.Write.RuntimeMS, j.Trim.RuntimeMS)
	}
	var sum uint64
	for _, ms := range groups {
		sum += min(ms, math.MaxInt32*1000)
	}
	return int64(sum)
}

// ios counts what a document had done, for each of its groups.
func (d document) ios() map[int]uint64 {
	sum := map[int]uint64{}
	for _, j := range d.jobs {
		sum[j.Group] += j.Read.IOs + j.Write.IOs + j.Trim.IOs
	}
	return sum
}

// continues tells whether b is a later state of the very jobs that a reports:
// they have done more, and had begun when a was printed. During the ramp, fio
// reports too, and then forgets it.
func continues(a, b document) bool {
	if len(a.jobs) != len(b.jobs) || len(a.ClientStats) != len(b.ClientStats) {
		return false
	}
	for i := range a.jobs {
		if a.jobs[i].Name != b.jobs[i].Name || a.jobs[i].Host != b.jobs[i].Host || a.jobs[i].Error != 0 {
			return false
		}
	}
	begunA, begunB := a.written()-a.measured(), b.written()-b.measured()
	if ramp := a.rampTime().Milliseconds(); ramp > 0 && a.measured() <= ramp+1000 && begunB-begunA <= ramp+1000 &&
		b.written() >= a.written() {
		return true
	}
	before, after := a.ios(), b.ios()
	for group, n := range before {
		if after[group] < n {
			return false
		}
	}
	return b.measured() >= a.measured() && begunB < a.written()-a.measured()/2
}

// inRamp tells whether a state was printed before what the next one reports
// had begun: its numbers are of the ramp.
func inRamp(state, next document) bool {
	begun := next.written() - next.measured()
	if state.rampTime() > 0 && begun >= state.written()-state.measured()/2 {
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
