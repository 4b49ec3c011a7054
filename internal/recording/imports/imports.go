// Package imports makes recordings of what other programs wrote: range queries of Prometheus with metrics of
// node_exporter and cAdvisor, sadf -j, iostat -o JSON, and metrics of volumes by CloudWatch.
//
// The package is pure.
//
// Hazards. Files are untrusted. Numbers that are no amount (NaN, infinite, negative) are unknown, and counted. A
// counter that goes back gives an unknown interval. Nothing is filled in: a time without values is a gap.
package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
	"plimsoll/internal/units/plural"
)

// File is a file to import.
type File struct {
	Name string
	Text []byte
}

// Imported is what files have.
type Imported struct {
	Header recording.Header
	Rows   []recording.Row
	Notes  []string // what was left out, for people
}

// Bounds of an import.
const (
	mostSeries = 100_000
	mostCells  = 100_000_000
)

// cell identifies a value at a time.
type cell struct {
	key    recording.Key
	metric recording.Metric
}

// builder collects values by time. Levels are values; all else are counters that only grow, or amounts of intervals.
type builder struct {
	header recording.Header
	things map[recording.Key]recording.Thing
	// values are by series and time in ms: a cell may have several series, such as one for each processor.
	counters map[cell][]map[int64]float64
	amounts  map[cell]map[int64]float64
	lengths  map[int64]float64 // seconds of intervals, of amounts
	runs     map[string][]*run // of services

	// Of CloudWatch: the period of all metrics in ms, the line that it is from, the lines of metrics, and the ranks of
	// what is in amounts.
	period      int64
	periodLine  int
	metricLines map[string]int
	ranks       map[cell]int

	values int

	wrong    problem.List
	resets   int
	noAmount int // values that are no amount
	backward int // times that are not later than the one before
	ignored  map[string]int
}

func newBuilder() *builder {
	return &builder{things: map[recording.Key]recording.Thing{}, counters: map[cell][]map[int64]float64{},
		amounts: map[cell]map[int64]float64{}, lengths: map[int64]float64{}, ignored: map[string]int{},
		runs: map[string][]*run{}, metricLines: map[string]int{}, ranks: map[cell]int{}}
}

// reject adds a problem of a file.
func (b *builder) reject(file, what, why, remedy string) {
	b.wrong = append(b.wrong, problem.Problem{At: problem.Position{In: file}, Kind: problem.Invalid, What: what, Why: why,
		Remedy: remedy})
}

// format is a kind of file.
type format struct {
	family string // files of one family have the same times
	is     func(text []byte) bool
	read   func(*builder, File)
}

// formats are all that is read; the first that fits reads the file.
var formats = []format{
	{"Prometheus", has(`"resultType"`, `"errorType"`), (*builder).prometheus},
	{"sysstat", has(`"sysstat"`), (*builder).sysstat},
	{"CloudWatch", has(`"MetricDataResults"`), (*builder).cloudWatchJSON},
	{"CloudWatch", isCloudWatchTable, (*builder).cloudWatchTable},
}

// has returns a function that reports whether a text has one of some words.
func has(words ...string) func(text []byte) bool {
	return func(text []byte) bool {
		return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
	}
}

// Read reads files. The problems are all that is wrong with them.
func Read(files []File) (Imported, problem.List) {
	b := newBuilder()
	families := map[string]bool{}
	reads := make([]func(*builder, File), len(files))
	for i, f := range files {
		known := slices.IndexFunc(formats, func(known format) bool { return known.is(f.Text) })
		if known < 0 {
			b.reject(f.Name, "nothing was read", "it is no range query of Prometheus, no output of sadf -j, none of iostat "+
				"-t -o JSON, and no metrics of CloudWatch", "see docs/how-to/headroom.md")
			continue
		}
		families[formats[known].family], reads[i] = true, formats[known].read
	}
	if len(families) > 1 {
		b.reject("", "nothing was read", "the files are of "+plural.And(slices.Sorted(maps.Keys(families)))+
			", which do not have the same times", "import them into recordings of their own")
		return Imported{}, b.wrong
	}
	for i, read := range reads {
		if read != nil {
			read(b, files[i])
		}
	}
	if len(b.wrong) > 0 {
		return Imported{}, b.wrong
	}
	made := b.build()
	if len(made.Rows) == 0 {
		b.reject("", "nothing was read", "the files have fewer than two times with values", "export a longer range")
		return Imported{}, b.wrong
	}
	return made, nil
}

// thing returns the key of a thing, which is noted.
func (b *builder) thing(t recording.Thing) recording.Key {
	b.things[t.Key()] = t
	return t.Key()
}

// times returns all times with values, ascending.
func (b *builder) times() []int64 {
	found := map[int64]bool{}
	for _, seriesList := range b.counters {
		for _, series := range seriesList {
			for moment := range series {
				found[moment] = true
			}
		}
	}
	for moment := range b.lengths {
		found[moment] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// build makes rows. An interval that is longer than one and a half usual ones spans times without values: it is a gap.
func (b *builder) build() (made Imported) {
	b.numberCopies()
	times := b.times()
	made.Header = b.header
	made.Header.Interval = b.usual(times)
	cells := slices.Concat(slices.Collect(maps.Keys(b.counters)), slices.Collect(maps.Keys(b.amounts)))
	byThing := map[recording.Key]map[recording.Metric]bool{}
	for _, c := range cells {
		if byThing[c.key] == nil {
			byThing[c.key] = map[recording.Metric]bool{}
		}
		byThing[c.key][c.metric] = true
	}
	keys := slices.SortedFunc(maps.Keys(byThing), func(x, y recording.Key) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Copy, y.Copy),
			cmp.Compare(x.Drive, y.Drive))
	})
	gaps := 0
	for i, moment := range times {
		seconds, before := b.lengths[moment], int64(0)
		if seconds == 0 {
			if i == 0 {
				continue
			}
			before = times[i-1]
			seconds = float64(moment-before) / 1000
		}
		if seconds > 1.5*made.Header.Interval {
			gaps++
			continue
		}
		row := recording.Row{Time: time.UnixMilli(moment).UTC(), Seconds: seconds}
		for _, key := range keys {
			values, anyKnown := make([]float64, 0, 12), false
			for _, m := range key.Kind.Metrics() {
				v := math.NaN()
				if byThing[key][m] {
					v = b.value(cell{key, m}, before, moment)
				}
				anyKnown = anyKnown || v == v
				values = append(values, v)
			}
			if anyKnown {
				row.Amounts = append(row.Amounts, recording.Amounts{Thing: b.things[key], Values: values})
			}
		}
		made.Rows = append(made.Rows, row)
	}
	made.Notes = b.notes(gaps)
	return made
}

// usual returns the usual length of intervals, in seconds.
func (b *builder) usual(times []int64) float64 {
	var lengths []float64
	for i, moment := range times {
		if seconds := b.lengths[moment]; seconds > 0 {
			lengths = append(lengths, seconds)
		} else if i > 0 {
			lengths = append(lengths, float64(moment-times[i-1])/1000)
		}
	}
	if len(lengths) == 0 {
		return 1
	}
	slices.Sort(lengths)
	return min(max(lengths[len(lengths)/2], 0.001), 3600)
}

// value returns the amount of an interval, or the level at its end, as the sum over series.
func (b *builder) value(c cell, before, moment int64) float64 {
	if seriesList := b.amounts[c]; seriesList != nil {
		if v, ok := seriesList[moment]; ok {
			return v
		}
		return math.NaN()
	}
	sum, found := 0.0, false
	for _, series := range b.counters[c] {
		v, ok := series[moment]
		if !ok {
			continue
		}
		if !c.metric.Levels() {
			early, ok := series[before]
			if !ok {
				continue // it began in the interval: what it did before is unknown
			}
			if v < early {
				b.resets++
				return math.NaN()
			}
			v -= early
		}
		sum, found = sum+v, true
	}
	if !found {
		return math.NaN()
	}
	return sum
}

// notes returns what was left out.
func (b *builder) notes(gaps int) (notes []string) {
	add := func(n int, what, rest string) {
		if n > 0 {
			notes = append(notes, plural.Count(n, what)+" "+rest)
		}
	}
	add(gaps, "gap", "without values")
	add(b.resets, "counter reset", "in intervals that are unknown now")
	add(b.noAmount, "value", "left out: no amount (NaN, infinite, negative)")
	add(b.backward, "value", "left out: not later than the one before")
	for _, name := range slices.Sorted(maps.Keys(b.ignored)) {
		add(b.ignored[name], "series", fmt.Sprintf("of %.60q left out: no amount that headroom reads", name))
	}
	return notes
}
