package ycsb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"plimsoll/internal/database"
	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

// Params are the parameters of a YCSB workload in an experiment file. The JSON
// Schema of experiment files is made from it.
type Params struct {
	Workload      string   `yaml:"workload,omitempty" jsonschema:"enum=A,enum=B,enum=C,enum=D,enum=E,enum=F,enum=stress-write,enum=stress-read" jsonschema_description:"YCSB's own: A half updates, B 5% updates, C reads alone, D reads of what was inserted last, E short scans, F read-modify-writes; or cassandra-stress's writes or reads; or give a mix"`
	Mix           MixParam `yaml:"mix,omitempty" jsonschema_description:"share of each operation, which add up to 1; in place of the workload's"`
	Records       int64    `yaml:"records,omitempty" jsonschema:"minimum=1,example=1000000" jsonschema_description:"that the database holds when a trial begins"`
	Fields        int      `yaml:"fields,omitempty" jsonschema:"minimum=1,maximum=1024,default=10" jsonschema_description:"of a record"`
	FieldSize     Size     `yaml:"field-size,omitempty" jsonschema:"oneof_type=string;integer,default=100,example=100" jsonschema_description:"bytes of a field"`
	Distribution  string   `yaml:"distribution,omitempty" jsonschema:"enum=uniform,enum=zipfian,enum=latest,enum=hotspot,enum=sequential,enum=gaussian" jsonschema_description:"which records are asked for; the workload's own unless given, and uniform for a mix"`
	HotSet        float64  `yaml:"hot-set,omitempty" jsonschema:"minimum=0,maximum=1,default=0.2" jsonschema_description:"share of the records that are hot; hotspot only"`
	HotOperations float64  `yaml:"hot-operations,omitempty" jsonschema:"minimum=0,maximum=1,default=0.8" jsonschema_description:"share of the operations that are about hot records; hotspot only"`
	MaxScan       int      `yaml:"max-scan,omitempty" jsonschema:"minimum=1,maximum=1048576,default=100" jsonschema_description:"records that the longest scans read; each reads 1 to so many, all as often"`
	ReadFields    string   `yaml:"read-fields,omitempty" jsonschema:"enum=all,enum=one,default=all" jsonschema_description:"what a read or scan reads of a record"`
	UpdateFields  string   `yaml:"update-fields,omitempty" jsonschema:"enum=all,enum=one,default=one" jsonschema_description:"what an update writes of a record"`
	Cache         string   `yaml:"cache,omitempty" jsonschema:"enum=warm,enum=cold,default=warm" jsonschema_description:"whether the page cache of an instance holds what it has room for of the data when its server starts, or nothing"`
	Threads       int      `yaml:"threads,omitempty" jsonschema:"minimum=1,maximum=4096,default=1" jsonschema_description:"connections, each with one operation at a time; 64 unless given where there is a rate"`
	Think         Duration `yaml:"think,omitempty" jsonschema:"oneof_type=string;integer,example=5ms" jsonschema_description:"time that each thread waits after an operation before its next; none unless given"`
	Rate          float64  `yaml:"rate,omitempty" jsonschema:"exclusiveMinimum=0,maximum=10000000,example=20000" jsonschema_description:"operations per second that begin whatever the server does (an open loop); latencies then count from when they were to begin. Without it each thread waits for its answer (a closed loop)"`
	Arrivals      string   `yaml:"arrivals,omitempty" jsonschema:"enum=poisson,enum=constant,default=poisson" jsonschema_description:"how operations of a rate follow each other"`
	Timeout       Duration `yaml:"timeout,omitempty" jsonschema:"oneof_type=string;integer,default=5s,example=5s" jsonschema_description:"after which an attempt counts as an error"`
	Retries       int      `yaml:"retries,omitempty" jsonschema:"minimum=0,maximum=100,default=0" jsonschema_description:"attempts after the first before an operation counts as an error"`
	Seed          *uint64  `yaml:"seed,omitempty" jsonschema_description:"of the operations; another in each trial unless given"`
	Runtime       Duration `yaml:"runtime,omitempty" jsonschema:"oneof_type=string;integer,example=30s" jsonschema_description:"measured time; overrides the experiment's"`
	Ramp          Duration `yaml:"ramp,omitempty" jsonschema:"oneof_type=string;integer,example=5s" jsonschema_description:"time before the measured time; overrides the experiment's"`
	Database      Database `yaml:"database,omitempty" jsonschema_description:"what serves the records, with its parameters; the first that there is unless given"`
}

// Size is a number of bytes in YAML: a whole number, or text such as "1KiB".
type Size int64

// Duration is a time in YAML: text such as "5ms", or a whole number of seconds.
type Duration time.Duration

// MixParam is the share of each operation, by its name.
type MixParam map[string]float64

// Database is one database with its parameters.
type Database map[string]any

// JSONSchema describes a mix.
func (MixParam) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
	for _, name := range ofRecords {
		share := &jsonschema.Schema{Type: "number", Minimum: json.Number("0"), Maximum: json.Number("1")}
		s.Properties.Set(name, orLevel(share))
	}
	return s
}

// JSONSchema describes a database: exactly one of those that there are.
func (Database) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), MaxProperties: &one,
		AdditionalProperties: jsonschema.FalseSchema}
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, FieldNameTag: "yaml",
		RequiredFromJSONSchemaTags: true}
	for _, k := range database.All() {
		params := r.Reflect(k.Params)
		params.Version = "" // said once, at the root
		if params.Description == "" {
			params.Description = k.Summary
		}
		for pair := params.Properties.Oldest(); pair != nil; pair = pair.Next() {
			pair.Value = orLevel(pair.Value)
		}
		// Without parameters of its own a database may stand there by its name alone.
		s.Properties.Set(k.Name, &jsonschema.Schema{Description: params.Description,
			AnyOf: []*jsonschema.Schema{params, {Type: "null"}}})
	}
	return s
}

// orLevel admits the level of a factor in place of a value.
func orLevel(value *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Description: value.Description,
		AnyOf: []*jsonschema.Schema{value, {Type: "string", Pattern: `\$[A-Za-z{]`}}}
}

const (
	all = "all"
	one = "one"

	warm = "warm"
	cold = "cold"

	poisson  = "poisson"
	constant = "constant"
)

func defaults() Params {
	return Params{Fields: 10, FieldSize: 100, HotSet: 0.2, HotOperations: 0.8, MaxScan: 100, ReadFields: all,
		UpdateFields: one, Cache: warm, Threads: 1, Arrivals: poisson, Timeout: Duration(5 * time.Second)}
}

// openThreads are the connections of an open loop that does not say.
const openThreads = 64

// valueSeed is that of the values in the dataset: workloads that ask for records of
// one size share them.
const valueSeed = 1

// mix returns the share of each operation.
func (p *Params) mix() Mix {
	if len(p.Mix) > 0 {
		return Mix(p.Mix)
	}
	return presets[p.Workload].mix
}

// distribution returns which records are asked for.
func (p *Params) distribution() Distribution {
	switch preset, ok := presets[p.Workload]; {
	case p.Distribution != "":
		return Distribution(p.Distribution)
	case ok:
		return preset.distribution
	}
	return Uniform
}

func (p *Params) dataset() database.Dataset {
	return database.Dataset{Records: p.Records, Fields: p.Fields, FieldBytes: int(p.FieldSize), Seed: valueSeed}
}

// plan returns what all steps share.
func (p *Params) plan() Plan {
	plan := Plan{
		Dataset: p.dataset(), Mix: p.mix(), Distribution: p.distribution(),
		ReadOne: p.ReadFields == one, UpdateAll: p.UpdateFields == all, Threads: p.Threads,
		Think: time.Duration(p.Think), Rate: p.Rate, Constant: p.Rate > 0 && p.Arrivals == constant,
		Timeout: time.Duration(p.Timeout), Retries: p.Retries, Fresh: p.Seed == nil, Output: outputName,
	}
	if p.Seed != nil {
		plan.Seed = *p.Seed
	}
	if plan.Distribution == Hotspot {
		plan.HotSet, plan.HotOperations = p.HotSet, p.HotOperations
	}
	if plan.Mix[Scan] > 0 {
		plan.MaxScan = p.MaxScan
	}
	return plan
}

// summary is the workload in one line: "YCSB C, 1,000,000 x 1000 B, zipfian, 8
// threads, 5ms think time".
func (p *Params) summary(title string) string {
	text := "YCSB"
	if p.Workload != "" {
		text += " " + p.Workload
	}
	if len(p.Mix) > 0 {
		text += " (" + p.mix().String() + ")"
	}
	text += fmt.Sprintf(" on %s, %d records of %s, %s", title, p.Records,
		units.FormatSize(int64(p.Fields)*int64(p.FieldSize)), p.distribution())
	if p.Rate > 0 {
		return fmt.Sprintf("%s, %v/s %s on %s", text, p.Rate, p.Arrivals, plural.Count(p.Threads, "connection"))
	}
	text += ", " + plural.Count(p.Threads, "thread")
	if p.Think > 0 {
		text += fmt.Sprintf(", %s between operations", time.Duration(p.Think))
	}
	return text
}

// String is the mix in words: "95% read, 5% update".
func (m Mix) String() string {
	var parts []string
	for _, name := range Names {
		if m[name] > 0 {
			parts = append(parts, units.Percent(m[name])+" "+name)
		}
	}
	return strings.Join(slices.Clip(parts), ", ")
}
