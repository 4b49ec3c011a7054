package database

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/units/plural"
)

// Running is a server that somebody else started. Only its counters are read.
type Running struct {
	Kind    string // a name of All
	Address Address
	Client  Client
}

// CounterKinds are the names of databases that count operations, with the key of their address.
func counterKinds() (names []string, keys map[string][]string) {
	keys = map[string][]string{}
	for _, k := range All() {
		switch k.Name {
		case pebbleKind.Name: // it counts what its load generator asked for, which runs with it
			continue
		case cassandraKind.Name:
			keys[k.Name] = []string{"address", "credentials", "tls", "ca"}
		default:
			keys[k.Name] = []string{"dsn"}
		}
		names = append(names, k.Name)
	}
	return names, keys
}

// ParseRunning reads KIND,KEY=VALUE,KEY=VALUE: "postgresql,dsn=file:/etc/shop.dsn". The keys are those that reach a
// server in an experiment. Problems do not repeat values, which may be secrets by mistake.
func ParseRunning(text string) (server Running, problems problem.List) {
	kind, list, _ := strings.Cut(text, ",")
	names, keys := counterKinds()
	reject := func(why, remedy string) {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: "the server", Why: why, Remedy: remedy})
	}
	allowed, known := keys[kind]
	if !known {
		reject("it does not begin with a kind of database that counts operations", "write "+plural.Or(names)+
			", a comma, and dsn=file:PATH, dsn=env:NAME or address=HOST:PORT")
		return server, problems
	}
	parameters := &yaml.Node{Kind: yaml.MappingNode}
	var given []string
	for entry := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(entry, "=")
		switch {
		case !slices.Contains(allowed, key):
			reject(fmt.Sprintf("%s has a key that is not known", kind), "write "+plural.Or(allowed)+", and a value behind =")
			continue
		case slices.Contains(given, key):
			reject(key+" is there twice", "leave one out")
			continue
		case key == "tls" && value != "true" && value != "false":
			reject("tls is neither true nor false", "write tls=true")
			continue
		}
		given = append(given, key)
		node := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
		if key == "tls" {
			node.Tag = "!!bool"
		}
		parameters.Content = append(parameters.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, node)
	}
	if len(problems) > 0 {
		return server, problems
	}
	if !slices.Contains(given, allowed[0]) {
		reject(fmt.Sprintf("%s has no %s", kind, allowed[0]), "add "+allowed[0]+"=")
		return server, problems
	}
	for _, k := range All() {
		if k.Name != kind {
			continue
		}
		decoded, wrong := k.Decode(parameters)
		if len(wrong) > 0 {
			return server, wrong.Unplaced()
		}
		server = Running{Kind: kind, Address: decoded.Address(), Client: decoded.Client()}
	}
	return server, nil
}

// Counts is what a server has counted since its counters began.
type Counts struct {
	// Era changes if the server reports that its counters were reset. Counters that go down are a reset, too.
	Era string
	// Operations are transactions (PostgreSQL), statements of clients (MySQL, MariaDB), reads and writes (MongoDB), or
	// reads, scans and writes of the node's own data (Cassandra).
	Operations uint64
	// Readings are the operations by which this connection read the counters, counted in Operations, too.
	Readings uint64
	// Timed are operations whose time was added up to Microseconds. Both are 0 if the server measures no time.
	Timed        uint64
	Microseconds uint64
}

// Work is what a server did between two Counts.
type Work struct {
	Operations float64
	// Timed is the number of operations whose time, added up, is Microseconds; 0 if that is not known.
	Timed, Microseconds float64
}

// mostCount bounds amounts: what is more was not counted.
const mostCount = 1 << 50

// Since returns what was done since earlier counts of the same connection, except by reading them. ok is false if the
// counters began again in between.
func (c Counts) Since(before Counts) (w Work, ok bool) {
	if c.Era != before.Era || c.Operations < before.Operations || c.Operations-before.Operations > mostCount {
		return w, false
	}
	done := c.Operations - before.Operations
	w.Operations = float64(done - min(c.Readings-min(before.Readings, c.Readings), done))
	if c.Timed > before.Timed && c.Microseconds >= before.Microseconds && c.Timed-before.Timed <= mostCount &&
		c.Microseconds-before.Microseconds <= mostCount {
		w.Timed, w.Microseconds = float64(c.Timed-before.Timed), float64(c.Microseconds-before.Microseconds)
	}
	return w, true
}

// Counter reads the counters of one server. Called serially.
type Counter interface {
	Counts(ctx context.Context) (Counts, error)
	Close() error
}
