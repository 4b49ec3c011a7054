// Package points converts a table of points, measured elsewhere by any program or printed in a paper, to a run. A
// point is the rate of a number of instances on a host of a given size. Models can be fitted to such runs where
// nothing can be measured.
//
// The package is pure.
package points

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Kind is the kind of the run's workloads, of which only the declared columns are known.
const Kind = "points"

// setupColumn is the column with the number of a setup.
const setupColumn = "setup"

// Operation is the name of the points' only kind of operation.
const Operation = "operation"

// stackName is the name of the one stack of all points.
const stackName = "elsewhere"

// Bounds of what is read.
const (
	mostRows      = 10_000
	mostText      = 4 << 20 // bytes of a table
	mostInstances = 100_000
	mostNumber    = 1e15
	mostBytes     = 1 << 43
	mostWrong     = 100       // lines that something is said of
	mostEach      = 1_000_000 // of an operation
)

// point is one row.
type point struct {
	line         int
	mix          string // that rows of other classes may share; "" for its own
	class        string
	instances    int
	clients      int
	think        float64 // s
	host, limits result.Limits
	bringUp      int

	rate, mean            float64    // a second; ns
	percentiles           [4]float64 // ns: of percents
	reads, writes         float64    // of an operation
	readBytes, writeBytes float64
	cpu                   float64           // s
	peak                  float64           // bytes of each instance
	fields                map[string]string // text of each column
	doubts                []string          // reasons to doubt it, for people
}

// setupKey identifies a setup. Points with the same key are setups of one mix.
type setupKey struct {
	class        string
	instances    int
	load         result.Load
	host, limits result.Limits
}

func (p point) setUp() setupKey {
	return setupKey{p.class, p.instances, result.Load{Clients: p.clients, ThinkSeconds: p.think}, p.host, p.limits}
}

// has reports whether the row has a value in the column.
func (p point) has(column string) bool { return p.fields[column] != "" }

// column is one that a table may have.
type column struct {
	field.Field[point]

	trait trait
}

// newColumn returns a column that is stored in the field at points to.
func newColumn[T any](name, what string, trait trait, k field.Kind[T], at func(*point) *T) column {
	return column{field.Of(name, what, k, at), trait}
}

// trait is a set of properties of a column.
type trait int

const (
	required trait = 1 << iota // the table must have the column, and no field of it may be empty
	level                      // what points are measured at
)

// columns lists all columns. Names and units are those of experiment files.
var columns = []column{
	newColumn("class", "the workload's name", required, aName, func(p *point) *string { return &p.class }),
	newColumn(
		"instances",
		"how many ran at the same time",
		required,
		anInstance,
		func(p *point) *int { return &p.instances },
	),
	newColumn("clients", "operations that are under way for each instance, at most", required|level, anInstance,
		func(p *point) *int { return &p.clients }),
	newColumn(
		"throughput",
		"operations a second of all instances",
		required,
		field.Rate(math.SmallestNonzeroFloat64, mostNumber),
		func(p *point) *float64 { return &p.rate },
	),
	newColumn("mix", "name that rows have in common which ran at the same time, each of another class", 0, aName,
		func(p *point) *string { return &p.mix }),
	newColumn("think", "time that a client waits after an operation before its next: 5ms", level, aTime,
		func(p *point) *float64 { return &p.think }),
	newColumn("mean", "mean latency: 1.2ms", 0, aLatency, func(p *point) *float64 { return &p.mean }),
	newColumn("p50", "latency that half of the operations take at most: 0.4ms", 0, aLatency,
		func(p *point) *float64 { return &p.percentiles[0] }),
	newColumn("p95", "latency that 95% of them take at most: 2ms", 0, aLatency,
		func(p *point) *float64 { return &p.percentiles[1] }),
	newColumn("p99", "latency that 99% of them take at most: 8ms", 0, aLatency,
		func(p *point) *float64 { return &p.percentiles[2] }),
	newColumn("p99.9", "latency that 99.9% of them take at most: 20ms", 0, aLatency,
		func(p *point) *float64 { return &p.percentiles[3] }),
	newColumn("reads", "reads of the devices for each operation", 0, aNumber, func(p *point) *float64 { return &p.reads }),
	newColumn(
		"writes",
		"writes to the devices for each operation",
		0,
		aNumber,
		func(p *point) *float64 { return &p.writes },
	),
	newColumn("read-bytes", "bytes read from the devices for each operation: 8KiB", 0, aSize,
		func(p *point) *float64 { return &p.readBytes }),
	newColumn("write-bytes", "bytes written to the devices for each operation: 8KiB", 0, aSize,
		func(p *point) *float64 { return &p.writeBytes }),
	newColumn("cpu", "processor time of an operation: 120us", 0, aTime, func(p *point) *float64 { return &p.cpu }),
	newColumn(
		"peak-memory",
		"memory that each instance held at most, page cache included, where cpu is known: 6GiB",
		0,
		aSize,
		func(p *point) *float64 { return &p.peak },
	),
	newColumn("cpus", "processors of the host", level, field.AboveZero, func(p *point) *float64 { return &p.host.CPUs }),
	newColumn("memory", "memory of the host: 64GiB", level, aMemory, func(p *point) *int64 { return &p.host.MemoryBytes }),
	newColumn("iops", "reads and writes a second together that a volume is provisioned with: 16000", level, aRate,
		func(p *point) *int64 { return &p.host.IO.OperationsPerSecond }),
	newColumn("bandwidth", "bytes a second that it reads and writes together: 250MB", level, aBandwidth,
		func(p *point) *int64 { return &p.host.IO.BytesPerSecond }),
	newColumn("read-iops", "reads a second that the devices can do", level, aRate,
		func(p *point) *int64 { return &p.host.Read.OperationsPerSecond }),
	newColumn("write-iops", "writes a second that they can do", level, aRate,
		func(p *point) *int64 { return &p.host.Write.OperationsPerSecond }),
	newColumn("read-bandwidth", "bytes a second that they can read: 500MB", level, aBandwidth,
		func(p *point) *int64 { return &p.host.Read.BytesPerSecond }),
	newColumn("write-bandwidth", "bytes a second that they can write: 500MB", level, aBandwidth,
		func(p *point) *int64 { return &p.host.Write.BytesPerSecond }),
	newColumn(
		"own-cpus",
		"limit of each instance",
		level,
		field.AboveZero,
		func(p *point) *float64 { return &p.limits.CPUs },
	),
	newColumn(
		"own-memory",
		"limit of each instance: 6GiB",
		level,
		aMemory,
		func(p *point) *int64 { return &p.limits.MemoryBytes },
	),
	newColumn(setupColumn, "number of the row's setup, if a point was measured several times", 0,
		field.Count(1, mostRows),
		func(p *point) *int { return &p.bringUp }),
}

// percents are those that latencies may be known of, and the columns that have them.
var (
	percents    = [...]float64{50, 95, 99, 99.9}
	percentiles = [...]string{"p50", "p95", "p99", "p99.9"}
)

// aName is the name of a class or a mix.
var aName = field.Text("a name of letters, digits, and . _ -, 64 at most", "orders", func(text string) bool {
	return len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool { return !isNameRune(r) })
})

// isNameRune reports whether a name may have the character.
func isNameRune(r rune) bool {
	return r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// Kinds of what columns have.
var (
	anInstance = field.Count(1, mostInstances)
	aNumber    = field.Number(0, mostEach)
	aRate      = field.As[int64](field.Rate(1, mostNumber).Like("20000"))
	aBandwidth = field.Bandwidth(1, mostNumber).Like("250MB")
	aMemory    = field.Bytes.Like("64GiB")
	aSize      = field.MeanSize(0, mostBytes).Like("8KiB")
	aSpan      = field.Duration(0, math.MaxInt64).Like("1.2ms")
	aTime      = field.Seconds(aSpan)
	aLatency   = field.As[float64](aSpan) // in nanoseconds
)

// Columns returns the name and description of each column, required ones first.
func Columns() (all [][2]string) {
	for _, need := range []trait{required, 0} {
		for _, c := range columns {
			if c.trait&required == need {
				all = append(all, [2]string{c.Key, c.Help})
			}
		}
	}
	return all
}

// Recognized reports whether text is a table of points: whether its first line has names of columns.
func Recognized(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	named := 0
	for name := range strings.SplitSeq(string(first), ",") {
		if strings.TrimSpace(name) == "instances" || strings.TrimSpace(name) == "throughput" {
			named++
		}
	}
	return named == 2
}

// Read converts a table to a run. It returns all problems at once, by line.
func Read(name string, text []byte) (run result.Run, wrong problem.List) {
	if len(text) > mostText {
		wrong.InLine(0, "it has more than "+units.FormatSize(mostText)+", which is the most that is read of a table of "+
			"points",
			fmt.Sprintf("leave some out: %d points are ample", mostRows))
		return run, wrong.Within(name)
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord, in.TrimLeadingSpace, in.Comment = -1, true, '#'
	heading, err := in.Read()
	if err != nil {
		wrong.InLine(1, "the file is no table: "+err.Error(), "write a line of column names, and one for each point")
		return run, wrong.Sorted().Within(name)
	}
	in.FieldsPerRecord = len(heading)
	fields := parseHeading(heading, &wrong)
	if len(wrong) > 0 {
		return run, wrong.Sorted().Within(name)
	}
	var points []point
	for len(wrong) < mostWrong {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			wrong.InLine(parse.StartLine, parse.Err.Error(),
				fmt.Sprintf("the heading has %s", plural.Count(len(heading), "column")))
			if errors.Is(err, csv.ErrFieldCount) {
				continue
			}
			break
		}
		line, _ := in.FieldPos(0)
		if len(points) == mostRows {
			wrong.InLine(line, fmt.Sprintf("there are more than %d points", mostRows), "leave some out")
			break
		}
		points = append(points, parseRow(record, fields, line, &wrong))
	}
	if len(points) == 0 && len(wrong) == 0 {
		wrong.InLine(1, "there is no point below the heading", "write a line for each")
	}
	if len(wrong) > 0 {
		return run, wrong.Sorted().Within(name)
	}
	run = runOf([]result.InputFile{result.NewInputFile(name, text)}, points, &wrong)
	return run, wrong.Sorted().Within(name)
}

// Row is a point as texts by column name, with its place in a file.
type Row struct {
	File    string
	Line    int
	Columns map[string]string
	Doubts  []string // reasons to doubt the point, for people
}

// Make converts rows, which may come from several files, to a run. In whatever order files were given, points stand in
// that of their levels as numbers, so that the first is what others are compared with.
func Make(rows []Row, files []result.InputFile) (run result.Run, wrong problem.List) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	var points []point
	for _, row := range rows {
		var record []string
		var fields []column
		for _, c := range columns {
			if text := row.Columns[c.Key]; text != "" || c.trait&required != 0 {
				record, fields = append(record, text), append(fields, c)
			}
		}
		var bad problem.List
		p := parseRow(record, fields, row.Line, &bad)
		p.doubts = append(slices.Clone(row.Doubts), p.doubts...)
		points = append(points, p)
		wrong = append(wrong, bad.Within(row.File)...)
	}
	if len(wrong) == 0 {
		slices.SortStableFunc(points, point.compare)
		run = runOf(files, points, &wrong)
	}
	return run, wrong
}

// compare orders points by class and by their levels.
func (p point) compare(q point) int {
	limits := func(a, b result.Limits) int {
		return cmp.Or(cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.MemoryBytes, b.MemoryBytes),
			cmp.Compare(a.IO.OperationsPerSecond, b.IO.OperationsPerSecond),
			cmp.Compare(a.IO.BytesPerSecond, b.IO.BytesPerSecond))
	}
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.instances, q.instances),
		cmp.Compare(p.clients, q.clients), cmp.Compare(p.think, q.think), limits(p.host, q.host), limits(p.limits, q.limits))
}

// ParseColumns parses values for all rows as a command line has them: "memory=64GiB, own-cpus=2".
func ParseColumns(text string) (map[string]string, error) {
	values := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		i := slices.IndexFunc(columns, func(c column) bool { return c.Key == name })
		if !ok || i < 0 || name == "mix" || name == setupColumn { // which tell rows apart
			return nil, fmt.Errorf("%q is no column with its value; write memory=64GiB, of %s", strings.TrimSpace(part),
				plural.And(columnNames()))
		}
		if err := columns[i].Set(&point{}, value); err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, value, err)
		}
		values[name] = value
	}
	return values, nil
}

func columnNames() []string { return plural.Words(columns, func(c column) string { return c.Key }) }

// parseHeading returns the column of each field.
func parseHeading(heading []string, wrong *problem.List) []column {
	names := columnNames()
	fields := make([]column, len(heading))
	for i, head := range heading {
		head = strings.TrimSpace(head)
		c := slices.Index(names, head)
		if c < 0 {
			remedy := "columns are " + plural.And(names)
			if near := suggest.Closest(head, names); near != "" {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			wrong.InLine(1, fmt.Sprintf("there is no column %q", head), remedy)
			continue
		}
		if slices.ContainsFunc(fields[:i], func(other column) bool { return other.Key == head }) {
			wrong.InLine(1, fmt.Sprintf("the column %q is there twice", head), "")
		}
		fields[i] = columns[c]
	}
	for _, c := range columns {
		if c.trait&required != 0 && !slices.ContainsFunc(fields, func(other column) bool { return other.Key == c.Key }) {
			wrong.InLine(1, fmt.Sprintf("the column %q is missing: %s", c.Key, c.Help), "")
		}
	}
	return fields
}

// parseRow parses a row. An empty field is an unknown value.
func parseRow(record []string, fields []column, line int, wrong *problem.List) point {
	p := point{line: line, fields: map[string]string{}}
	for i, text := range record {
		text = strings.TrimSpace(text)
		if text == "" {
			if fields[i].trait&required != 0 {
				wrong.InLine(line, fields[i].Key+" is empty", "")
			}
			continue
		}
		if err := fields[i].Set(&p, text); err != nil {
			field.InText(wrong, line, fields[i].Key, text, err)
			continue
		}
		p.fields[fields[i].Key] = text
	}
	p.check(wrong)
	return p
}
