package fio

import (
	"fmt"
	"strings"
	"time"
)

// Params are the options of fio in an experiment file. The JSON Schema of
// experiment files is made from it.
type Params struct {
	RW        string   `yaml:"rw,omitempty" jsonschema:"enum=randread,enum=randwrite,enum=read,enum=write,enum=randrw,enum=rw" jsonschema_description:"access pattern; randrw and rw mix reads and writes"`
	BS        Size     `yaml:"bs,omitempty" jsonschema:"oneof_type=string;integer,default=4KiB,example=4KiB" jsonschema_description:"block size, a multiple of 512 bytes up to 64 MiB"`
	Jobs      int      `yaml:"jobs,omitempty" jsonschema:"minimum=1,maximum=1024,default=1" jsonschema_description:"threads that do I/O at the same time"`
	IODepth   int      `yaml:"iodepth,omitempty" jsonschema:"minimum=1,maximum=4096,default=1" jsonschema_description:"I/Os that each job keeps in flight"`
	Size      Size     `yaml:"size,omitempty" jsonschema:"oneof_type=string;integer,example=1GiB" jsonschema_description:"bytes of the one file, or of the region of a raw device, that all jobs share; a multiple of bs"`
	Direct    bool     `yaml:"direct,omitempty" jsonschema:"default=true" jsonschema_description:"O_DIRECT: bypass the page cache"`
	Engine    string   `yaml:"engine,omitempty" jsonschema:"enum=libaio,enum=io_uring,enum=psync,enum=pvsync2,default=libaio" jsonschema_description:"how I/O is submitted; psync and pvsync2 do one I/O at a time"`
	RWMixRead int      `yaml:"rwmixread,omitempty" jsonschema:"minimum=1,maximum=99,default=50" jsonschema_description:"percentage of reads of randrw and rw"`
	Cache     string   `yaml:"cache,omitempty" jsonschema:"enum=cold,enum=warm,default=cold" jsonschema_description:"what the page cache holds when a trial begins: nothing of the file, or what is left of it after it was read once from start to end; without direct only"`
	ThinkTime Duration `yaml:"thinktime,omitempty" jsonschema:"oneof_type=string;integer,example=5ms" jsonschema_description:"time that each job waits after an I/O before it asks for the next, as a client does; none unless given"`
	Runtime   Duration `yaml:"runtime,omitempty" jsonschema:"oneof_type=string;integer,example=30s" jsonschema_description:"measured time; overrides the experiment's"`
	Ramp      Duration `yaml:"ramp,omitempty" jsonschema:"oneof_type=string;integer,example=5s" jsonschema_description:"time before the measured time; overrides the experiment's"`
	File      string   `yaml:"file,omitempty" jsonschema:"example=my.fio" jsonschema_description:"a fio job file to run as it is, relative to the experiment file; excludes every other option"`
}

// Duration is a time span. In YAML it is text such as "10s", or a whole
// number of seconds.
type Duration time.Duration

var (
	patterns = []string{"randread", "randwrite", "read", "write", "randrw", "rw"}
	engines  = []string{"libaio", "io_uring", "psync", "pvsync2"}
	caches   = []string{"cold", warm}
)

func defaults() Params {
	return Params{BS: Size(4 * kib), Jobs: 1, IODepth: 1, Direct: true, Engine: "libaio", RWMixRead: 50, Cache: "cold"}
}

// warm is Params.Cache of a file that is read before a trial.
const warm = "warm"

// maxBuffers bounds the memory that fio's I/O buffers may take.
const maxBuffers = 16 * gib

// mixed tells whether a pattern has reads and writes.
func mixed(rw string) bool { return rw == "rw" || rw == "randrw" }

// sequential tells whether a pattern walks through the file.
func sequential(rw string) bool { return !strings.HasPrefix(rw, "rand") }

// synchronous tells whether an engine does one I/O at a time, whatever
// iodepth says.
func synchronous(engine string) bool { return engine == "psync" || engine == "pvsync2" }

// summary is the workload in one line.
func (p Params) summary() string {
	rw := p.RW
	if mixed(rw) {
		rw += fmt.Sprintf(" (%d%% reads)", p.RWMixRead)
	}
	text := fmt.Sprintf("%s %s, %s, %s, %s", rw, p.BS, parallelism(p.Jobs, p.IODepth), p.Engine,
		directOrBuffered(p.Direct))
	if p.Cache == warm {
		text += ", cache warm"
	}
	if p.ThinkTime > 0 {
		text += fmt.Sprintf(", %s between I/Os", time.Duration(p.ThinkTime))
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
		return int64(p.Size) / int64(p.Jobs) / int64(p.BS) * int64(p.BS)
	}
	return int64(p.Size)
}
