package client

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"plimsoll/internal/database"
)

// postgresqlClient is one connection to PostgreSQL, with a prepared statement for each kind
// of operation, as YCSB's own binding has it. Records are rows of YCSB's table: a key, and
// the fields as bytes.
type postgresqlClient struct {
	conn     *pgconn.PgConn
	table    rows
	prepared map[string]string // name of each statement, by its text
	value    []byte            // that the last read returned
	broken   error             // why the connection is of no use any more
}

// inBinary is the format of parameters and results.
var inBinary = []int16{pgx.BinaryFormatCode}

func dialPostgresql(ctx context.Context, c Config) (Client, error) {
	config, err := postgresqlConfig(c)
	if err != nil {
		return nil, err
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	p := &postgresqlClient{conn: conn, table: rows{columns{fields: c.Fields}}, prepared: map[string]string{}}
	if err := p.check(ctx, c); err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("see what PostgreSQL holds: %w", err)
	}
	return p, nil
}

// clearDriverEnv unsets variables that drivers read from the environment: a user has them for databases of their own,
// or to have what is sent logged. Nor are passwords and services looked for in the home directory.
var clearDriverEnv = sync.OnceFunc(func() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "MONGODB_LOG_") {
			_ = os.Unsetenv(name)
		}
	}
	_ = errors.Join(os.Setenv("PGPASSFILE", os.DevNull), os.Setenv("PGSERVICEFILE", os.DevNull))
})

// postgresqlKeys are what a DSN may say: not service, servicefile and passfile, which have the driver read files for
// others' secrets.
var postgresqlKeys = []string{"host", "port", "dbname", "user", "password", "ssl", "sslmode", "sslrootcert", "sslcert",
	"sslkey", "sslpassword", "sslcertmode", "sslnegotiation", "sslsni", "channel_binding", "require_auth",
	"connect_timeout", "target_session_attrs", "options", "application_name", "timezone", "client_encoding", "datestyle",
	"statement_timeout", "lock_timeout", "min_protocol_version", "max_protocol_version", "krbsrvname", "krbspn"}

func parsePostgresql(dsn string) (*pgx.ConnConfig, error) {
	var options pgx.ParseConfigOptions
	options.ConnStringAllowedKeys = postgresqlKeys
	return pgx.ParseConfigWithOptions(dsn, options)
}

// postgresqlConfig is how to reach a server. Of one that somebody else started, tables are those of the schema.
func postgresqlConfig(c Config) (*pgx.ConnConfig, error) {
	clearDriverEnv()
	if c.At.Remote != "" {
		config, err := parsed(c.At, "it as pgx takes it, postgres://user:password@host:port/database, with keys of "+
			"PostgreSQL's documentation and none that names another file of passwords or services", parsePostgresql)
		if err != nil {
			return nil, err
		}
		config.RuntimeParams["search_path"], config.RuntimeParams["application_name"] = c.schema(""), "plimsoll"
		config.DialFunc = pgconn.DialFunc(c.budget.bound(dialing(config.DialFunc)))
		return config, nil
	}
	config, err := pgx.ParseConfig(fmt.Sprintf(
		"host=/ user=%s dbname=postgres sslmode=disable passfile=/dev/null servicefile=/dev/null", database.PostgresqlUser))
	if err != nil {
		return nil, err
	}
	config.DialFunc = pgconn.DialFunc(c.budget.bound(reach{c.At}.DialContext))
	config.RuntimeParams["application_name"] = "plimsoll"
	return config, nil
}

// check sees that the records are what the caller takes them for.
func (p *postgresqlClient) check(ctx context.Context, c Config) error {
	value, err := p.read(ctx, "SELECT "+factsColumn+" FROM "+factsTable)
	if err != nil {
		return err
	}
	return sameSizes(string(value), c)
}

// Version is that of the server: "15.20".
func (p *postgresqlClient) Version() string {
	return plainVersion(p.conn.ParameterStatus("server_version"))
}

// Setting implements SettingReader.
func (p *postgresqlClient) Setting(ctx context.Context, name string) (string, error) {
	value, err := p.read(ctx, "SELECT current_setting($1)", []byte(name))
	return string(value), err
}

// Read implements Client.
func (p *postgresqlClient) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	return p.read(ctx, "SELECT "+p.table.named(field)+" FROM "+recordsTable+" WHERE ycsb_key = $1", key)
}

// read returns the values of the one row that a statement gives.
func (p *postgresqlClient) read(ctx context.Context, text string, args ...[]byte) ([]byte, error) {
	p.value = p.value[:0]
	found, _, err := p.do(ctx, text, func(values [][]byte) {
		for _, v := range values {
			p.value = append(p.value, v...)
		}
	}, args...)
	if err == nil && found == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return p.value, nil
}

// Scan implements Client.
func (p *postgresqlClient) Scan(ctx context.Context, key []byte, records, field int) (found int, err error) {
	text := "SELECT " + p.table.named(field) + " FROM " + recordsTable +
		" WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2"
	found, _, err = p.do(ctx, text, func([][]byte) {}, key, eightBytes(int64(records)))
	return found, err
}

// Update implements Client.
func (p *postgresqlClient) Update(ctx context.Context, key []byte, field int, value []byte) error {
	text := "UPDATE " + recordsTable + " SET " + p.table.set(field) + " WHERE ycsb_key = $1"
	_, changed, err := p.do(ctx, text, nil, append([][]byte{key}, p.table.split(field, value)...)...)
	if err == nil && changed == 0 {
		err = ErrNotFound
	}
	return err
}

// Insert implements Client.
func (p *postgresqlClient) Insert(ctx context.Context, key []byte, value []byte) error {
	text := "INSERT INTO " + recordsTable + " VALUES (" + p.table.numbered() + ")"
	_, _, err := p.do(ctx, text, nil, append([][]byte{key}, p.table.split(AllFields, value)...)...)
	return err
}

// Close implements Client.
func (p *postgresqlClient) Close() error {
	if p.broken == nil {
		p.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // it says goodbye, and does not wait for an answer
	_ = p.conn.Close(now)
	return nil
}

// do runs a statement, prepared when it is met first, has each row that comes looked at, and
// returns how many came, and how many were changed.
func (p *postgresqlClient) do(
	ctx context.Context, text string, row func(values [][]byte), args ...[]byte,
) (came int, changed int64, err error) {
	if p.broken != nil {
		return 0, 0, p.broken
	}
	name, known := p.prepared[text]
	if !known {
		name = "s" + strconv.Itoa(len(p.prepared))
		if _, err := p.conn.Prepare(ctx, name, text, nil); err != nil {
			return 0, 0, p.failed(ctx, err)
		}
		p.prepared[text] = name
	}
	results := p.conn.ExecPrepared(ctx, name, args, inBinary, inBinary)
	for results.NextRow() {
		came++
		if row != nil {
			row(results.Values())
		}
	}
	tag, err := results.Close()
	if err != nil {
		return came, 0, p.failed(ctx, err)
	}
	return came, tag.RowsAffected(), nil
}

// failed is an error as clients tell it. After an answer of the server the connection goes on.
func (p *postgresqlClient) failed(ctx context.Context, err error) error {
	var refusal *pgconn.PgError
	switch closed := p.conn.IsClosed(); {
	case errors.As(err, &refusal) && !closed:
		return &ServerError{Said: refusal.Message}
	case !closed:
		return err
	}
	p.broken = fmt.Errorf("%w: %w", ErrClosed, err)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return p.broken
}

// rows are columns with the numbered parameters of PostgreSQL.
type rows struct{ columns }

// set sets a field, or all, to the parameters behind the key.
func (r rows) set(field int) string {
	return r.join(field, func(name string, at int) string { return name + " = $" + strconv.Itoa(at+2) })
}

// numbered is a parameter for the key and for each field.
func (r rows) numbered() string {
	return "$1, " + r.join(AllFields, func(_ string, at int) string { return "$" + strconv.Itoa(at+2) })
}

// declared declares all fields.
func (r rows) declared() string {
	return r.join(AllFields, func(name string, _ int) string { return name + " bytea NOT NULL" })
}

// eightBytes is a bigint as it goes over the wire.
func eightBytes(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n))
}

func postgresqlAnswers(ctx context.Context, server database.Address) error {
	config, err := postgresqlConfig(Config{At: server})
	if err != nil {
		return err
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// loadPostgresql lays out all records in a server that has none. Rows are added in the order
// of their keys, and the index is made when all are there; nothing of that goes through the
// log, as the table is new in the same transaction.
func loadPostgresql(ctx context.Context, c Config, d database.Dataset) (err error) {
	config, err := postgresqlConfig(c)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if c.At.Remote != "" {
		if err := postgresqlSchema(ctx, conn, c); err != nil {
			return err
		}
	}
	if d.Warehouses > 0 {
		return postgresqlTPCC(ctx, conn, c, d.Warehouses)
	}
	in, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	table := rows{columns{fields: d.Fields}}
	create := fmt.Sprintf("CREATE TABLE %s (ycsb_key text NOT NULL, %s)", recordsTable, table.declared())
	if percent, err := strconv.Atoi(c.Options["fillfactor"]); err == nil {
		create += fmt.Sprintf(" WITH (fillfactor = %d)", percent)
	}
	if err := run(ctx, in, create); err != nil {
		return err
	}
	names := append([]string{"ycsb_key"}, strings.Split(table.named(AllFields), ", ")...)
	added, err := in.CopyFrom(ctx, pgx.Identifier{recordsTable}, names, pgx.CopyFromFunc(table.iterate(d)))
	if err != nil {
		return fmt.Errorf("add record %d of %d: %w", added, d.Records, err)
	}
	err = run(ctx, in, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (ycsb_key)", recordsTable),
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s text)", factsTable, factsColumn),
		fmt.Sprintf("INSERT INTO %s VALUES ('%s')", factsTable, sizes(d.Fields, d.FieldBytes)))
	if err != nil {
		return err
	}
	if err := in.Commit(ctx); err != nil {
		return fmt.Errorf("commit the records: %w", err)
	}
	return settled(ctx, conn, c.At, recordsTable)
}

// settled has the server do at once what the first reads would write: that rows are visible to all. Of what is
// not Plimsoll's nothing is touched.
func settled(ctx context.Context, conn *pgx.Conn, at database.Address, tables ...string) error {
	if at.Remote != "" {
		return run(ctx, conn, "VACUUM (FREEZE, ANALYZE) "+strings.Join(tables, ", "))
	}
	return run(ctx, conn, "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")
}

// postgresqlSchema makes the schema of a server that somebody else started.
func postgresqlSchema(ctx context.Context, conn *pgx.Conn, c Config) error {
	in := c.schema("")
	var exists bool
	var tables []string
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1), "+
		"ARRAY(SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "+
		"WHERE n.nspname = $1 AND relkind NOT IN ('i', 'I', 't'))", in).Scan(&exists, &tables)
	if err != nil {
		return fmt.Errorf("look for schema %s: %w", in, err)
	}
	replaces, err := mayMake(in, exists, tables, c.Options)
	if err != nil {
		return err
	}
	name := pgx.Identifier{in}.Sanitize()
	if replaces {
		if err := run(ctx, conn, "DROP SCHEMA "+name+" CASCADE"); err != nil {
			return err
		}
	}
	// Both or none: what has no facts is nobody's of ours.
	return run(ctx, conn, fmt.Sprintf("CREATE SCHEMA %[1]s; CREATE TABLE %[1]s.%[2]s (%[3]s text)", name, factsTable,
		factsColumn))
}

// postgresqlDialect is how TPC-C speaks to a database of a server, or to a schema of one that somebody else started.
func postgresqlDialect(c Config, in string) dialect {
	return dialect{
		name: "postgres", in: in,
		connect: func(ctx context.Context) (driver.Conn, error) {
			config, err := postgresqlConfig(c)
			if err != nil {
				return nil, err
			}
			if c.At.Remote == "" {
				config.Database = in
			}
			return stdlib.GetConnector(*config).Connect(ctx)
		},
		message: func(err error) (string, bool) {
			var said *pgconn.PgError
			if !errors.As(err, &said) {
				return "", false
			}
			return said.Message, true
		},
	}
}

// postgresqlTPCC makes TPC-C's database, and fills it.
func postgresqlTPCC(ctx context.Context, conn *pgx.Conn, c Config, warehouses int) error {
	if c.At.Remote != "" {
		if err := loadTPCC(ctx, postgresqlDialect(c, c.schema("")), warehouses); err != nil {
			return err
		}
		return settled(ctx, conn, c.At, made[2:]...)
	}
	if err := run(ctx, conn, "CREATE DATABASE "+database.TPCCDatabase); err != nil {
		return err
	}
	if err := loadTPCC(ctx, postgresqlDialect(c, database.TPCCDatabase), warehouses); err != nil {
		return err
	}
	config := conn.Config().Copy()
	config.Database = database.TPCCDatabase
	there, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, there, "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT"), there.Close(ctx))
}

// run runs statements one after the other.
func run(ctx context.Context, on interface {
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
}, texts ...string) error {
	for _, text := range texts {
		if _, err := on.Exec(ctx, text); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	return nil
}

// iterate returns a function that returns the next row of a dataset, and nil behind the last.
func (r rows) iterate(d database.Dataset) func() ([]any, error) {
	next, values := int64(0), make([]any, 1+d.Fields)
	var key, value []byte
	return func() ([]any, error) {
		if next == d.Records {
			return nil, nil
		}
		key, value = database.Key(key[:0], next), database.Value(value[:0], d, next)
		values[0] = string(key)
		for i, field := range r.split(AllFields, value) {
			values[1+i] = field
		}
		next++
		return values, nil
	}
}
