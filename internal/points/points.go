// Package points makes a run of points that were measured elsewhere, by whatever program,
// or that a paper prints: so many instances on a host of so much did so many operations a
// second. It is what a model is fitted to where nothing can be measured.
//
// The package is pure.
package points

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/hist"
	"plimsoll/internal/plural"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
)

// Kind is the kind of the run's workloads: nothing of them is known but what is declared.
const Kind = "points"

// stackName is what all points stand on, as far as anybody knows.
const stackName = "elsewhere"

// Bounds of what is read.
const (
	mostRows      = 10_000
	mostInstances = 100_000
	mostNumber    = 1e15
)

// operations is how many a point is taken to have done: counts of devices are whole.
const operations = 1_000_000

// point is one row.
type point struct {
	class     string
	instances int
	clients   int
	think     float64 // s
	host, own result.Limits
	bringUp   int

	rate, mean, p99       float64 // a second; ns
	reads, writes         float64 // of an operation
	readBytes, writeBytes float64
	cpu                   float64 // s
	peak                  float64 // bytes of each instance
	seen                  map[string]bool
}

// column is one that a table may have.
type column struct {
	name string
	what string // for people: what stands in it
	need bool
	set  func(p *point, text string) error
}

// columns are those that there are. Names and units are those of experiment files.
var columns = []column{
	{"class", "the workload's name", true, func(p *point, text string) error {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !allowed(r) }) || len(text) > 64 {
			return errors.New("a name has letters, digits, and . _ -")
		}
		p.class = text
		return nil
	}},
	{"instances", "how many ran at the same time", true,
		whole(func(p *point) *int { return &p.instances }, mostInstances)},
	{"clients", "operations that are under way for each instance, at most", true,
		whole(func(p *point) *int { return &p.clients }, mostInstances)},
	{"throughput", "operations a second of all instances", true,
		number(func(p *point) *float64 { return &p.rate }, positive)},
	{"think", "time that a client waits after an operation before its next: 5ms", false,
		lasting(func(p *point) *float64 { return &p.think }, 1)},
	{"mean", "mean latency: 1.2ms", false, lasting(func(p *point) *float64 { return &p.mean }, 1e9)},
	{"p99", "latency that 99% of operations take at most: 8ms", false,
		lasting(func(p *point) *float64 { return &p.p99 }, 1e9)},
	{"reads", "reads of the devices for each operation", false,
		number(func(p *point) *float64 { return &p.reads }, atLeast0)},
	{"writes", "writes to the devices for each operation", false,
		number(func(p *point) *float64 { return &p.writes }, atLeast0)},
	{"read-bytes", "bytes read from the devices for each operation: 8KiB", false,
		number(func(p *point) *float64 { return &p.readBytes }, bytesOf)},
	{"write-bytes", "bytes written to the devices for each operation: 8KiB", false,
		number(func(p *point) *float64 { return &p.writeBytes }, bytesOf)},
	{"cpu", "processor time of an operation: 120us", false, lasting(func(p *point) *float64 { return &p.cpu }, 1)},
	{"peak-memory", "memory that each instance held at most, page cache included, where cpu is known: 6GiB", false,
		number(func(p *point) *float64 { return &p.peak }, bytesOf)},
	{"cpus", "processors of the host", false, number(func(p *point) *float64 { return &p.host.CPUs }, positive)},
	{"memory", "memory of the host: 64GiB", false, limit(func(p *point) *int64 { return &p.host.MemoryBytes })},
	{"read-iops", "reads a second that the devices can do", false,
		limit(func(p *point) *int64 { return &p.host.Read.OperationsPerSecond })},
	{"write-iops", "writes a second that they can do", false,
		limit(func(p *point) *int64 { return &p.host.Write.OperationsPerSecond })},
	{"read-bandwidth", "bytes a second that they can read: 500MB", false,
		limit(func(p *point) *int64 { return &p.host.Read.BytesPerSecond })},
	{"write-bandwidth", "bytes a second that they can write: 500MB", false,
		limit(func(p *point) *int64 { return &p.host.Write.BytesPerSecond })},
	{"own-cpus", "limit of each instance", false, number(func(p *point) *float64 { return &p.own.CPUs }, positive)},
	{"own-memory", "limit of each instance: 6GiB", false, limit(func(p *point) *int64 { return &p.own.MemoryBytes })},
	{"bring-up", "number of the bring-up that the row is of, where a point was measured several times", false,
		whole(func(p *point) *int { return &p.bringUp }, mostRows)},
}

func allowed(r rune) bool {
	return r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func whole(of func(*point) *int, most int) func(*point, string) error {
	return func(p *point, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("it is a whole number from 1 to %d", most)
		}
		*of(p) = n
		return nil
	}
}

func positive(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x < mostNumber) {
		return 0, errors.New("it is a number above 0")
	}
	return x, nil
}

func atLeast0(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x < 1000) {
		return 0, errors.New("it is a number from 0 to 1000")
	}
	return x, nil
}

func bytesOf(text string) (float64, error) {
	n, err := units.ParseSize(text)
	return float64(n), err
}

func number(of func(*point) *float64, read func(string) (float64, error)) func(*point, string) error {
	return func(p *point, text string) (err error) {
		*of(p), err = read(text)
		return err
	}
}

func limit(of func(*point) *int64) func(*point, string) error {
	return func(p *point, text string) error {
		n, err := units.ParseSize(text)
		if err != nil || n < 1 {
			return errors.New("it is a number above 0, such as 64GiB or 20000")
		}
		*of(p) = n
		return nil
	}
}

func lasting(of func(*point) *float64, perSecond float64) func(*point, string) error {
	return func(p *point, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return errors.New("it is a time with its unit: 1.2ms")
		}
		*of(p) = d.Seconds() * perSecond
		return nil
	}
}

// Columns returns the names of the columns and what stands in each: those that a table
// needs first.
func Columns() (all [][2]string) {
	for _, need := range []bool{true, false} {
		for _, c := range columns {
			if c.need == need {
				all = append(all, [2]string{c.name, c.what})
			}
		}
	}
	return all
}

// Recognized reports whether a file is a table of points: its first line names columns of
// one.
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

// Read makes a run of a table. All that is wrong with it is said at once, by its lines.
func Read(name string, text []byte) (run result.Run, wrong problem.List) {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord, in.TrimLeadingSpace, in.Comment = -1, true, '#'
	heading, err := in.Read()
	if err != nil {
		wrong.InLine(1, "the file is no table: "+err.Error(), "write a line of column names, and one for each point")
		return run, wrong.Sorted().Within(name)
	}
	in.FieldsPerRecord = len(heading)
	at := headed(heading, &wrong)
	if len(wrong) > 0 {
		return run, wrong.Sorted().Within(name)
	}
	var all []point
	for {
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
		if len(all) == mostRows {
			wrong.InLine(line, fmt.Sprintf("there are more than %d points", mostRows), "leave some out")
			break
		}
		all = append(all, read(record, at, line, &wrong))
	}
	if len(all) == 0 && len(wrong) == 0 {
		wrong.InLine(1, "there is no point below the heading", "write a line for each")
	}
	if len(wrong) > 0 {
		return run, wrong.Sorted().Within(name)
	}
	return runOf(name, text, all), nil
}

// headed returns the column of each field.
func headed(heading []string, wrong *problem.List) []column {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	at := make([]column, len(heading))
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
		if slices.ContainsFunc(at[:i], func(other column) bool { return other.name == head }) {
			wrong.InLine(1, fmt.Sprintf("the column %q is there twice", head), "")
		}
		at[i] = columns[c]
	}
	for _, c := range columns {
		if c.need && !slices.ContainsFunc(at, func(other column) bool { return other.name == c.name }) {
			wrong.InLine(1, fmt.Sprintf("the column %q is missing: %s", c.name, c.what), "")
		}
	}
	return at
}

// read reads a row. An empty field is what nobody knows.
func read(record []string, at []column, line int, wrong *problem.List) point {
	p := point{seen: map[string]bool{}}
	for i, text := range record {
		text = strings.TrimSpace(text)
		if text == "" {
			if at[i].need {
				wrong.InLine(line, at[i].name+" is empty", "")
			}
			continue
		}
		if err := at[i].set(&p, text); err != nil {
			wrong.InLine(line, fmt.Sprintf("%s %q: %s", at[i].name, text, err), "")
			continue
		}
		p.seen[at[i].name] = true
	}
	return p
}

// runOf makes a run of points.
func runOf(name string, text []byte, all []point) result.Run {
	run := result.Run{
		Schema: result.SchemaVersion, Status: result.RunComplete, Seed: 1,
		Experiment: result.Experiment{Name: "points", Question: "What was measured elsewhere?"},
		Environment: result.Environment{Notes: []string{"measured elsewhere: " + name +
			" says so, and nothing of it was checked"}},
		Stacks:   []result.Stack{{Name: stackName, Marks: []result.Mark{result.MarkImported}}},
		Imported: []result.InputFile{result.NewInputFile(name, text)},
	}
	bringUps := map[string]int{}
	for _, p := range all {
		workload := p.workload(&run)
		mix := p.mix(&run, workload)
		bringUps[mix]++
		number := p.bringUp
		if number == 0 {
			number = bringUps[mix]
		}
		t := p.trial(workload, mix)
		t.Seq, t.Block, t.BringUp, t.Repeat = len(run.Trials)+1, number, number, bringUps[mix]
		run.Trials = append(run.Trials, t)
	}
	return run
}

// workload returns the name of the point's workload, which is another where its clients
// are others.
func (p point) workload(run *result.Run) string {
	declared := Declare(p.clients, time.Duration(p.think*float64(time.Second)))
	name := p.class
	for i := 2; ; i++ {
		at := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == name })
		if at < 0 {
			run.Workloads = append(run.Workloads, result.Workload{Name: name, Kind: Kind, Declared: declared,
				Summary: "measured elsewhere"})
			return name
		}
		if run.Workloads[at].Declared == declared {
			return name
		}
		name = fmt.Sprintf("%s-%d", p.class, i)
	}
}

// mix returns the name of the point's mix.
func (p point) mix(run *result.Run, workload string) string {
	host := p.host
	tenant := result.Tenant{Name: workload, Workload: workload, Count: p.instances, Limits: p.own}
	number := 1
	for _, m := range run.Mixes {
		of := m.Tenants[0]
		if of.Workload != workload || of.Count != p.instances {
			continue
		}
		if *m.Host == host && of.Limits == p.own {
			return m.Name
		}
		number++
	}
	name := fmt.Sprintf("%s-%d", workload, p.instances)
	if number > 1 {
		name += fmt.Sprintf(".%d", number)
	}
	run.Mixes = append(run.Mixes, result.Mix{Name: name, Tenants: []result.Tenant{tenant}, Host: &host})
	return name
}

// trial is what was measured of the point.
func (p point) trial(workload, mix string) result.Trial {
	t := result.Trial{Stack: stackName, Mix: mix, Status: result.TrialDone}
	if p.seen["reads"] || p.seen["writes"] {
		t.Checks = []result.Honesty{{Stack: stackName, Source: result.SourceServer, Reason: "measured elsewhere",
			Served: []result.DeviceCounter{{Reads: count(p.reads), Writes: count(p.writes), ReadBytes: count(p.readBytes),
				WriteBytes: count(p.writeBytes)}}}}
	}
	var latency map[result.Stage]hist.Histogram
	if p.seen["p99"] && !p.seen["mean"] { // Little's law gives it
		p.mean = 1e9 * max(0, float64(p.clients*p.instances)/p.rate-p.think)
	}
	if p.mean > 0 || p.seen["mean"] {
		h := hist.Histogram{Count: operations, MeanNS: p.mean}
		if p.seen["p99"] {
			h.Printed = []hist.Quantile{{Percent: 99, NS: uint64(p.p99)}}
		}
		latency = map[result.Stage]hist.Histogram{result.Total: h}
	}
	// All instances are one here: nobody knows what each of them did.
	in := result.Instance{Tenant: workload, Workload: workload, Stack: stackName, Status: result.TrialDone,
		Measurement: &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: "operation", Count: operations,
			Rate: p.rate, Latency: latency}}}}
	if p.seen["cpu"] {
		in.Usage = &result.Usage{Seconds: 1, CPUSeconds: p.cpu * operations,
			PeakMemoryBytes: int64(p.peak) * int64(p.instances)}
	}
	t.Instances = []result.Instance{in}
	return t
}

// count is how often something happened to all operations.
func count(each float64) uint64 { return uint64(math.Round(each * operations)) }

// Declare says of a workload how many operations each instance has under way, and how
// long a client thinks, as a result keeps it.
func Declare(clients int, think time.Duration) string {
	return fmt.Sprintf("clients: %d\nthink: %s\n", clients, think)
}

// Declared reads what Declare wrote.
func Declared(text string) (clients int, think time.Duration, ok bool) {
	var thought string
	n, err := fmt.Sscanf(text, "clients: %d\nthink: %s\n", &clients, &thought)
	if err != nil || n != 2 || clients < 1 {
		return 0, 0, false
	}
	think, err = time.ParseDuration(thought)
	return clients, think, err == nil && think >= 0
}
