package ycsb

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/problem"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Kind is YCSB's entry in the table of workloads.
var Kind = workload.Kind{
	Name:    name,
	Summary: "YCSB: reads, updates, inserts and scans of a database's records",
	Decode: func(node *yaml.Node, _ func(string) ([]byte, error)) (workload.Workload, problem.List) {
		return decode(node, database.All())
	},
	Params: Params{},
}

// bounds of what a trial may last.
const (
	minRuntime = 100 * time.Millisecond
	maxRuntime = maxTime
)

// decode reads the YAML below the key "ycsb". It goes on after a problem, so that
// all of them come at once.
func decode(node *yaml.Node, databases []database.Kind) (workload.Workload, problem.List) {
	d := newDecoder(name, parameters, databases)
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		d.problem(node.Line, "ycsb needs parameters", "write them below it, for example: {workload: C, records: 1000000}")
		return nil, d.problems
	}
	d.mapping(node)
	d.check(node.Line)
	d.database(node.Line)
	if len(d.problems) > 0 {
		return nil, d.problems.Sorted()
	}
	return d.driven(node)
}

// driven is the workload that was read.
func (d *decoder) driven(node *yaml.Node) (workload.Workload, problem.List) {
	declared, err := yaml.Marshal(node)
	if err != nil {
		d.problem(node.Line, "these parameters of "+d.kindName+" cannot be written back: "+err.Error(), "")
		return nil, d.problems
	}
	w := &driven{Params: d.p, name: d.kindName, warehouses: d.warehouses, checked: d.checked, server: d.server,
		kind: d.kind, all: d.databases, declared: string(declared)}
	if w.elsewhere() && w.makes() == "" && !w.readOnly() {
		d.problem(node.Line, "it writes to records that are not its own: what is there already is only read",
			"take a workload that reads, such as C; or have a schema made for it, with load: true")
		return nil, d.problems
	}
	if w.elsewhere() && w.checked {
		d.problem(node.Line, "check looks at a server that nobody else writes to, and this one runs elsewhere",
			"leave check out")
		return nil, d.problems
	}
	if most, ok := d.server.(database.Connected); ok && d.p.Threads > most.MostClients() {
		d.problem(node.Line, fmt.Sprintf("%d threads are more clients than its server takes, which are %d", d.p.Threads,
			most.MostClients()), "raise max_connections, or lower threads")
		return nil, d.problems
	}
	if d.given("ramp") {
		ramp := time.Duration(d.p.Ramp)
		w.ramp = &ramp
	}
	return w, nil
}

func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func newDecoder(kind string, known []parameter, databases []database.Kind) *decoder {
	return &decoder{p: defaults(), kindName: kind, known: known, line: map[string]int{}, good: map[string]bool{},
		databases: databases}
}

// decoder collects parameters and problems.
type decoder struct {
	kindName   string      // of workload: "ycsb"
	known      []parameter // that it has
	warehouses int         // of TPC-C; 0 for none
	checked    bool        // TPC-C's data is looked at

	p         Params
	line      map[string]int  // of each parameter given
	good      map[string]bool // given, and its value could be read
	problems  problem.List
	databases []database.Kind
	named     *yaml.Node // the value of database; nil where it is not given
	server    database.Server
	kind      database.Kind
}

func (d *decoder) problem(line int, what, remedy string) {
	d.problems.InLine(line, what, remedy)
}

func (d *decoder) given(key string) bool { return d.line[key] > 0 }

// parameter is how the value of one key is read.
type parameter struct {
	key  string
	read func(*decoder, *yaml.Node) error
}

// parameters are all keys, in the order of Params and of the documentation.
var parameters = []parameter{
	{"workload", oneOf(func(p *Params) *string { return &p.Workload }, slices.Sorted(maps.Keys(presets))...)},
	{"mix", (*decoder).mix},
	{"records", whole(func(p *Params) *int64 { return &p.Records }, 1, database.MaxRecords)},
	{"fields", whole(func(p *Params) *int { return &p.Fields }, 1, database.MaxFields)},
	{"field-size", size(func(p *Params) *Size { return &p.FieldSize }, 1, database.MaxRecordBytes)},
	{"distribution", oneOf(func(p *Params) *string { return &p.Distribution }, names(distributions)...)},
	{"hot-set", number(func(p *Params) *float64 { return &p.HotSet }, 0, 1)},
	{"hot-operations", number(func(p *Params) *float64 { return &p.HotOperations }, 0, 1)},
	{"max-scan", whole(func(p *Params) *int { return &p.MaxScan }, 1, maxScan)},
	{"cache", oneOf(func(p *Params) *string { return &p.Cache }, warm, cold)},
	{"read-fields", oneOf(func(p *Params) *string { return &p.ReadFields }, all, one)},
	{"update-fields", oneOf(func(p *Params) *string { return &p.UpdateFields }, all, one)},
	{"threads", whole(func(p *Params) *int { return &p.Threads }, 1, maxThreads)},
	{"think", duration(func(p *Params) *Duration { return &p.Think }, time.Microsecond)},
	{"rate", number(func(p *Params) *float64 { return &p.Rate }, 0.001, maxRate)},
	{"arrivals", oneOf(func(p *Params) *string { return &p.Arrivals }, poisson, constant)},
	{"timeout", duration(func(p *Params) *Duration { return &p.Timeout }, minTime)},
	{"retries", whole(func(p *Params) *int { return &p.Retries }, 0, maxRetries)},
	{"seed", func(d *decoder, n *yaml.Node) error {
		seed, err := strconv.ParseUint(n.Value, 10, 64)
		if err != nil {
			return fmt.Errorf("write a whole number")
		}
		d.p.Seed = &seed
		return nil
	}},
	{"runtime", duration(func(p *Params) *Duration { return &p.Runtime }, minRuntime)},
	{"ramp", duration(func(p *Params) *Duration { return &p.Ramp }, 0)},
	{"database", func(d *decoder, n *yaml.Node) error {
		d.named = n
		return nil
	}},
}

func names[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = string(x)
	}
	return out
}

func oneOf(field func(*Params) *string, known ...string) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		if !slices.Contains(known, n.Value) {
			return fmt.Errorf("%s", suggest.DidYouMean(n.Value, known))
		}
		*field(&d.p) = n.Value
		return nil
	}
}

func whole[T ~int | ~int64](field func(*Params) *T, low, high int64) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || v < low || v > high {
			return fmt.Errorf("write a whole number from %d to %d", low, high)
		}
		*field(&d.p) = T(v)
		return nil
	}
}

func size(field func(*Params) *Size, low, high int64) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := units.ParseSize(n.Value)
		if err != nil || v < low || v > high {
			return fmt.Errorf("write a number of bytes from %d to %s", low, units.FormatSize(high))
		}
		*field(&d.p) = Size(v)
		return nil
	}
}

func number(field func(*Params) *float64, low, high float64) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := readNumber(n.Value, low, high)
		if err == nil {
			*field(&d.p) = v
		}
		return err
	}
}

func readNumber(text string, low, high float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= low && v <= high) {
		return 0, fmt.Errorf("write a number from %v to %v", low, int64(math.Ceil(high)))
	}
	return v, nil
}

func duration(field func(*Params) *Duration, low time.Duration) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := time.ParseDuration(n.Value)
		seconds, none := strconv.ParseInt(n.Value, 10, 32)
		if none == nil {
			v, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil {
			return fmt.Errorf("write a time with its unit: 10s, 2m, 5ms")
		}
		if v < low || v > maxRuntime {
			return fmt.Errorf("write a time from %v to %v", low, maxRuntime)
		}
		*field(&d.p) = Duration(v)
		return nil
	}
}

// mapping reads every key, known or not.
func (d *decoder) mapping(node *yaml.Node) {
	keys := make([]string, len(d.known))
	for i, p := range d.known {
		keys[i] = p.key
	}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], resolved(pair[1])
		at := slices.Index(keys, key.Value)
		switch {
		case at < 0:
			d.problem(key.Line, fmt.Sprintf("unknown parameter %q of %s", key.Value, d.kindName),
				suggest.DidYouMean(key.Value, keys))
			continue
		case d.given(key.Value):
			d.problem(key.Line, fmt.Sprintf("%s is given twice", key.Value),
				fmt.Sprintf("the first is in line %d", d.line[key.Value]))
			continue
		}
		d.line[key.Value] = key.Line
		nested := key.Value == "mix" || key.Value == "database"
		if !nested && (value.Kind != yaml.ScalarNode || value.Tag == "!!null") {
			d.problem(key.Line, fmt.Sprintf("%s needs one value", key.Value), "")
			continue
		}
		err := d.known[at].read(d, value)
		if err != nil {
			d.problem(value.Line, fmt.Sprintf("%s: %q cannot be used", key.Value, value.Value), err.Error())
			continue
		}
		d.good[key.Value] = true
	}
}

// mix reads the share of each operation.
func (d *decoder) mix(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		d.problem(node.Line, "mix needs the share of each operation", "write mix: {read: 0.95, update: 0.05}")
		return nil
	}
	d.p.Mix = MixParam{}
	before := len(d.problems)
	sum := 0.0
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], resolved(pair[1])
		share, err := readNumber(value.Value, 0, 1)
		_, twice := d.p.Mix[key.Value]
		switch {
		case !slices.Contains(ofRecords, key.Value):
			d.problem(key.Line, fmt.Sprintf("mix: %q is no operation", key.Value), suggest.DidYouMean(key.Value, ofRecords))
		case twice:
			d.problem(key.Line, fmt.Sprintf("mix: %s is given twice", key.Value), "")
		case value.Kind != yaml.ScalarNode || err != nil:
			d.problem(value.Line, fmt.Sprintf("mix: the share of %s cannot be used", key.Value), "write a number from 0 to 1")
		}
		d.p.Mix[key.Value] = share
		sum += share
	}
	if len(d.problems) == before && math.Abs(sum-1) > 1e-6 {
		d.problem(node.Line, fmt.Sprintf("mix: the shares add up to %v, not to 1", math.Round(sum*1e6)/1e6), "")
	}
	if len(d.problems) > before {
		d.p.Mix = nil
	}
	return nil
}

// check looks at parameters together. Those that could not be read have their
// defaults here, so that one mistake gives one problem.
func (d *decoder) check(line int) {
	p := &d.p
	if !d.given("workload") && !d.given("mix") {
		d.problem(line, "ycsb lacks a workload",
			"write workload: A, B, C, D, E, F, stress-write or stress-read; or a mix of your own")
	}
	if !d.given("records") {
		d.problem(line, "ycsb lacks records",
			"write how many the database holds; more than every cache that is not to answer")
	}
	if err := p.dataset().Check(); err != nil && d.good["records"] {
		d.problem(line, err.Error(), "")
	}
	d.checkPace()
	if presets[p.Workload].whole && !d.given("update-fields") {
		p.UpdateFields = all
	}
	mix := p.mix()
	readable := len(mix) > 0
	if d.given("max-scan") && readable && mix[Scan] == 0 {
		d.problem(d.line["max-scan"], "max-scan has no effect: there are no scans", "leave it out, or add scans to the mix")
	}
	if d.given("update-fields") && readable && mix[Update]+mix[ReadModifyWrite] == 0 {
		d.problem(d.line["update-fields"], "update-fields has no effect: nothing is updated", "leave it out")
	}
	if d.given("read-fields") && readable && mix[Read]+mix[Scan]+mix[ReadModifyWrite] == 0 {
		d.problem(d.line["read-fields"], "read-fields has no effect: nothing is read", "leave it out")
	}
	for _, key := range []string{"hot-set", "hot-operations"} {
		if d.given(key) && p.distribution() != Hotspot {
			d.problem(d.line[key], fmt.Sprintf("%s has no effect on %s", key, p.distribution()),
				"leave it out, or write distribution: hotspot")
		}
	}
}

// checkPace looks at what says how fast operations follow each other.
func (d *decoder) checkPace() {
	open := d.given("rate")
	if open && !d.given("threads") {
		d.p.Threads = openThreads
	}
	if open && d.given("think") {
		d.problem(d.line["think"], "think does not go with rate: operations begin when their time has come",
			"leave one of both out")
	}
	if d.given("arrivals") && !open {
		d.problem(d.line["arrivals"], "arrivals has no effect without rate", "leave it out, or write a rate")
	}
}

// database reads which server there is.
func (d *decoder) database(line int) {
	known := make([]string, len(d.databases))
	for i, k := range d.databases {
		known[i] = k.Name
	}
	switch node := d.named; {
	case len(known) == 0:
		d.problem(line, d.kindName+" has no database: this build knows none", "")
	case node == nil:
		d.serve(d.databases[0], nil)
	case node.Kind == yaml.ScalarNode && slices.Contains(known, node.Value):
		d.serve(d.databases[slices.Index(known, node.Value)], nil)
	case node.Kind != yaml.MappingNode || len(node.Content) != 2:
		d.problem(node.Line, "database needs one database with its parameters",
			fmt.Sprintf("write database: {%s: {}}; there are %s", known[0], strings.Join(known, ", ")))
	default:
		key, value := node.Content[0], resolved(node.Content[1])
		at := slices.Index(known, key.Value)
		if at < 0 {
			d.problem(key.Line, fmt.Sprintf("unknown database %q", key.Value), suggest.DidYouMean(key.Value, known))
			return
		}
		if value.Kind == yaml.ScalarNode && value.Value == "" {
			value = nil
		}
		d.serve(d.databases[at], value)
	}
}

func (d *decoder) serve(k database.Kind, node *yaml.Node) {
	server, problems := k.Decode(node)
	d.problems = append(d.problems, problems...)
	d.kind, d.server = k, server
}
