package ycsb

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/units/plural"
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
	Schema: func() *jsonschema.Schema { return tpccParameters.Schema(&decoder{Params: tpccDefaults()}) },
}

const tpcc = "tpcc"

// tpccParameters are all keys, in the order of the documentation.
var tpccParameters = field.Table[decoder]{
	field.Of("warehouses", "that the database holds when a trial begins, of about 100 MB each",
		field.Count(1, database.MaxWarehouses).Like("10"), func(d *decoder) *int { return &d.Warehouses }),
	sharedParam(
		"threads",
		"virtual users, each with a connection and one transaction at a time; 64 unless given where there "+
			"is a rate",
	),
	sharedParam("think", "time that each waits after a transaction before the next; none unless given"),
	sharedParam("rate", "transactions per second that begin whatever the server does (an open loop)"),
	sharedParam("arrivals", "how transactions of a rate follow each other"),
	sharedParam("cache", ""),
	field.Of("check", "whether TPC-C's first four consistency conditions are looked at after each trial; one that does "+
		"not hold fails it", field.Switch, func(d *decoder) *bool { return &d.Check }),
	sharedParam("timeout", "after which a transaction counts as an error"),
	sharedParam("runtime", ""),
	sharedParam("ramp", ""),
	sharedParam("database", "what serves the tables, with its parameters: one that speaks SQL"),
}

// sharedParam returns a parameter that YCSB has too, with other help unless that is "".
func sharedParam(key, help string) field.Field[decoder] {
	f, _ := parameters.Find(key)
	f.Help = cmp.Or(help, f.Help)
	return f
}

func tpccDefaults() Params {
	p := defaults()
	p.Cache = cold
	return p
}

// tpccMix is the least share of each transaction but the first (clause 5.2.3), which has the rest.
var tpccMix = Mix{NewOrder: 0.45, Payment: 0.43, OrderStatus: 0.04, Delivery: 0.04, StockLevel: 0.04}

// decodeTPCC reads the YAML below the key "tpcc".
func decodeTPCC(node *yaml.Node, databases []database.Kind) (workload.Workload, problem.List) {
	sql := slices.DeleteFunc(slices.Clone(databases), func(k database.Kind) bool { return !k.SQL })
	d := newDecoder(tpcc, sql)
	if node.Kind != yaml.MappingNode {
		d.Problem(node, "tpcc needs parameters",
			"write them below it, for example: {warehouses: 10, threads: 8, database: {postgresql: {}}}")
		return nil, d.Problems
	}
	d.read(node)
	if !d.Has("warehouses") {
		d.Problem(node, "tpcc lacks warehouses", "write how many the database holds, of about 100 MB each")
	}
	if !d.Has("database") {
		d.Problem(node, "tpcc lacks a database", "write one that speaks SQL, for example: database: {postgresql: {}}")
	} else {
		d.database(node)
	}
	d.checkPace()
	if len(d.Problems) > 0 {
		return nil, d.Problems.Sorted()
	}
	return d.driven(node)
}

// summary is the workload in one line.
func (w *driven) summary(title string) string {
	if w.Warehouses == 0 {
		return w.Params.summary(title)
	}
	text := fmt.Sprintf("TPC-C on %s, %s", title, plural.Count(w.Warehouses, "warehouse"))
	if w.Rate > 0 {
		return fmt.Sprintf("%s, %v/s %s on %s", text, w.Rate, w.Arrivals, plural.Count(w.Threads, "connection"))
	}
	text += ", " + plural.Count(w.Threads, "virtual user")
	if w.Think > 0 {
		text += fmt.Sprintf(", %s between transactions", w.Think)
	}
	return text
}
