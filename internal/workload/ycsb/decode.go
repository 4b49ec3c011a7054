package ycsb

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/workload"
)

// Kind is YCSB's entry in the table of workloads.
var Kind = workload.Kind{
	Name:    name,
	Summary: "YCSB: reads, updates, inserts and scans of a database's records",
	Decode: func(node *yaml.Node, _ func(string) ([]byte, error)) (workload.Workload, problem.List) {
		return decode(node, database.All())
	},
	Schema: func() *jsonschema.Schema { return parameters.Schema(&decoder{Params: defaults()}) },
}

// decode reads the YAML below the key "ycsb". It goes on after a problem, so that
// all of them come at once.
func decode(node *yaml.Node, databases []database.Kind) (workload.Workload, problem.List) {
	d := newDecoder(name, databases)
	if node.Kind != yaml.MappingNode {
		d.Problem(node, "ycsb needs parameters", "write them below it, for example: {workload: C, records: 1000000}")
		return nil, d.Problems
	}
	d.read(node)
	d.check(node)
	d.database(node)
	if len(d.Problems) > 0 {
		return nil, d.Problems.Sorted()
	}
	return d.driven(node)
}

// driven returns the workload that was read.
func (d *decoder) driven(node *yaml.Node) (workload.Workload, problem.List) {
	declared, err := yaml.Marshal(node)
	if err != nil {
		d.Problem(node, "these parameters of "+d.kindName+" cannot be written back: "+err.Error(), "")
		return nil, d.Problems
	}
	w := &driven{Params: d.Params, name: d.kindName, server: d.server, kind: d.kind, databases: d.databases,
		declared: string(declared)}
	w.abilities = sync.OnceValue(w.newAbilities)
	if w.elsewhere() && w.makes() == "" && !w.readOnly() {
		d.Problem(node, "it writes to records that are not its own: what is there already is only read",
			"take a workload that reads, such as C; or have a schema made for it, with load: true")
		return nil, d.Problems
	}
	if w.elsewhere() && w.Check {
		d.Problem(node, "check looks at a server that no other client writes to, and this one is external",
			"leave check out")
		return nil, d.Problems
	}
	if most, ok := d.server.(database.ClientLimiter); ok && d.Threads > most.MostClients() {
		d.Problem(node, fmt.Sprintf("%d threads are more clients than its server takes, which are %d", d.Threads,
			most.MostClients()), "raise max_connections, or lower threads")
		return nil, d.Problems
	}
	return w, nil
}

// decoder collects parameters and problems.
type decoder struct {
	Params
	field.Reader
	field.Given
	kindName  string // of workload: "ycsb"
	databases []database.Kind
	named     *yaml.Node // the value of database; nil where it is not given
	server    database.Server
	kind      database.Kind
}

func newDecoder(kind string, databases []database.Kind) *decoder {
	d := &decoder{Params: defaults(), kindName: kind, databases: databases}
	if kind == tpcc {
		d.Params = tpccDefaults()
	}
	return d
}

// read reads every key, known or not.
func (d *decoder) read(node *yaml.Node) {
	table := parameters
	if d.kindName == tpcc {
		table = tpccParameters
	}
	d.Given = table.Decode(&d.Reader, node, d.kindName, d)
}

func (d *decoder) problem(key, what, remedy string) { d.Problems.InLine(d.Line[key], what, remedy) }

// readMix reads the share of each operation.
func readMix(r *field.Reader, d *decoder, node *yaml.Node, _ string) bool {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		r.Problem(node, "mix needs the share of each operation", "write mix: {read: 95%, update: 5%}")
		return false
	}
	before, sum := len(r.Problems), 0.0
	mix, read := Mix{}, map[string]func(*yaml.Node){}
	for _, operation := range ofRecords {
		read[operation] = func(n *yaml.Node) {
			share, _ := field.Value(r, n, operation+" of mix", anyShare)
			mix[operation] = share
			sum += share
		}
	}
	r.Mapping(node, "mix", read)
	if len(r.Problems) == before && math.Abs(sum-1) > 1e-6 {
		r.Problem(node, fmt.Sprintf("mix: the shares add up to %s, not to 100%%",
			anyShare.Format(math.Round(sum*1e6)/1e6)), "")
	}
	if len(r.Problems) > before {
		return false
	}
	d.Mix = mix
	return true
}

// check checks parameters against each other. Those that could not be read have their defaults here, so that one
// mistake causes one problem.
func (d *decoder) check(node *yaml.Node) {
	p := &d.Params
	if !d.Has("workload") && !d.Has("mix") {
		d.Problem(node, "ycsb lacks a workload",
			"write workload: A, B, C, D, E, F, stress-write or stress-read; or a mix of your own")
	}
	if !d.Has("records") {
		d.Problem(node, "ycsb lacks records",
			"write how many the database holds; more than every cache that is not to answer")
	}
	if err := p.dataset().Check(); err != nil && d.Good["records"] {
		d.Problem(node, err.Error(), "")
	}
	d.checkPace()
	if presets[p.Workload].updatesAllFields && !d.Has("update-fields") {
		p.UpdateFields = allRecords
	}
	mix := p.mix()
	readable := len(mix) > 0
	if d.Has("max-scan") && readable && mix[Scan] == 0 {
		d.problem("max-scan", "max-scan has no effect: there are no scans", "leave it out, or add scans to the mix")
	}
	if d.Has("update-fields") && readable && mix[Update]+mix[ReadModifyWrite] == 0 {
		d.problem("update-fields", "update-fields has no effect without updates", "leave it out")
	}
	if d.Has("read-fields") && readable && mix[Read]+mix[Scan]+mix[ReadModifyWrite] == 0 {
		d.problem("read-fields", "read-fields has no effect without reads", "leave it out")
	}
	for _, key := range []string{"hot-set", "hot-operations"} {
		if d.Has(key) && p.distribution() != Hotspot {
			d.problem(key, fmt.Sprintf("%s has no effect on %s", key, p.distribution()),
				"leave it out, or write distribution: hotspot")
		}
	}
}

// checkPace checks the parameters that set the rate of operations.
func (d *decoder) checkPace() {
	open := d.Has("rate")
	if open && !d.Has("threads") {
		d.Threads = openThreads
	}
	if open && d.Has("think") {
		d.problem("think", "think does not go with rate: operations begin when their time has come",
			"leave one of both out")
	}
	if d.Has("arrivals") && !open {
		d.problem("arrivals", "arrivals has no effect without rate", "leave it out, or write a rate")
	}
}

// database reads the kind of server and its parameters.
func (d *decoder) database(parent *yaml.Node) {
	known := make([]string, len(d.databases))
	for i, k := range d.databases {
		known[i] = k.Name
	}
	switch node := d.named; {
	case len(known) == 0:
		d.Problem(parent, d.kindName+" has no database: this build knows none", "")
	case node == nil:
		d.serve(d.databases[0], nil)
	case node.Kind == yaml.ScalarNode && slices.Contains(known, node.Value):
		d.serve(d.databases[slices.Index(known, node.Value)], nil)
	case node.Kind != yaml.MappingNode || len(node.Content) != 2:
		d.Problem(node, "database needs one database with its parameters",
			fmt.Sprintf("write database: {%s: {}}; there are %s", known[0], strings.Join(known, ", ")))
	default:
		key, value := node.Content[0], node.Content[1]
		i := slices.Index(known, key.Value)
		if i < 0 {
			d.Problem(key, fmt.Sprintf("unknown database %q", key.Value), suggest.DidYouMean(key.Value, known))
			return
		}
		if value.Kind == yaml.ScalarNode && value.Value == "" { // also of nothing that was written back as ""
			value = nil
		}
		d.serve(d.databases[i], value)
	}
}

func (d *decoder) serve(k database.Kind, node *yaml.Node) {
	server, problems := k.Decode(node)
	d.Problems = append(d.Problems, problems...)
	d.kind, d.server = k, server
}
