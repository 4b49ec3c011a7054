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
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
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
	{"ycsb", beginsYCSB, readYCSB},
}

// Programs returns the names of the programs whose output is read.
func Programs() []string { return plural.Words(programs, func(p program) string { return p.name }) }

// outputResult is one result in an output.
type outputResult struct {
	line    int               // at which it begins
	columns map[string]string // of a table of points
	notes   []string
}

// output is the lines of a file.
type output struct {
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
	return o
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
	return p != nil || o != nil && o.first(beginsIostat) >= 0
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

// Read converts outputs of benchmarks, with iostat's counters of the same time, to a run. given are columns of all
// rows, which override those in the files. It returns all problems at once.
func Read(files []File, given map[string]string) (run result.Run, wrong problem.List) {
	var rows []points.Row
	var counted []counters
	var notes []string
	var inputs []result.InputFile
	refuse := func(file, what, remedy string) {
		var no problem.List
		no.InLine(1, what, remedy)
		wrong = append(wrong, no.Within(file)...)
	}
	for _, f := range files {
		input := result.NewInputFile(f.Name, f.Text)
		same := slices.IndexFunc(inputs, func(other result.InputFile) bool { return other.SHA256 == input.SHA256 })
		if same >= 0 {
			refuse(f.Name, "it is the same as "+inputs[same].Name, "a copy is no second measurement: leave it out")
		}
		inputs = append(inputs, input)
		p, o := programOf(f.Text)
		switch {
		case p != nil:
			all := p.read(o)
			if len(all) == 0 && len(o.wrong) == 0 {
				o.refuse(o.first(p.begins), p.name+" printed no result here", "hand in the whole output, up to its end")
			}
			for _, r := range all {
				r.columns["class"] = p.name
				if r.columns["instances"] == "" {
					r.columns["instances"] = "1"
				}
				maps.Copy(r.columns, given)
				if r.columns["clients"] == "" {
					o.refuse(r.line-1, p.name+" does not say here how many clients there were", "add --columns clients=16")
				}
				rows = append(rows, points.Row{File: f.Name, Line: r.line, Columns: r.columns})
				for _, n := range r.notes {
					notes = append(notes, fmt.Sprintf("%s:%d: %s", f.Name, r.line, n))
				}
			}
			wrong = append(wrong, o.wrong.Within(f.Name)...)
		case o != nil && o.first(beginsIostat) >= 0:
			c, ok := readIostat(o)
			c.file = f.Name
			if ok {
				counted = append(counted, c)
			}
			wrong = append(wrong, o.wrong.Within(f.Name)...)
		default:
			refuse(f.Name, "this is no output of "+plural.Or(append(Programs(), "iostat -x")),
				"name other files in an import of their own")
		}
	}
	if len(wrong) == 0 && len(rows) == 0 {
		wrong.InLine(0, "iostat says nothing of operations", "hand in the output of "+plural.Or(Programs())+" beside it")
	}
	if len(wrong) > 0 {
		return run, wrong
	}
	filled := map[*points.Row]string{}
	for _, c := range counted {
		row, why := rowFor(c, rows, len(counted))
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

// rowFor returns the row that counters belong to: the only one, or that of the file that is called like theirs. why
// says why there is none.
func rowFor(c counters, rows []points.Row, all int) (row *points.Row, why string) {
	if len(rows) == 1 && all == 1 {
		return &rows[0], ""
	}
	for i := range rows {
		switch {
		case stem(rows[i].File) != stem(c.file):
		case row != nil:
			return nil, "several results are called like it, and nobody knows during which of them iostat counted"
		default:
			row = &rows[i]
		}
	}
	if row == nil {
		return nil, "nobody knows during which of the results iostat counted"
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

// leading returns the number that a text begins with: 205.7 of "205.7 per sec.)". A comma is a point where a locale has
// it so.
func leading(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
	if end >= 0 {
		text = text[:end]
	}
	x, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return x, err == nil && x >= 0 && x < 1e15
}

// decimal writes a number as tables have it.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// lasting writes a time of so many milliseconds.
func lasting(ms float64) string { return decimal(ms) + "ms" }
