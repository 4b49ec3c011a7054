package fio

import (
	"fmt"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
)

// Params are the options of fio in an experiment file.
type Params struct {
	RW        string
	BS        int64
	Jobs      int
	IODepth   int
	Size      int64
	Direct    bool
	Engine    string
	RWMixRead int
	Cache     string
	ThinkTime time.Duration
	Rate      float64        // requests per second of all jobs that are due, by a Poisson process; 0 for a closed loop
	Fsync     int            // writes after which a job calls fsync; 0 for never
	Fdatasync int            // likewise, for fdatasync
	Runtime   time.Duration  // 0: the experiment's
	Ramp      *time.Duration // nil: the experiment's
	File      string
	Env       map[string]string
}

// bounds of what a trial may last.
const (
	minRuntime = 100 * time.Millisecond
	maxRuntime = 24 * time.Hour
)

// options are all keys, in the order of the documentation.
var options = field.Table[Params]{
	field.Of("rw", "access pattern; randrw and rw mix reads and writes",
		field.OneOf("randread", "randwrite", "read", "write", "randrw", "rw"), func(p *Params) *string { return &p.RW }),
	field.Of("bs", "block size, a multiple of 512 bytes up to 64 MiB",
		field.Size(512, 64*mib).Like("4KiB").Where("a multiple of 512 bytes", func(n int64) bool { return n%512 == 0 }),
		func(p *Params) *int64 { return &p.BS }),
	field.Of("jobs", "threads that do I/O at the same time", field.Count(1, 1024),
		func(p *Params) *int { return &p.Jobs }),
	field.Of("iodepth", "I/Os that each job keeps in flight", field.Count(1, 4096),
		func(p *Params) *int { return &p.IODepth }),
	field.Of("size", "bytes of the one file, or of the region of a raw device, that all jobs share; a multiple of bs",
		field.Size(512, pib), func(p *Params) *int64 { return &p.Size }),
	field.Of("direct", "O_DIRECT: bypass the page cache", field.Switch, func(p *Params) *bool { return &p.Direct }),
	field.Of("engine", "how I/O is submitted; psync and pvsync2 do one I/O at a time",
		field.OneOf("libaio", "io_uring", "psync", "pvsync2"), func(p *Params) *string { return &p.Engine }),
	field.Of("rwmixread", "percentage of reads of randrw and rw", field.Count(1, 99).Like("70"),
		func(p *Params) *int { return &p.RWMixRead }),
	field.Of("cache", "what the page cache holds when a trial begins: nothing of the file, or what is left of it after "+
		"it was read once from start to end; without direct only",
		field.OneOf("cold", warm), func(p *Params) *string { return &p.Cache }),
	field.Of("thinktime", "time that each job waits after an I/O before it asks for the next, as a client does; none "+
		"unless given", span(time.Millisecond, "5ms"), func(p *Params) *time.Duration { return &p.ThinkTime }),
	field.Of("rate", "requests per second of all jobs together, due at random times whether or not those before are "+
		"done (an open loop, by fio's rate_iops and rate_process=poisson); a multiple of jobs. Without it each job keeps "+
		"iodepth requests in flight", field.Rate(1, 1e6).Like("20k"), func(p *Params) *float64 { return &p.Rate }),
	field.Of("fsync", "number of writes after which a job calls fsync, which counts as an operation; never unless given",
		field.Count(1, 1_000_000), func(p *Params) *int { return &p.Fsync }),
	field.Of("fdatasync", "the same with fdatasync, which leaves out metadata that no read needs",
		field.Count(1, 1_000_000), func(p *Params) *int { return &p.Fdatasync }),
	field.Of("runtime", "measured time; overrides the experiment's",
		span(minRuntime, "30s"), func(p *Params) *time.Duration { return &p.Runtime }),
	field.Maybe("ramp", "time before the measured time; overrides the experiment's",
		span(0, "5s"), func(p *Params) **time.Duration { return &p.Ramp }),
	field.Of("file", "a fio job file to run, relative to the experiment file; excludes every other option but env",
		field.Text("the name of a job file", "my.fio", func(text string) bool { return text != "" }),
		func(p *Params) *string { return &p.File }),
	field.Nested("env", "values of ${NAME} in the job file", envSchema, readEnv),
}

// span is a time that fio counts.
func span(low time.Duration, example string) field.Kind[time.Duration] {
	return field.Duration(low, maxRuntime).Like(example).Where("in whole milliseconds",
		func(d time.Duration) bool { return d%time.Millisecond == 0 })
}

// schema describes the options to editors.
func schema() *jsonschema.Schema {
	p := defaults()
	return options.Schema(&p)
}

func envSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}}
}

func readEnv(r *field.Reader, p *Params, n *yaml.Node, _ string) bool {
	if n.Kind != yaml.MappingNode || n.Decode(&p.Env) != nil {
		r.Problem(n, "env takes values by name, not "+field.Describe(n),
			"write {NAME: VALUE} for each ${NAME} of the job file")
		return false
	}
	return true
}

func defaults() Params {
	return Params{BS: 4 * kib, Jobs: 1, IODepth: 1, Direct: true, Engine: "libaio", RWMixRead: 50, Cache: "cold"}
}

// warm is Params.Cache of a file that is read before a trial.
const warm = "warm"

// maxJobRate is the most requests per second of one job: fio counts the time between two of them in whole
// microseconds, so that faster ones would come more often than asked.
const maxJobRate = 5000

// maxBuffers bounds the memory that fio's I/O buffers may take.
const maxBuffers = 16 * gib

// mixed reports whether a pattern has reads and writes.
func mixed(rw string) bool { return rw == "rw" || rw == "randrw" }

// writes reports whether a pattern has writes.
func writes(rw string) bool { return rw != "read" && rw != "randread" }

// sequential reports whether a pattern is sequential.
func sequential(rw string) bool { return !strings.HasPrefix(rw, "rand") }

// synchronous reports whether an engine does one I/O at a time, regardless of iodepth.
func synchronous(engine string) bool { return engine == "psync" || engine == "pvsync2" }

// sync is an option by which a job makes its writes durable.
type sync struct {
	key      string
	interval int // writes; 0 for never
}

// syncs returns the options by which a job makes its writes durable, whether they are given or not.
func (p Params) syncs() []sync { return []sync{{"fsync", p.Fsync}, {"fdatasync", p.Fdatasync}} }

// summary is the workload in one line.
func (p Params) summary() string {
	rw := p.RW
	if mixed(rw) {
		rw += fmt.Sprintf(" (%d%% reads)", p.RWMixRead)
	}
	text := fmt.Sprintf("%s %s, %s, %s, %s", rw, formatSize(p.BS), parallelism(p.Jobs, p.IODepth), p.Engine,
		directOrBuffered(p.Direct))
	if p.Cache == warm {
		text += ", cache warm"
	}
	if p.Rate > 0 {
		text += fmt.Sprintf(", %v/s poisson", p.Rate)
	}
	for _, s := range p.syncs() {
		if s.interval == 1 {
			text += ", " + s.key + " after each write"
		} else if s.interval > 1 {
			text += fmt.Sprintf(", %s after every %d writes", s.key, s.interval)
		}
	}
	if p.ThinkTime > 0 {
		text += fmt.Sprintf(", %s between I/Os", p.ThinkTime)
	}
	return text
}

func parallelism(jobs, depth int) string {
	if jobs == 1 {
		return fmt.Sprintf("1 job x depth %d", depth)
	}
	return fmt.Sprintf("%d jobs x depth %d", jobs, depth)
}

func directOrBuffered(direct bool) string {
	if direct {
		return "direct"
	}
	return "buffered"
}

// region is the part of the file that one job uses. Random jobs share all of
// it, so that they meet each other as the threads of a database do. A
// sequential job has a part of its own, because jobs that read the same bytes
// one shortly after another would serve each other.
func (p Params) region() int64 {
	if sequential(p.RW) {
		return p.Size / int64(p.Jobs) / p.BS * p.BS
	}
	return p.Size
}
