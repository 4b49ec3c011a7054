package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"plimsoll/internal/database"
	"plimsoll/internal/state/inputfile"
)

// cassandraClient is one of those that share a session of Cassandra's driver: a process has one
// session for each server, with a few connections on which many requests are under way.
type cassandraClient struct {
	session *session[*gocql.Session]
	table   columns
	records string // name of the table
	parts   [][]byte
	value   []byte // that the last read returned
	broken  error  // why it is of no use any more
}

// cassandraSessions are those of this process.
var cassandraSessions = sessions[*gocql.Session]{close: (*gocql.Session).Close}

const (
	cassandraConnections = 4         // of a session
	cassandraNever       = time.Hour // deadlines are those of operations
)

// openCassandra opens a session.
func openCassandra(ctx context.Context, c Config) (*gocql.Session, error) {
	cluster := gocql.NewCluster("127.0.0.1")
	cluster.Port, cluster.Dialer, cluster.DisableInitialHostLookup = c.At.Port,
		c.budget.bound(reach{c.At}.DialContext), true
	if c.At.Remote != "" {
		cluster = gocql.NewCluster(strings.Split(c.At.Remote, ",")...)
		if c.budget != nil {
			cluster.Dialer, cluster.DisableInitialHostLookup = c.budget.bound(nil), true
		}
		if err := identified(cluster, c); err != nil {
			return nil, err
		}
	}
	cluster.NumConns, cluster.Consistency = cassandraConnections, gocql.One
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteCoalesceWaitTime = cassandraNever, 10*time.Second, 0
	if c.budget != nil {
		cluster.NumConns, cluster.Timeout = 1, CounterTimeout
	}
	if end, ok := ctx.Deadline(); ok {
		cluster.ConnectTimeout = min(cluster.ConnectTimeout, max(time.Until(end), time.Millisecond))
	}
	cluster.ReconnectInterval, cluster.ReconnectionPolicy = 0, &gocql.ConstantReconnectionPolicy{MaxRetries: 1}
	cluster.Metadata.CacheMode = gocql.Disabled
	cluster.Events.DisableNodeStatusEvents, cluster.Events.DisableTopologyEvents = true, true
	cluster.Events.DisableSchemaEvents = true
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return cluster.CreateSession()
}

// identified has a cluster that somebody else started asked as somebody, and encrypted.
func identified(cluster *gocql.ClusterConfig, c Config) error {
	if c.At.Secret != "" {
		user, password, ok := strings.Cut(string(c.At.Secret), ":")
		if !ok {
			return unreadable(c.At, "user:password")
		}
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: user, Password: password}
	}
	if c.Options[database.TLSOption] != "true" {
		return nil
	}
	cluster.SslOpts = &gocql.SslOptions{EnableHostVerification: true}
	if ca := c.Options[database.CAOption]; ca != "" {
		text, err := inputfile.Read(ca, inputfile.MaxText)
		if err != nil {
			return err
		}
		known := x509.NewCertPool()
		if !known.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s has no certificate: write one in PEM there", ca)
		}
		cluster.SslOpts.Config = &tls.Config{RootCAs: known}
	}
	return nil
}

func dialCassandra(ctx context.Context, c Config) (Client, error) {
	s, err := cassandraSessions.take(ctx, c.At, func(ctx context.Context, _ database.Address) (*gocql.Session, error) {
		return openCassandra(ctx, c)
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Cassandra: %w", err)
	}
	client := &cassandraClient{session: s, table: columns{fields: c.Fields}, records: recordsOf(c)}
	value, err := client.read(ctx, 1, "SELECT "+factsColumn+" FROM "+c.schema(database.CassandraKeyspace)+"."+factsTable+
		" WHERE ycsb_key = 'dataset'")
	if err == nil {
		err = sameSizes(string(value), c)
	}
	if err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("see what Cassandra holds: %w", err)
	}
	return client, nil
}

// Version asks the server: "5.0.9".
func (c *cassandraClient) Version() string {
	value, err := c.read(context.Background(), 1, "SELECT release_version FROM system.local")
	if err != nil {
		return ""
	}
	return plainVersion(string(value))
}

// Setting implements SettingReader.
func (c *cassandraClient) Setting(ctx context.Context, name string) (string, error) {
	value, err := c.read(ctx, 1, "SELECT value FROM system_views.settings WHERE name = ?", name)
	return string(value), err
}

// recordsOf is the table of records.
func recordsOf(c Config) string { return c.schema(database.CassandraKeyspace) + "." + recordsTable }

// Read implements Client.
func (c *cassandraClient) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	fields := 1
	if field == AllFields {
		fields = c.table.fields
	}
	return c.read(ctx, fields, "SELECT "+c.table.named(field)+" FROM "+c.records+" WHERE ycsb_key = ?", key)
}

// read returns the values of so many columns of the one row that a statement gives.
func (c *cassandraClient) read(ctx context.Context, fields int, text string, args ...any) ([]byte, error) {
	c.value = c.value[:0]
	found, err := c.query(ctx, fields, 1, text, args, func(values [][]byte) {
		for _, v := range values {
			c.value = append(c.value, v...)
		}
	})
	if err == nil && found == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return c.value, nil
}

// Scan implements Client. Keys have no order but that of their tokens.
func (c *cassandraClient) Scan(ctx context.Context, key []byte, count, field int) (found int, err error) {
	fields := 1
	if field == AllFields {
		fields = c.table.fields
	}
	text := "SELECT " + c.table.named(field) + " FROM " + c.records + " WHERE token(ycsb_key) >= token(?) LIMIT ?"
	return c.query(ctx, fields, count, text, []any{key, count}, func([][]byte) {})
}

// query runs a statement with at most limit rows, calls row with the fields of each, and returns their number.
func (c *cassandraClient) query(
	ctx context.Context, fields, limit int, text string, args []any, row func(values [][]byte),
) (came int, err error) {
	if c.broken != nil {
		return 0, c.broken
	}
	if cause := context.Cause(ctx); cause != nil {
		return 0, cause
	}
	if len(c.parts) != fields {
		c.parts = make([][]byte, fields)
	}
	targets := make([]any, fields)
	for i := range targets {
		targets[i] = &c.parts[i]
	}
	rows := c.session.driver.Query(text, args...).PageSize(limit).IterContext(ctx)
	for rows.Scan(targets...) {
		came++
		row(c.parts)
	}
	if err := rows.Close(); err != nil {
		return came, c.failed(ctx, err)
	}
	return came, nil
}

// Update implements Client. It adds a record where none has the key, as Insert replaces one.
func (c *cassandraClient) Update(ctx context.Context, key []byte, field int, value []byte) error {
	set := c.table.join(field, func(name string, _ int) string { return name + " = ?" })
	return c.exec(ctx, "UPDATE "+c.records+" SET "+set+" WHERE ycsb_key = ?",
		append(anys(c.table.split(field, value)), key))
}

// Insert implements Client.
func (c *cassandraClient) Insert(ctx context.Context, key, value []byte) error {
	return c.exec(ctx, c.table.insert(c.records), append([]any{key}, anys(c.table.split(AllFields, value))...))
}

// insert is a statement that adds a record.
func (c columns) insert(records string) string {
	return "INSERT INTO " + records + " (ycsb_key, " + c.named(AllFields) + ") VALUES " + c.row()
}

func (c *cassandraClient) exec(ctx context.Context, text string, args []any) error {
	if c.broken != nil {
		return c.broken
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err := c.session.driver.Query(text, args...).ExecContext(ctx); err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

// Close implements Client.
func (c *cassandraClient) Close() error {
	if c.session != nil {
		c.session.release(false)
		c.session = nil
	}
	if c.broken == nil {
		c.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	return nil
}

// failed is an error as clients tell it. After an answer of the server, and where nobody waits for
// one any more, the session goes on.
func (c *cassandraClient) failed(ctx context.Context, err error) error {
	var refusal gocql.RequestError
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.As(err, &refusal) {
		return &ServerError{Said: refusal.Message()}
	}
	c.broken = fmt.Errorf("%w: %w", ErrClosed, err)
	c.session.release(true)
	c.session = nil
	return c.broken
}

func anys(parts [][]byte) []any {
	all := make([]any, len(parts))
	for i, v := range parts {
		all[i] = v
	}
	return all
}

func cassandraAnswers(ctx context.Context, server database.Address) error {
	session, err := openCassandra(ctx, Config{At: server})
	if err != nil {
		return err
	}
	session.Close()
	return nil
}

// How records are loaded: so many threads, with so many bytes to a batch.
const (
	cassandraLoaders   = 8
	cassandraBatch     = 32 << 10
	mostCassandraBatch = 100 // records of one
)

// loadCassandra lays out all records in a server that has none. They are not logged; the keyspace is
// from when all are there.
func loadCassandra(ctx context.Context, c Config, d database.Dataset) error {
	session, err := openCassandra(ctx, c)
	if err != nil {
		return fmt.Errorf("connect to Cassandra: %w", err)
	}
	defer session.Close()
	run := func(text string, args ...any) error {
		if err := session.Query(text, args...).ExecContext(ctx); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
		return nil
	}
	table, in := columns{fields: d.Fields}, c.schema(database.CassandraKeyspace)
	if c.At.Remote != "" {
		if err := cassandraClear(ctx, session, c); err != nil {
			return err
		}
	}
	declared := table.join(AllFields, func(name string, _ int) string { return name + " blob" })
	facts := in + "." + factsTable
	for _, text := range []string{
		"CREATE KEYSPACE " + in + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}" +
			" AND durable_writes = false",
		"CREATE TABLE " + facts + " (ycsb_key text PRIMARY KEY, " + factsColumn + " text)",
		"CREATE TABLE " + recordsOf(c) + " (ycsb_key text PRIMARY KEY, " + declared + ")" +
			withOptions(c.Options[database.CassandraTable]),
	} {
		if err := run(text); err != nil {
			return err
		}
	}
	if err := fillCassandra(ctx, session, recordsOf(c), d); err != nil {
		return err
	}
	if err := run("INSERT INTO "+facts+" (ycsb_key, "+factsColumn+") VALUES ('dataset', ?)",
		sizes(d.Fields, d.FieldBytes)); err != nil {
		return err
	}
	return run("ALTER KEYSPACE " + in + " WITH durable_writes = true")
}

// fillCassandra adds all records.
func fillCassandra(ctx context.Context, session *gocql.Session, records string, d database.Dataset) error {
	table := columns{fields: d.Fields}
	batchSize := max(1, min(mostCassandraBatch, cassandraBatch/(d.RecordBytes()+int64(database.KeyBytes))))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var loading sync.WaitGroup
	for thread := range int64(cassandraLoaders) {
		loading.Go(func() {
			for from := thread * batchSize; from < d.Records && ctx.Err() == nil; from += cassandraLoaders * batchSize {
				batch := session.Batch(gocql.UnloggedBatch)
				for number := from; number < min(from+batchSize, d.Records); number++ {
					value := database.Value(nil, d, number)
					batch.Query(table.insert(records), append([]any{database.Key(nil, number)},
						anys(table.split(AllFields, value))...)...)
				}
				if err := addBatch(ctx, batch); err != nil {
					cancel(fmt.Errorf("add records from %d on, of %d: %w", from, d.Records, err))
				}
			}
		})
	}
	loading.Wait()
	return context.Cause(ctx)
}

// addBatch has the server do a batch of inserts. On a busy host it takes longer now and then than it gives itself:
// then it does the same once more, which changes nothing that is there.
func addBatch(ctx context.Context, batch *gocql.Batch) (err error) {
	for range 20 {
		var late *gocql.RequestErrWriteTimeout
		err = batch.ExecContext(ctx)
		if !errors.As(err, &late) {
			return err
		}
	}
	return err
}

// withOptions returns the clause of CREATE TABLE that sets options; "" without any.
func withOptions(options string) string {
	if options == "" {
		return ""
	}
	return " WITH " + options
}

// cassandraClear sees that a keyspace of a cluster that somebody else started may be made, and drops what is in
// its place.
func cassandraClear(ctx context.Context, session *gocql.Session, c Config) error {
	in := c.schema("")
	names := func(text string) (all []string, err error) {
		rows := session.Query(text, in).IterContext(ctx)
		var name string
		for rows.Scan(&name) {
			all = append(all, name)
		}
		return all, rows.Close()
	}
	keyspaces, err := names("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?")
	if err != nil {
		return fmt.Errorf("look for keyspace %s: %w", in, err)
	}
	tables, err := names("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?")
	views, bad := names("SELECT view_name FROM system_schema.views WHERE keyspace_name = ?")
	if err = errors.Join(err, bad); err != nil {
		return fmt.Errorf("look into keyspace %s: %w", in, err)
	}
	tables = append(tables, views...)
	replaces, err := mayMake(in, len(keyspaces) > 0, tables, c.Options)
	if err == nil && replaces {
		err = session.Query("DROP KEYSPACE " + in).ExecContext(ctx)
	}
	return err
}

// AskCassandra asks a server for the one value that a statement gives.
func AskCassandra(ctx context.Context, server database.Address, text string, value any) error {
	session, err := openCassandra(ctx, Config{At: server})
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Query(text).ScanContext(ctx, value)
}
