package ycsb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/field"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Params are the parameters of a workload in an experiment file: of YCSB, and of TPC-C.
type Params struct {
	Workload      string
	Mix           Mix // in place of the workload's
	Records       int64
	Fields        int
	FieldSize     int64
	Distribution  Distribution // in place of the workload's
	HotSet        float64
	HotOperations float64
	MaxScan       int
	ReadFields    string
	UpdateFields  string
	Cache         string
	Threads       int
	Think         time.Duration
	Rate          float64
	Arrivals      string
	Timeout       time.Duration
	Retries       int
	Seed          *uint64        // nil for another one in each trial
	Runtime       time.Duration  // 0: the experiment's
	Ramp          *time.Duration // nil: the experiment's

	Warehouses int  // of TPC-C; 0 for records
	Check      bool // TPC-C's data is looked at after each trial
}

// anyShare is a part of a whole, which may be all or nothing of it.
var anyShare = field.Share("20%", "from 0% to 100%", func(share float64) bool { return share >= 0 && share <= 1 })

// parameters are all keys of YCSB, in the order of the documentation.
var parameters = field.Table[decoder]{
	field.Of("workload", "YCSB's own: A half updates, B 5% updates, C reads alone, D reads of what was inserted last, E "+
		"short scans, F read-modify-writes; or cassandra-stress's writes or reads; or give a mix",
		field.OneOf(slices.Sorted(maps.Keys(presets))...), func(d *decoder) *string { return &d.Workload }),
	field.Nested("mix", "share of each operation, which add up to 100%; in place of the workload's", mixSchema, readMix),
	field.Of("records", "that the database holds when a trial begins", field.Whole(1, database.MaxRecords).Like("1000000"),
		func(d *decoder) *int64 { return &d.Records }),
	field.Of("fields", "of a record", field.Count(1, database.MaxFields), func(d *decoder) *int { return &d.Fields }),
	field.Of("field-size", "bytes of a field", field.Size(1, database.MaxRecordBytes).Like("100"),
		func(d *decoder) *int64 { return &d.FieldSize }),
	field.Of("distribution", "which records are asked for; the workload's own unless given, and uniform for a mix",
		field.OneOf(distributions...), func(d *decoder) *Distribution { return &d.Distribution }),
	field.Of("hot-set", "share of the records that are hot; hotspot only", anyShare,
		func(d *decoder) *float64 { return &d.HotSet }),
	field.Of("hot-operations", "share of the operations that are about hot records; hotspot only", anyShare.Like("80%"),
		func(d *decoder) *float64 { return &d.HotOperations }),
	field.Of("max-scan", "most records that a scan reads; each reads 1 to this number, all equally often",
		field.Count(1, maxScan).Like("100"), func(d *decoder) *int { return &d.MaxScan }),
	field.Of("cache", "whether the page cache of an instance holds what it has room for of the data when its server "+
		"starts, or nothing", field.OneOf(warm, cold), func(d *decoder) *string { return &d.Cache }),
	field.Of("read-fields", "what a read or scan reads of a record", field.OneOf(allRecords, oneField),
		func(d *decoder) *string { return &d.ReadFields }),
	field.Of("update-fields", "what an update writes of a record", field.OneOf(allRecords, oneField),
		func(d *decoder) *string { return &d.UpdateFields }),
	field.Of("threads", "connections, each with one operation at a time; 64 unless given where there is a rate",
		field.Count(1, maxThreads), func(d *decoder) *int { return &d.Threads }),
	field.Of("think", "time that each thread waits after an operation before its next; none unless given",
		field.Duration(time.Microsecond, maxTime).Like("5ms"), func(d *decoder) *time.Duration { return &d.Think }),
	field.Of("rate", "operations per second that begin whatever the server does (an open loop); latencies then count "+
		"from when they were to begin. Without it each thread waits for its answer (a closed loop)",
		field.Rate(0.001, maxRate).Like("20k"), func(d *decoder) *float64 { return &d.Rate }),
	field.Of("arrivals", "how operations of a rate follow each other", field.OneOf(poisson, constant),
		func(d *decoder) *string { return &d.Arrivals }),
	field.Of("timeout", "after which an attempt counts as an error", field.Duration(minTime, maxTime).Like("5s"),
		func(d *decoder) *time.Duration { return &d.Timeout }),
	field.Of("retries", "attempts after the first before an operation counts as an error",
		field.Count(0, maxRetries), func(d *decoder) *int { return &d.Retries }),
	field.Maybe("seed", "of the operations; another in each trial unless given", field.Seed,
		func(d *decoder) **uint64 { return &d.Seed }),
	field.Of("runtime", "measured time; overrides the experiment's",
		field.Duration(minRuntime, maxTime).Like("30s"), func(d *decoder) *time.Duration { return &d.Runtime }),
	field.Maybe("ramp", "time before the measured time; overrides the experiment's",
		field.Duration(0, maxTime).Like("5s"), func(d *decoder) **time.Duration { return &d.Ramp }),
	field.Nested("database", "what serves the records, with its parameters; the first that there is unless given",
		databaseSchema, nameDatabase),
}

// minRuntime is the least that a trial may last.
const minRuntime = 100 * time.Millisecond

// nameDatabase keeps the database for when all else is read.
func nameDatabase(_ *field.Reader, d *decoder, n *yaml.Node, _ string) bool {
	d.named = n
	return true
}

// mixSchema describes a mix.
func mixSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
	for _, name := range ofRecords {
		s.Properties.Set(name, anyShare.Schema())
	}
	return s
}

// databaseSchema describes a database: exactly one of the known kinds.
func databaseSchema() *jsonschema.Schema {
	limit := uint64(1)
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), MaxProperties: &limit,
		AdditionalProperties: jsonschema.FalseSchema}
	for _, k := range database.All() {
		// Without parameters of its own a database may stand there by its name alone.
		s.Properties.Set(k.Name, &jsonschema.Schema{Description: k.Summary,
			AnyOf: []*jsonschema.Schema{k.Schema(), {Type: "null"}}})
	}
	return s
}

const (
	allRecords = "all"
	oneField   = "one"

	warm = "warm"
	cold = "cold"

	poisson  = "poisson"
	constant = "constant"
)

func defaults() Params {
	return Params{Fields: 10, FieldSize: 100, HotSet: 0.2, HotOperations: 0.8, MaxScan: 100, ReadFields: allRecords,
		UpdateFields: oneField, Cache: warm, Threads: 1, Arrivals: poisson, Timeout: 5 * time.Second}
}

// openThreads are the connections of an open loop that does not say.
const openThreads = 64

// valueSeed is the seed of the values in the dataset: workloads with records of one size share them.
const valueSeed = 1

// mix returns the share of each operation.
func (p *Params) mix() Mix {
	switch {
	case p.Warehouses > 0:
		return tpccMix
	case len(p.Mix) > 0:
		return p.Mix
	}
	return presets[p.Workload].mix
}

// distribution returns the distribution of requests over records.
func (p *Params) distribution() Distribution {
	switch preset, ok := presets[p.Workload]; {
	case p.Distribution != "":
		return p.Distribution
	case ok:
		return preset.distribution
	}
	return Uniform
}

// dataset returns the server's data at the beginning of a trial.
func (p *Params) dataset() database.Dataset {
	if p.Warehouses > 0 {
		return database.TPCC(p.Warehouses)
	}
	return database.Dataset{Records: p.Records, Fields: p.Fields, FieldBytes: int(p.FieldSize), Seed: valueSeed}
}

// plan returns what all steps share.
func (p *Params) plan() Plan {
	plan := Plan{
		Dataset: p.dataset(), Mix: p.mix(), Distribution: p.distribution(),
		ReadOne: p.ReadFields == oneField, UpdateAll: p.UpdateFields == allRecords, Threads: p.Threads,
		Think: p.Think, Rate: p.Rate, Constant: p.Rate > 0 && p.Arrivals == constant,
		Timeout: p.Timeout, Retries: p.Retries, Fresh: p.Seed == nil, Output: outputName,
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
		units.FormatSize(int64(p.Fields)*p.FieldSize), p.distribution())
	if p.Rate > 0 {
		return fmt.Sprintf("%s, %v/s %s on %s", text, p.Rate, p.Arrivals, plural.Count(p.Threads, "connection"))
	}
	text += ", " + plural.Count(p.Threads, "thread")
	if p.Think > 0 {
		text += fmt.Sprintf(", %s between operations", p.Think)
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
