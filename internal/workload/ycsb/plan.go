package ycsb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/database"
)

// Plan is all that the generator has to know: what to do, at which pace, for how
// long, and where the database answers. A step has it as a file.
type Plan struct {
	Client  string            `json:"client"`            // client for the database
	Options map[string]string `json:"options,omitempty"` // of the client's
	At      database.Address  `json:"at"`                // where it answers; a socket is in the working directory
	Dataset database.Dataset  `json:"dataset"`

	// Files takes the place of a database, and of all that is about records.
	Files *Files `json:"files,omitempty"`

	Mix           Mix          `json:"mix"`
	Distribution  Distribution `json:"distribution"`
	HotSet        float64      `json:"hot_set,omitempty"`        // share of the records
	HotOperations float64      `json:"hot_operations,omitempty"` // share of the operations
	MaxScan       int          `json:"max_scan,omitempty"`       // records
	ReadOne       bool         `json:"read_one,omitempty"`       // a read is of one field, not of all
	UpdateAll     bool         `json:"update_all,omitempty"`     // an update is of all fields, not of one

	Threads  int           `json:"threads"`            // connections, each with one operation at a time
	Think    time.Duration `json:"think,omitempty"`    // closed loop: between two operations
	Rate     float64       `json:"rate,omitempty"`     // operations per second that begin; 0 for a closed loop
	Constant bool          `json:"constant,omitempty"` // they begin at equal distances, not at random ones
	Timeout  time.Duration `json:"timeout"`            // of one attempt
	Retries  int           `json:"retries,omitempty"`  // attempts after the first

	Seed  uint64 `json:"seed,omitempty"`  // of the operations and arrivals
	Fresh bool   `json:"fresh,omitempty"` // another seed each time, in place of Seed

	Ramp    time.Duration `json:"ramp,omitempty"`   // not measured
	Runtime time.Duration `json:"runtime"`          // measured
	Sample  time.Duration `json:"sample,omitempty"` // between two lines of the output; 0 for two in all

	Gate   string `json:"gate,omitempty"` // base name of a file to read before it begins; "" for none
	Output string `json:"output"`         // base name

	// Settings are names of options whose values are read from the server once it answers.
	Settings []string `json:"settings,omitempty"`
	// Patience bounds the wait for the server's first answer.
	Patience time.Duration `json:"patience,omitempty"`
}

// Files are small files that threads make and look at, each thread in a directory of its own. Their number stays the
// same: a thread unlinks its oldest file for each that it creates.
type Files struct {
	Dir     string  `json:"dir"`     // it has the threads' directories; as the generator sees it
	Count   int     `json:"count"`   // of all threads together
	Bytes   int     `json:"bytes"`   // of each
	Lookups float64 `json:"lookups"` // share of operations that stat or open a file, half of them each
	Fsync   bool    `json:"fsync"`   // each file that is created
	// Overwrites is the share of operations that open a file, write its first bytes and close it: one file after the
	// other, from the oldest on.
	Overwrites float64 `json:"overwrites,omitempty"`
}

// OnlyOverwrites reports whether all operations are overwrites: the load then ends once each file had one.
func (f *Files) OnlyOverwrites() bool { return f.Overwrites >= 1 }

// Of returns how many of the files a thread has.
func (f *Files) Of(thread, threads int) int {
	n := f.Count / threads
	if thread < f.Count%threads {
		n++
	}
	return n
}

// Bounds of files.
const (
	MaxFiles     = 1_000_000
	MaxFileBytes = 256 << 20
)

func (f *Files) check(threads int) error {
	switch {
	case f.Dir == "":
		return errors.New("the directory of the files is missing")
	case f.Count < threads || f.Count > MaxFiles:
		return fmt.Errorf("count is %d: it must be from %d, the number of threads, to %d", f.Count, threads, MaxFiles)
	case f.Bytes < 0 || f.Bytes > MaxFileBytes:
		return fmt.Errorf("bytes is %d: it must be from 0 to %d", f.Bytes, MaxFileBytes)
	case !share(f.Lookups):
		return fmt.Errorf("lookups is %v: it must be from 0 to 1", f.Lookups)
	case !share(f.Overwrites) || f.Lookups+f.Overwrites > 1+1e-9:
		return fmt.Errorf("overwrites is %v: it must be from 0 to 1, and with lookups no more than 1", f.Overwrites)
	}
	return nil
}

// Open reports whether operations start at a fixed rate, regardless of the server.
func (p *Plan) Open() bool { return p.Rate > 0 }

// Bounds of a plan. They hold for experiment files too.
const (
	maxThreads = 4096
	maxScan    = 1 << 20
	maxRetries = 100
	maxRate    = 1e7
	minTime    = time.Millisecond
	maxTime    = 24 * time.Hour
)

// ReadPlan reads a plan. The error names all that is wrong with it.
func ReadPlan(text []byte) (*Plan, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	p := &Plan{}
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("this is no plan of a load: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("this is no plan of a load: something follows it")
	}
	return p, p.check()
}

// check returns all problems of a plan.
func (p *Plan) check() error {
	var problems []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	base := func(what, file string) {
		wrong(file != "" && (strings.ContainsAny(file, "/\x00") || file == "." || file == ".."),
			"%s must be a base name, not %q", what, file)
	}
	within := func(what string, n, low, high int64) {
		wrong(n < low || n > high, "%s is %d: it must be from %d to %d", what, n, low, high)
	}
	base("gate", p.Gate)
	base("output", p.Output)
	wrong(p.Output == "", "output is missing")
	least := minTime // of a timeout
	if p.Files != nil {
		problems, least = append(problems, p.Files.check(p.Threads)), 0
		wrong(p.Open() || p.Think > 0, "files are worked on in a closed loop, without think time")
	} else {
		problems = append(problems, p.At.Check(), p.Dataset.Check(), p.Mix.check())
		wrong(p.Client == "", "client is missing")
		wrong(!p.Distribution.isValid(), "distribution is %q: it must be one of %v", p.Distribution, distributions)
		wrong(!share(p.HotSet) || !share(p.HotOperations), "hot_set and hot_operations must be from 0 to 1")
		within("max_scan", int64(p.MaxScan), 0, maxScan)
		wrong(p.Mix[Scan] > 0 && p.MaxScan < 1, "max_scan is missing")
	}
	within("threads", int64(p.Threads), 1, maxThreads)
	within("retries", int64(p.Retries), 0, maxRetries)
	wrong(!(p.Rate >= 0 && p.Rate <= maxRate), "rate is %v: it must be from 0 to %v", p.Rate, maxRate)
	wrong(p.Open() && p.Think > 0, "an open loop has no think time")
	for _, t := range []struct {
		name string
		time time.Duration
		low  time.Duration
	}{
		{"think", p.Think, 0}, {"timeout", p.Timeout, least}, {"ramp", p.Ramp, 0}, {"runtime", p.Runtime, minTime},
		{"sample", p.Sample, 0}, {"patience", p.Patience, 0},
	} {
		wrong(t.time < t.low || t.time > maxTime, "%s is %v: it must be from %v to %v", t.name, t.time, t.low, maxTime)
	}
	wrong(p.Sample > 0 && p.Sample < minTime, "sample is %v: it must be at least %v", p.Sample, minTime)
	return errors.Join(problems...)
}

func share(x float64) bool { return x >= 0 && x <= 1 }

// check returns an error for an invalid mix.
func (m Mix) check() error {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(m)) {
		share := m[name]
		if !slices.Contains(Names, name) {
			return fmt.Errorf("the mix has %q, which is no operation", name)
		}
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("the share of %s is %v: it must be from 0 to 1", name, share)
		}
		sum += share
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the shares of the mix add up to %v, not to 1", sum)
	}
	return nil
}

// Text returns the plan as a step has it.
func (p *Plan) Text() []byte {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // it holds nothing that JSON cannot write
	}
	return append(text, '\n')
}
