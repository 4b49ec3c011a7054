package ycsb

import (
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/workload"
)

// Load describes a workload's operations, and its database.
type Load struct {
	Mix          Mix
	Distribution Distribution
	Database     string // its name: "pebble"

	Clients int           // of each instance: connections, each with one operation at a time
	Think   time.Duration // that a client waits after an operation before its next
	Open    bool          // operations start at a fixed rate, regardless of the server
}

// OpenLoad is a load of an open loop.
type OpenLoad struct {
	Rate float64 // operations per second that begin
	// Family is equal for loads that differ only in their rate.
	Family string
}

// OpenOf returns the open loop of a workload's declaration, as a result keeps it. ok is false for
// a closed loop, and where the declaration cannot be read.
func OpenOf(declared string) (o OpenLoad, ok bool) {
	d, ok := readDeclared(declared)
	if !ok || d.Rate == 0 {
		return o, false
	}
	o.Rate = d.Rate
	o.Family, ok = workload.DeclaredWithout(declared, "rate")
	return o, ok
}

// FamilyOf returns a workload's declaration without its number of clients: equal for workloads that differ only in
// that. ok is false for an open loop, and where the declaration cannot be read.
func FamilyOf(declared string) (family string, ok bool) {
	d, ok := readDeclared(declared)
	if !ok || d.Rate > 0 {
		return "", false
	}
	return workload.DeclaredWithout(declared, "threads")
}

// LoadOf returns the load of a workload's declaration, as a result keeps it. The
// database need not be one that this program knows. ok is false where the declaration
// cannot be read.
func LoadOf(declared string) (l Load, ok bool) {
	d, ok := readDeclared(declared)
	if !ok {
		return l, false
	}
	l = Load{Mix: d.mix(), Distribution: d.distribution(), Database: database.All()[0].Name,
		Clients: d.Threads, Think: d.Think, Open: d.Rate > 0}
	switch {
	case d.named == nil:
	case d.named.Kind == yaml.ScalarNode:
		l.Database = d.named.Value
	default:
		l.Database = d.named.Content[0].Value
	}
	return l, true
}

// ServerOf returns the database of a workload's declaration, with its parameters. ok is false where it cannot be read.
func ServerOf(declared string) (server database.Server, ok bool) {
	d, ok := readDeclared(declared)
	if !ok {
		return nil, false
	}
	d.databases = database.All()
	d.database(d.named)
	return d.server, d.server != nil && len(d.Problems) == 0
}

// readDeclared reads a declaration, except for the parameters of its database.
func readDeclared(declared string) (d *decoder, ok bool) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, false
	}
	d = newDecoder(name, nil)
	if slices.ContainsFunc(doc.Content[0].Content, func(n *yaml.Node) bool { return n.Value == "warehouses" }) {
		d = newDecoder(tpcc, nil)
	}
	d.read(doc.Content[0])
	named := d.named == nil || d.named.Kind == yaml.ScalarNode ||
		d.named.Kind == yaml.MappingNode && len(d.named.Content) == 2
	return d, named && len(d.Problems) == 0 && len(d.mix()) > 0
}

// DistributionOf returns the distribution of requests over records of a workload that YCSB, or cassandra-stress, has by
// that name; ok is false for other names.
func DistributionOf(workload string) (d Distribution, ok bool) {
	p, ok := presets[workload]
	return p.distribution, ok
}

// Called returns YCSB's name for the load's operations: A to F; "" for another mix.
func (l Load) Called() string {
	var called []string
	for name, preset := range presets {
		equal := len(name) == 1
		for _, operation := range Names {
			equal = equal && math.Abs(preset.mix[operation]-l.Mix[operation]) < 1e-6
		}
		if equal {
			called = append(called, name)
		}
	}
	slices.Sort(called)
	if len(called) == 0 {
		return ""
	}
	return called[0]
}
