// Package database names the servers that workloads drive: what starts them, loads
// them, and what of their data has to be kept apart. It is pure: the processes
// that its steps start are the databases' own, or this program's.
//
// Each database is one file here and one entry of the table in All, and one file and one entry
// in package client, which speaks to it.
package database

import (
	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Dataset describes a server's data before a workload drives it: records of equal fields, whose keys and values
// follow from their numbers and the seed alone.
type Dataset struct {
	Records    int64  `json:"records"`
	Fields     int    `json:"fields"`      // of a record
	FieldBytes int    `json:"field_bytes"` // of a field's value
	Seed       uint64 `json:"seed"`        // of the values
	// Warehouses is the scale of TPC-C, which has tables of its own: see TPCC. 0 for records.
	Warehouses int `json:"warehouses,omitempty"`
}

// Bytes returns the size of all values, without keys and the database's overhead.
func (d Dataset) Bytes() int64 { return d.Records * int64(d.Fields) * int64(d.FieldBytes) }

// Kind is one kind of database: the key that selects it in an experiment file, and
// how its parameters are read.
type Kind struct {
	Name    string // "pebble"
	Title   string // as verdicts call it: "the embedded server (pebble)"
	Summary string
	// Decode reads the YAML below the key; a nil node stands for no parameters.
	// Problems carry the line of the offending node.
	Decode func(node *yaml.Node) (Server, problem.List)
	// Schema describes the parameters to editors, defaults included.
	Schema func() *jsonschema.Schema
	// SQL reports whether it is a relational database, which can hold TPC-C's tables.
	SQL bool
}

// Server is one declared database.
type Server interface {
	// Parameters returns the parameters in effect, defaults included, as results store and show them.
	Parameters() map[string]string
	// Layout names the data: servers of one layout and one dataset can take over
	// each other's directory.
	Layout() string
	// NeedBytes returns the space for the data. With written it includes room for additions and compaction; otherwise
	// the data is only read.
	NeedBytes(d Dataset, written bool) int64
	// Settings are options that it is given beyond its parameters, by its own names.
	Settings() Settings
	// NeedMemory is the least memory that it can run in with so many clients; 0 where that is not known.
	NeedMemory(clients int) int64
	// Image returns the server's image; nil for this program.
	Image() *workload.Image
	// Load lays out the data in a new directory at path, which no server has open. Its
	// process runs on the host.
	Load(path string, d Dataset) workload.Step
	// Serve returns the step that serves the directory at path until it is asked to end (Step.Ends).
	Serve(path string) workload.Step
	// Address returns the server's address; a socket is in its scratch directory.
	Address() Address
	// Client is the client that speaks to it.
	Client() Client
	// Failed explains an unexpected end of the server, with cause and remedy where its output shows them.
	Failed(workload.Exit) *problem.Problem
}

// ClientLimiter is a server with a fixed limit on the number of clients.
type ClientLimiter interface{ MostClients() int }

// Merger is a server that rewrites files in the background.
type Merger interface {
	// MergeBytes returns the room, beyond NeedBytes, in which one server rewrites its largest files at once.
	MergeBytes(d Dataset) int64
}

// Client is a client that speaks to a server: see package client.
type Client struct {
	Name    string
	Options map[string]string // of the client's own
}

// All returns every kind of database; the first is the default.
func All() []Kind {
	kinds := []Kind{
		pebbleKind,
		orElsewhere(cassandraKind, "cassandra", reachedByAddress),
		orElsewhere(mongodbKind, "mongodb", reachedByDSN),
		orElsewhere(postgresqlKind, "postgresql", reachedByDSN),
	}
	for _, k := range mysqlKinds() {
		kinds = append(kinds, orElsewhere(k, "mysql", reachedByDSN))
	}
	return kinds
}
