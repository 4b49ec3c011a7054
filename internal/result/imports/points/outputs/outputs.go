// Package outputs reads what benchmarks print of themselves, and what iostat counted meanwhile, as rows of a table of
// points. A program is one file here, and one line in the table below.
//
// The package is pure. Names and texts of files reach rows as numbers alone.
package outputs

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Bounds of what is read.
const (
	mostText    = 64 << 20
	mostLine    = 64 << 10
	mostResults = 10_000
)

// program is one whose output is read.
type program struct {
	name string
	// begins reports whether a line is one that only this program prints.
	begins func(line string) bool
	read   func(*output) []outputResult
}

// programs lists the programs whose output can be read.
var programs = []program{
	{"sysbench", beginsSysbench, readSysbench},
	{"pgbench", beginsPgbench, readPgbench},
	{"hammerdb", beginsHammerDB, readHammerDB},
	{"ycsb", beginsYCSBRun, readYCSB},
	{"go-ycsb", beginsGoYCSB, readGoYCSB},
	{"benchbase", beginsBenchBase, readBenchBase},
	{"memtier", beginsMemtier, readMemtier},
	{"elbencho", beginsElbencho, readElbencho},
	{"vdbench", beginsVdbench, readVdbench},
}

// foreign are programs whose output is recognized and not read, by what only they print.
var foreign = []struct{ name, prints string }{
	{"memtier_benchmark, as text", "ALL STATS"},
	{"DiskSpd", "Command Line: diskspd"},
	{"DiskSpd", "Results for timespan"},
	{"HammerDB, of TPROC-H", "query set"},
	{"py-tpcc", "Execution Results after"},
	{"iostat without -x", "Blk_read/s"},
	{"iostat without -x", "kB_read/s"},
	{"bonnie++", "format_version,bonnie_version"},
	{"ioping", "ioping statistics ---"},
	{"redis-benchmark", "requests completed in"},
	{"wrk", "Thread Stats   Avg"},
}

// Unread returns what is to be said of a text that no program here printed: which one printed it, or what is read.
func Unread(text []byte) (what, remedy string) {
	const table = "write a table of points: plimsoll import --help says how"
	if len(bytes.TrimSpace(text)) == 0 {
		return "the file is empty", "see whether the benchmark ended well"
	}
	for _, f := range foreign {
		if bytes.Contains(text, []byte(f.prints)) {
			return "this is output of " + f.name + ", which is not read", table
		}
	}
	return "import cannot read it; it reads fio's JSON and logs, output of " +
		plural.Or(append(Programs(), "iostat -x")) + ", and tables of points", "name one of these, or " + table
}

// Programs returns the names of the programs whose output is read.
func Programs() []string { return plural.Words(programs, func(p program) string { return p.name }) }

// outputResult is one result in an output.
type outputResult struct {
	line    int               // at which it begins
	columns map[string]string // of a table of points
	notes   []string

	failed, tried float64 // operations that failed, and all of them, failed ones included; 0 where unknown
	aborted       string  // why the run did not end as it should; "" where it did
}

// doubt returns a remark on failed operations; "" for none. exceeds reports whether their share is above limit.
func (r outputResult) doubt(limit float64) (doubt string, exceeds bool) {
	if r.failed == 0 {
		return "", false
	}
	share := r.failed / max(r.tried, r.failed)
	return fmt.Sprintf("%.0f of %.0f operations failed (%s), and the rate and latencies may count them", r.failed,
		max(r.tried, r.failed), units.SignificantPercent(share)), share > limit
}

// output is the lines of a file.
type output struct {
	text  string // the lines, joined
	lines []string
	wrong problem.List
}

// newOutput returns the lines of a text; nil where it has lines that no program prints.
func newOutput(text []byte) *output {
	if len(text) > mostText {
		return nil
	}
	o := &output{}
	in := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	in.Buffer(nil, mostLine)
	for in.Scan() {
		o.lines = append(o.lines, strings.TrimSpace(in.Text()))
	}
	if in.Err() != nil {
		return nil
	}
	o.stripStamps()
	o.text = strings.Join(o.lines, "\n")
	return o
}

// stamped matches the time that ts, journald or a log collector puts before a line.
var stamped = regexp.MustCompile(`^(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?` +
	`(?:Z|[+-]\d\d:?\d\d)?(?:\s+|$)`)

// stripStamps removes the times before lines, if most lines have one.
func (o *output) stripStamps() {
	written, stamps := 0, 0
	for _, line := range o.lines {
		if line != "" {
			written++
		}
		if stamped.MatchString(line) {
			stamps++
		}
	}
	if 2*stamps <= written {
		return
	}
	for i, line := range o.lines {
		o.lines[i] = line[len(stamped.FindString(line)):]
	}
}

// refuse adds a problem with line i, counted from 0.
func (o *output) refuse(i int, what, remedy string) { o.wrong.InLine(i+1, what, remedy) }

// first returns the index of the first line of which something holds; -1 for none.
func (o *output) first(holds func(string) bool) int { return slices.IndexFunc(o.lines, holds) }

// split returns the ranges of lines that begin with a line for which begins is true. Lines before the first are part
// of it.
func (o *output) split(begins func(string) bool) (parts [][2]int) {
	for i, line := range o.lines {
		if !begins(line) {
			continue
		}
		if len(parts) > 0 {
			parts[len(parts)-1][1] = i
		}
		parts = append(parts, [2]int{i, len(o.lines)})
	}
	if len(parts) > mostResults {
		o.refuse(parts[mostResults][0], fmt.Sprintf("there are more than %d results", mostResults), "leave some out")
		return nil
	}
	return parts
}

// File is an input file.
type File struct {
	Name string
	Text []byte
}

// Recognized reports whether text is output of one of the programs, or of iostat.
func Recognized(text []byte) bool {
	p, o := programOf(text)
	return p != nil || o.isIostat() || o.isPgbenchLog()
}

// isPgbenchLog reports whether the first line of an output is one of a log of pgbench.
func (o *output) isPgbenchLog() bool {
	return o != nil && len(o.lines) > 0 && beginsPgbenchLog(o.lines[0])
}

func programOf(text []byte) (*program, *output) {
	o := newOutput(text)
	if o == nil {
		return nil, nil
	}
	for i := range programs {
		if o.first(programs[i].begins) >= 0 {
			return &programs[i], o
		}
	}
	return nil, o
}

// importedApart returns what a text is that is imported in another way; "" for anything else.
func importedApart(text []byte) string {
	switch {
	case points.Recognized(text):
		return "a table of points"
	case bytes.Contains(text, []byte(`"fio version"`)):
		return "output of fio"
	}
	return ""
}

// MostFailed is the share of failed operations from which on a result is refused unless the user says otherwise.
const MostFailed = 0.01

// Options supply what outputs lack.
type Options struct {
	Columns    map[string]string // of all rows, which override those in the files
	MostFailed float64           // share of operations; a result of which more failed is refused
	// FirstReport is for iostat -y, whose first report is not of the time since the host started.
	FirstReport bool
}

// Read converts outputs of benchmarks, with iostat's counters of the same time, to a run. It returns all problems at
// once.
func Read(files []File, o Options) (run result.Run, wrong problem.List) {
	given := o.Columns
	var rows []points.Row
	var counted []counters
	var logs []transactions
	var notes []string
	var inputs []result.InputFile
	refuse := func(file, what, remedy string) {
		var no problem.List
		no.InLine(1, what, remedy)
		wrong = append(wrong, no.Within(file)...)
	}
	for _, f := range files {
		input := result.NewInputFile(f.Name, f.Text)
		i := slices.IndexFunc(inputs, func(other result.InputFile) bool { return other.SHA256 == input.SHA256 })
		if i >= 0 {
			refuse(f.Name, "it is the same as "+inputs[i].Name, "a copy is no second measurement: leave it out")
		}
		inputs = append(inputs, input)
		p, text := programOf(f.Text)
		switch {
		case p != nil:
			results := p.read(text)
			if len(results) == 0 && len(text.wrong) == 0 {
				text.refuse(text.first(p.begins), p.name+" printed no result here", "give the whole output, up to its end")
			}
			for _, r := range results {
				if r.columns["class"] == "" {
					r.columns["class"] = p.name
				}
				if r.columns["instances"] == "" {
					r.columns["instances"] = "1"
				}
				maps.Copy(r.columns, given)
				if r.columns["clients"] == "" {
					text.refuse(r.line-1, p.name+" does not say here how many clients there were", "add --columns clients=16")
				}
				row := points.Row{File: f.Name, Line: r.line, Columns: r.columns}
				doubt, exceeds := r.doubt(o.MostFailed)
				switch {
				case r.aborted != "":
					text.refuse(r.line-1, p.name+" did not end well: "+r.aborted, "hand in a run that did")
				case exceeds:
					text.refuse(r.line-1, doubt, "hand in a run that did what it tried, or allow more with --most-failed")
				case doubt != "":
					row.Doubts = append(row.Doubts, doubt)
				}
				rows = append(rows, row)
				for _, n := range r.notes {
					notes = append(notes, fmt.Sprintf("%s:%d: %s", f.Name, r.line, n))
				}
			}
			wrong = append(wrong, text.wrong.Within(f.Name)...)
		case text.isPgbenchLog():
			if t, ok := readPgbenchLog(text); ok {
				t.file = f.Name
				logs = append(logs, t)
			}
			wrong = append(wrong, text.wrong.Within(f.Name)...)
		case text.isIostat():
			c, ok := readIostat(text, o.FirstReport)
			c.file = f.Name
			if ok {
				counted = append(counted, c)
			}
			wrong = append(wrong, text.wrong.Within(f.Name)...)
		default:
			what, remedy := Unread(f.Text)
			if apart := importedApart(f.Text); apart != "" {
				what, remedy = "this is "+apart+", and other files are output of other programs", "import it on its own"
			}
			refuse(f.Name, what, remedy)
		}
	}
	if len(wrong) == 0 && len(rows) == 0 {
		wrong.InLine(0, "iostat and logs of transactions alone are no result",
			"hand in the output of "+plural.Or(Programs())+" beside it")
	}
	if len(wrong) > 0 {
		return run, wrong
	}
	notes = append(notes, fillFromLogs(logs, rows, given, refuse)...)
	filled := map[*points.Row]string{}
	for _, c := range counted {
		row, why := rowFor(c.file, rows, len(counted))
		if row != nil && filled[row] != "" {
			why = fmt.Sprintf("it belongs to %s, as %s does", row.File, filled[row])
		}
		if why != "" {
			refuse(c.file, why, "call it like the output that it belongs to: run8.txt, and run8-iostat.txt")
			continue
		}
		filled[row] = c.file
		notes = append(notes, fmt.Sprintf("%s: %s", c.file, c.fill(row, given)))
	}
	if len(wrong) > 0 {
		return run, wrong
	}
	run, wrong = points.Make(rows, inputs)
	run.Environment.Notes = append(run.Environment.Notes, notes...)
	return run, wrong
}

// fillFromLogs gives rows the percentiles of pgbench's logs, of which each thread writes one, and returns notes.
func fillFromLogs(
	logs []transactions, rows []points.Row, given map[string]string, refuse func(file, what, remedy string),
) (notes []string) {
	var owners []*points.Row
	logOf := map[*points.Row]*transactions{}
	for _, log := range logs {
		row, why := rowFor(log.file, rows, 1)
		switch {
		case row == nil:
			refuse(log.file, strings.Replace(why, "iostat counted", "it was written", 1),
				"call it like the output that it belongs to: run8.txt, and run8.log")
		case logOf[row] == nil:
			logOf[row] = &log
			owners = append(owners, row)
		default:
			logOf[row].micros = append(logOf[row].micros, log.micros...)
			logOf[row].skipped += log.skipped
		}
	}
	for _, row := range owners {
		notes = append(notes, fmt.Sprintf("%s: %s", row.File, logOf[row].fill(row, given)))
	}
	return notes
}

// rowFor returns the row that a file's counters belong to: the only row, or the row of a file with a similar name.
// files is the number of files with counters. why says why there is no such row.
func rowFor(file string, rows []points.Row, files int) (row *points.Row, why string) {
	if len(rows) == 1 && files == 1 {
		return &rows[0], ""
	}
	wanted := stem(file)
	for i := range rows {
		switch {
		case stem(rows[i].File) != wanted:
		case row != nil:
			return nil, "several results are called like it, and it is not known during which of them iostat counted"
		default:
			row = &rows[i]
		}
	}
	if row == nil {
		return nil, "it is not known during which of the results iostat counted"
	}
	return row, ""
}

// stem returns a file's name without suffixes of its type: "runs/8" for runs/sysbench-8.txt and for runs/8.iostat.
func stem(name string) string {
	dir, base := filepath.Split(name)
	base = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	for _, word := range append(Programs(), "iostat") {
		base = strings.ReplaceAll(base, word, "")
	}
	return filepath.Clean(dir+".") + "/" + strings.Trim(base, "-_. ")
}

// afterPrefix returns the rest of a line behind a prefix.
func afterPrefix(line, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(line, prefix)
	return strings.TrimSpace(rest), ok
}

// numeral matches the number that a text begins with. A comma is a point where a locale has it so; Java writes 1.0E7.
var numeral = regexp.MustCompile(`^[0-9.,]+(?:[eE][0-9]+)?`)

// leading returns the number that a text begins with: 205.7 of "205.7 per sec.)".
func leading(text string) (float64, bool) {
	text = numeral.FindString(strings.TrimSpace(text))
	x, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return x, err == nil && x >= 0 && x < 1e15
}

// decimal writes a number as tables have it.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// lasting writes a time of so many milliseconds.
func lasting(ms float64) string { return decimal(ms) + "ms" }
