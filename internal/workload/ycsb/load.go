package ycsb

import (
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
)

// Load is what a workload asks for, and of which database.
type Load struct {
	Mix          Mix
	Distribution Distribution
	Database     string // its name: "pebble"

	Clients int           // of each instance: connections, each with one operation at a time
	Think   time.Duration // that a client waits after an operation before its next
	Open    bool          // operations begin at a rate, whatever the server does
}

// OpenLoad is a load of an open loop.
type OpenLoad struct {
	Rate float64 // operations per second that begin
	// Family is what loads have in common that differ in their rate alone.
	Family string
}

// OpenOf returns the open loop of a workload's declaration, as a result keeps it. ok is false for
// a closed loop, and where the declaration cannot be read.
func OpenOf(declared string) (o OpenLoad, ok bool) {
	_, ok = LoadOf(declared)
	if !ok {
		return o, false
	}
	others := map[string]yaml.Node{}
	err := yaml.Unmarshal([]byte(declared), &others)
	rate := others["rate"]
	if err != nil || rate.Decode(&o.Rate) != nil || !(o.Rate > 0) {
		return o, false
	}
	delete(others, "rate")
	family, err := yaml.Marshal(others) // its keys in the order of the alphabet
	o.Family = string(family)
	return o, err == nil
}

// LoadOf returns the load of a workload's declaration, as a result keeps it. The
// database need not be one that this program knows. ok is false where the declaration
// cannot be read.
func LoadOf(declared string) (l Load, ok bool) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return l, false
	}
	d := newDecoder(name, parameters, nil)
	if slices.ContainsFunc(doc.Content[0].Content, func(n *yaml.Node) bool { return n.Value == "warehouses" }) {
		d = newDecoder(tpcc, tpccParameters, nil)
	}
	d.mapping(doc.Content[0])
	mix := d.p.mix()
	if d.warehouses > 0 {
		mix = tpccMix
	}
	if len(d.problems) > 0 || len(mix) == 0 {
		return l, false
	}
	l = Load{Mix: mix, Distribution: d.p.distribution(), Database: database.All()[0].Name,
		Clients: d.p.Threads, Think: time.Duration(d.p.Think), Open: d.p.Rate > 0}
	switch {
	case d.named == nil:
	case d.named.Kind == yaml.ScalarNode:
		l.Database = d.named.Value
	case d.named.Kind == yaml.MappingNode && len(d.named.Content) == 2:
		l.Database = d.named.Content[0].Value
	default:
		return l, false
	}
	return l, true
}

// Called is what YCSB calls the operations of a load: A to F; "" for another mix.
func (l Load) Called() string {
	var called []string
	for name, of := range presets {
		equal := len(name) == 1
		for _, operation := range Names {
			equal = equal && math.Abs(of.mix[operation]-l.Mix[operation]) < 1e-6
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
