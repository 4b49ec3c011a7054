package ycsb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/plural"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// TPCC is TPC-C's entry in the table of workloads. It asks servers as YCSB does, for
// transactions instead of records.
var TPCC = workload.Kind{
	Name:    tpcc,
	Summary: "TPC-C: the transactions of a wholesale supplier on a relational database",
	Decode: func(node *yaml.Node, _ func(string) ([]byte, error)) (workload.Workload, problem.List) {
		return decodeTPCC(node, database.All())
	},
	Params: TPCCParams{},
}

const tpcc = "tpcc"

// TPCCParams are the parameters of a TPC-C workload in an experiment file, for the JSON Schema.
type TPCCParams struct {
	Warehouses int      `yaml:"warehouses" jsonschema:"minimum=1,maximum=100000,example=10" jsonschema_description:"that the database holds when a trial begins, of about 100 MB each"`
	Threads    int      `yaml:"threads,omitempty" jsonschema:"minimum=1,maximum=4096,default=1" jsonschema_description:"virtual users, each with a connection and one transaction at a time; 64 unless given where there is a rate"`
	Think      Duration `yaml:"think,omitempty" jsonschema:"oneof_type=string;integer,example=60ms" jsonschema_description:"time that each waits after a transaction before the next; none unless given"`
	Rate       float64  `yaml:"rate,omitempty" jsonschema:"exclusiveMinimum=0,maximum=10000000,example=100" jsonschema_description:"transactions per second that begin whatever the server does (an open loop)"`
	Arrivals   string   `yaml:"arrivals,omitempty" jsonschema:"enum=poisson,enum=constant,default=poisson" jsonschema_description:"how transactions of a rate follow each other"`
	Cache      string   `yaml:"cache,omitempty" jsonschema:"enum=warm,enum=cold,default=cold" jsonschema_description:"whether the page cache of an instance holds what it has room for of the data when its server starts, or nothing"`
	Check      bool     `yaml:"check,omitempty" jsonschema:"default=false" jsonschema_description:"whether TPC-C's first four consistency conditions are looked at after each trial; one that does not hold fails it"`
	Timeout    Duration `yaml:"timeout,omitempty" jsonschema:"oneof_type=string;integer,default=5s,example=5s" jsonschema_description:"after which a transaction counts as an error"`
	Runtime    Duration `yaml:"runtime,omitempty" jsonschema:"oneof_type=string;integer,example=30s" jsonschema_description:"measured time; overrides the experiment's"`
	Ramp       Duration `yaml:"ramp,omitempty" jsonschema:"oneof_type=string;integer,example=5s" jsonschema_description:"time before the measured time; overrides the experiment's"`
	Database   Database `yaml:"database" jsonschema_description:"what serves the tables, with its parameters: one that speaks SQL"`
}

// tpccParameters are all keys, in the order of TPCCParams.
var tpccParameters = append([]parameter{
	{"warehouses", func(d *decoder, n *yaml.Node) error {
		return whole(func(*Params) *int { return &d.warehouses }, 1, database.MaxWarehouses)(d, n)
	}},
	{"check", func(d *decoder, n *yaml.Node) error {
		if n.Value != "true" && n.Value != "false" {
			return errors.New("write true or false")
		}
		d.checked = n.Value == "true"
		return nil
	}},
}, shared("threads", "think", "rate", "arrivals", "cache", "timeout", "runtime", "ramp", "database")...)

// shared are parameters that YCSB has too.
func shared(keys ...string) (all []parameter) {
	for _, p := range parameters {
		if slices.Contains(keys, p.key) {
			all = append(all, p)
		}
	}
	return all
}

// tpccMix is the least share of each transaction but the first (clause 5.2.3), which has the rest.
var tpccMix = Mix{NewOrder: 0.45, Payment: 0.43, OrderStatus: 0.04, Delivery: 0.04, StockLevel: 0.04}

// decodeTPCC reads the YAML below the key "tpcc".
func decodeTPCC(node *yaml.Node, databases []database.Kind) (workload.Workload, problem.List) {
	sql := slices.DeleteFunc(slices.Clone(databases), func(k database.Kind) bool { return !k.SQL })
	d := newDecoder(tpcc, tpccParameters, sql)
	d.p.Cache = cold
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		d.problem(node.Line, "tpcc needs parameters",
			"write them below it, for example: {warehouses: 10, threads: 8, database: {postgresql: {}}}")
		return nil, d.problems
	}
	d.mapping(node)
	if !d.given("warehouses") {
		d.problem(node.Line, "tpcc lacks warehouses", "write how many the database holds, of about 100 MB each")
	}
	if !d.given("database") {
		d.problem(node.Line, "tpcc lacks a database", "write one that speaks SQL, for example: database: {postgresql: {}}")
	} else {
		d.database(node.Line)
	}
	d.checkPace()
	if len(d.problems) > 0 {
		return nil, d.problems.Sorted()
	}
	return d.driven(node)
}

// dataset is what the server holds when a trial begins.
func (w *driven) dataset() database.Dataset {
	if w.warehouses > 0 {
		return database.TPCC(w.warehouses)
	}
	return w.Params.dataset()
}

// mix is the share of each operation.
func (w *driven) mix() Mix {
	if w.warehouses > 0 {
		return tpccMix
	}
	return w.Params.mix()
}

// plan returns what all steps share.
func (w *driven) plan() Plan {
	p := w.Params.plan()
	if w.warehouses > 0 {
		p.Dataset, p.Mix, p.Distribution = w.dataset(), w.mix(), Uniform
	}
	return p
}

// summary is the workload in one line.
func (w *driven) summary(title string) string {
	if w.warehouses == 0 {
		return w.Params.summary(title)
	}
	text := fmt.Sprintf("TPC-C on %s, %s", title, plural.Count(w.warehouses, "warehouse"))
	if w.Rate > 0 {
		return fmt.Sprintf("%s, %v/s %s on %s", text, w.Rate, w.Arrivals, plural.Count(w.Threads, "connection"))
	}
	text += ", " + plural.Count(w.Threads, "virtual user")
	if w.Think > 0 {
		text += fmt.Sprintf(", %s between transactions", time.Duration(w.Think))
	}
	return text
}
