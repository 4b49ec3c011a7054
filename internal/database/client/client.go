// Package client speaks to databases. It opens sockets; what a database is and how
// it is started says package database.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/database"
)

// Client is one connection to a database. One goroutine uses it at a time.
//
// Records are values of equal fields, one after the other; a field's number is its
// place, and AllFields stands for the whole record.
type Client interface {
	// Read reads a record, or one field of it, and returns what it read: valid
	// until the next call.
	Read(ctx context.Context, key []byte, field int) (value []byte, err error)
	// Scan reads so many records from key on, in the order of their keys, and
	// returns how many there were.
	Scan(ctx context.Context, key []byte, records int, field int) (found int, err error)
	// Update replaces a record, or one field of it, that is there.
	Update(ctx context.Context, key []byte, field int, value []byte) error
	// Insert adds a record.
	Insert(ctx context.Context, key []byte, value []byte) error
	Close() error
}

// AllFields is the field of whole records.
const AllFields = -1

// ErrNotFound is that no record has the key.
var ErrNotFound = errors.New("no record has this key")

// ErrClosed is that the connection ended: the server did, or what came from it made no
// sense. All that follows on the same client fails with it too. An operation whose
// context ends fails with the context's cause; whether the client can be used further
// is the protocol's, and the next operation tells.
var ErrClosed = errors.New("the connection was closed")

var errNoTransactions = errors.New("this client runs no transactions")

// ServerError is a server's own error on an operation.
type ServerError struct{ Said string }

func (e *ServerError) Error() string { return "the server says: " + e.Said }

// Config is where a database answers, and what its records are like.
type Config struct {
	At         database.Address
	Options    map[string]string // of the client's own: see database.Client
	Fields     int               // of a record
	FieldBytes int               // of a field's value
	Warehouses int               // of TPC-C, whose clients are Transactors; 0 for records

	budget *budget // of a server that is asked for its counters; nil for no bound
}

// schema is the schema, database or keyspace that has the records; own is that of servers which Plimsoll starts.
func (c Config) schema(own string) string { return cmp.Or(c.Options[database.SchemaOption], own) }

// Dialer makes a connection. The context bounds the making alone; deadlines of
// operations are those of their own contexts.
type Dialer func(ctx context.Context, c Config) (Client, error)

// Loader lays out all records of a dataset in a server that has none.
type Loader func(ctx context.Context, c Config, d database.Dataset) error

// Versioned is a client that knows the version of its server: "15.20".
type Versioned interface{ Version() string }

// SettingReader is a client that can ask its server for the value of an option.
type SettingReader interface {
	// Setting returns the value as the server writes it. The error is a *ServerError or ErrNotFound where
	// the server does not tell that of this option.
	Setting(ctx context.Context, name string) (string, error)
}

// protocol is how one kind of database is spoken to.
type protocol struct {
	dial Dialer
	load Loader // nil for one whose data is laid out without a server
	// answers ends well where a server takes connections, whatever it holds; nil where load is.
	answers func(ctx context.Context, at database.Address) error
	// sql is how TPC-C speaks to a database that is there; nil where it cannot.
	sql func(c Config, in string) dialect
	// counter reads what a server that somebody else started counted; nil where it counts nothing.
	counter func(ctx context.Context, c Config) (database.Counter, error)
}

// protocols are all, by name. A new one is a file here, or a folder beside it, and one
// line.
var protocols = map[string]protocol{
	"pebble":     {dial: dialPebble},
	"postgresql": {dialPostgresql, loadPostgresql, postgresqlAnswers, postgresqlDialect, countPostgresql},
	"mysql":      {dialMysql, loadMysql, mysqlAnswers, mysqlDialect, countMysql},
	"cassandra":  {dialCassandra, loadCassandra, cassandraAnswers, nil, countCassandra},
	"mongodb":    {dialMongodb, loadMongodb, mongodbAnswers, nil, countMongodb},
}

// Dial connects to a database with the client of that name.
func Dial(ctx context.Context, name string, c Config) (Client, error) {
	p, known := protocols[name]
	if !known {
		return nil, unknown(name)
	}
	dial := p.dial
	if c.Warehouses > 0 {
		if p.sql == nil {
			return nil, fmt.Errorf("client %s speaks no SQL, and cannot run TPC-C", name)
		}
		dial = func(ctx context.Context, c Config) (Client, error) {
			return dialTPCC(ctx, p.sql(c, c.schema(database.TPCCDatabase)), c.Warehouses)
		}
	}
	var made Client
	err := c.guarded(func(c Config, g *guard) (err error) {
		client, err := dial(ctx, c)
		if err != nil {
			return err
		}
		made = client
		if g != nil || c.At.Remote != "" {
			made = &guarded{Client: client, guard: g}
		}
		return nil
	})
	return made, err
}

// guarded does something with the secret of a server that somebody else started, and keeps the secret out of the
// error. A panic of do is an error: see unpanic.
func (c Config) guarded(do func(c Config, g *guard) error) (err error) {
	c.At, err = reveal(c.At)
	if err != nil {
		return err
	}
	g := newGuard(c.At, c.Options)
	return g.hide(func() (err error) {
		defer func() { unpanic(recover(), &err) }()
		return do(c, g)
	}())
}

// unpanic turns what a deferred function recovered into an error. Drivers panic on answers of hostile servers:
// go-sql-driver does on packets that are too short.
func unpanic(p any, err *error) {
	if p != nil {
		*err = fmt.Errorf("%w: the server's answer makes no sense: %v", ErrClosed, p)
	}
}

// Answers returns nil if a server accepts connections of the client of that name, whatever data it has.
func Answers(ctx context.Context, name string, server database.Address) error {
	p, known := protocols[name]
	switch {
	case !known:
		return unknown(name)
	case p.answers == nil:
		return fmt.Errorf("client %s does not lay out data", name)
	}
	c := Config{At: server}
	return c.guarded(func(c Config, _ *guard) error { return p.answers(ctx, c.At) })
}

// Load lays out all records of a dataset with the client of that name: see Loader.
func Load(
	ctx context.Context, name string, server database.Address, d database.Dataset, options map[string]string,
) error {
	p, known := protocols[name]
	switch {
	case !known:
		return unknown(name)
	case p.load == nil:
		return fmt.Errorf("client %s does not lay out data", name)
	}
	c := Config{At: server, Options: options}
	return c.guarded(func(c Config, _ *guard) error { return p.load(ctx, c, d) })
}

func unknown(name string) error {
	all := slices.Sorted(maps.Keys(protocols))
	return fmt.Errorf("no client is called %q: there are %s", name, strings.Join(all, ", "))
}
