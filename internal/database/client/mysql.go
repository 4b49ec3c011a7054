package client

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"

	"plimsoll/internal/database"
)

// mysqlClient is one connection to MySQL or MariaDB, with a prepared statement for each kind of
// operation, as YCSB's own binding has it. It uses the driver itself, without the pool that
// database/sql puts over it: a thread has one connection.
type mysqlClient struct {
	conn     driver.Conn
	table    columns
	prepared map[string]driver.Stmt // by their texts
	row      []driver.Value
	value    []byte // that the last read returned
	broken   error  // why the connection is of no use any more
}

// mysqlConnect connects to a server, to a database there or to none. Each connection of the driver is made here, also
// those that database/sql makes in its goroutines, which have no other guard against panics.
func mysqlConnect(ctx context.Context, c Config, in string) (conn driver.Conn, err error) {
	defer func() { unpanic(recover(), &err) }()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = database.MysqlUser, "unix", c.At.String()
	config.DialFunc = c.budget.bound(reach{c.At}.DialContext)
	if c.At.Remote != "" {
		config, err = mysqlElsewhere(c.At)
		if err != nil {
			return nil, err
		}
		config.DialFunc = c.budget.bound(config.DialFunc)
	}
	config.DBName = in
	config.ClientFoundRows = true // an update with what is there already is one
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// mysqlElsewhere is how to reach a server that somebody else started. That server is not trusted with files of this
// host, nor with a password where nothing shows that it is the right one.
func mysqlElsewhere(server database.Address) (*mysql.Config, error) {
	config, err := parsed(server, "it as go-sql-driver takes it: user:password@tcp(host:port)/", mysql.ParseDSN)
	if err != nil {
		return nil, err
	}
	config.AllowAllFiles, config.AllowOldPasswords = false, false
	if config.TLS == nil || config.TLS.InsecureSkipVerify || config.AllowFallbackToPlaintext {
		config.AllowCleartextPasswords = false
	}
	return config, nil
}

func dialMysql(ctx context.Context, c Config) (Client, error) {
	conn, err := mysqlConnect(ctx, c, c.schema(database.MysqlDatabase))
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	m := &mysqlClient{conn: conn, table: columns{fields: c.Fields}, prepared: map[string]driver.Stmt{}}
	value, err := m.read(ctx, "SELECT "+factsColumn+" FROM "+factsTable)
	if err == nil {
		err = sameSizes(string(value), c)
	}
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("see what the server holds: %w", err)
	}
	return m, nil
}

// Version asks the server: "10.11.19-MariaDB" is "10.11.19".
func (m *mysqlClient) Version() string {
	value, err := m.read(context.Background(), "SELECT VERSION()")
	if err != nil {
		return ""
	}
	return plainVersion(string(value))
}

// Setting implements SettingReader. Names are those that package database lets through.
func (m *mysqlClient) Setting(ctx context.Context, name string) (string, error) {
	text := "SELECT CAST(@@GLOBAL.`" + strings.ReplaceAll(name, ".", "`.`") + "` AS CHAR)"
	value, err := m.read(ctx, text)
	return string(value), err
}

// Read implements Client.
func (m *mysqlClient) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	return m.read(ctx, "SELECT "+m.table.named(field)+" FROM "+recordsTable+" WHERE ycsb_key = ?", key)
}

// read returns the values of the one row that a statement gives.
func (m *mysqlClient) read(ctx context.Context, text string, args ...driver.Value) ([]byte, error) {
	m.value = m.value[:0]
	found, err := m.query(ctx, text, args, func(values []driver.Value) {
		for _, v := range values {
			switch v := v.(type) {
			case []byte:
				m.value = append(m.value, v...)
			case string:
				m.value = append(m.value, v...)
			}
		}
	})
	if err == nil && found == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return m.value, nil
}

// Scan implements Client.
func (m *mysqlClient) Scan(ctx context.Context, key []byte, records, field int) (found int, err error) {
	text := "SELECT " + m.table.named(field) + " FROM " + recordsTable + " WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?"
	return m.query(ctx, text, []driver.Value{key, int64(records)}, func([]driver.Value) {})
}

// Update implements Client.
func (m *mysqlClient) Update(ctx context.Context, key []byte, field int, value []byte) error {
	set := m.table.join(field, func(name string, _ int) string { return name + " = ?" })
	text := "UPDATE " + recordsTable + " SET " + set + " WHERE ycsb_key = ?"
	matched, err := m.exec(ctx, text, append(values(m.table.split(field, value)), key))
	if err == nil && matched == 0 {
		err = ErrNotFound
	}
	return err
}

// Insert implements Client.
func (m *mysqlClient) Insert(ctx context.Context, key []byte, value []byte) error {
	text := "INSERT INTO " + recordsTable + " VALUES " + m.table.row()
	_, err := m.exec(ctx, text, append([]driver.Value{key}, values(m.table.split(AllFields, value))...))
	return err
}

// Close implements Client.
func (m *mysqlClient) Close() error {
	if m.broken == nil {
		m.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	_ = m.conn.Close()
	return nil
}

// prepare returns the statement of a text, prepared when it is met first.
func (m *mysqlClient) prepare(ctx context.Context, text string) (driver.Stmt, error) {
	if m.broken != nil {
		return nil, m.broken
	}
	if s := m.prepared[text]; s != nil {
		return s, nil
	}
	s, err := m.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, m.failed(ctx, err)
	}
	m.prepared[text] = s
	return s, nil
}

// query runs a statement, has each row that comes looked at, and returns how many came.
func (m *mysqlClient) query(
	ctx context.Context, text string, args []driver.Value, row func(values []driver.Value),
) (came int, err error) {
	s, err := m.prepare(ctx, text)
	if err != nil {
		return 0, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, named(args))
	if err != nil {
		return 0, m.failed(ctx, err)
	}
	if n := len(rows.Columns()); cap(m.row) < n {
		m.row = make([]driver.Value, n)
	}
	m.row = m.row[:len(rows.Columns())]
	for {
		err = rows.Next(m.row)
		if err != nil {
			break
		}
		came++
		row(m.row)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return came, m.failed(ctx, err)
	}
	return came, nil
}

// exec runs a statement, and returns how many rows it is about.
func (m *mysqlClient) exec(ctx context.Context, text string, args []driver.Value) (int64, error) {
	s, err := m.prepare(ctx, text)
	if err != nil {
		return 0, err
	}
	done, err := s.(driver.StmtExecContext).ExecContext(ctx, named(args))
	if err != nil {
		return 0, m.failed(ctx, err)
	}
	return done.RowsAffected()
}

// failed is an error as clients tell it. After an answer of the server the connection goes on.
func (m *mysqlClient) failed(ctx context.Context, err error) error {
	var refusal *mysql.MySQLError
	if errors.As(err, &refusal) && ctx.Err() == nil {
		return &ServerError{Said: refusal.Message}
	}
	m.broken = fmt.Errorf("%w: %w", ErrClosed, err)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return m.broken
}

// named are values as the driver takes them.
func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

func values(parts [][]byte) []driver.Value {
	all := make([]driver.Value, len(parts))
	for i, v := range parts {
		all[i] = v
	}
	return all
}

func mysqlAnswers(ctx context.Context, server database.Address) error {
	conn, err := mysqlConnect(ctx, Config{At: server}, "")
	if err != nil {
		return err
	}
	return conn.Close()
}

// mysqlDialect is how TPC-C speaks to a database of a server.
func mysqlDialect(c Config, in string) dialect {
	return dialect{
		name: "mysql", in: in,
		connect: func(ctx context.Context) (driver.Conn, error) { return mysqlConnect(ctx, c, in) },
		message: func(err error) (string, bool) {
			var said *mysql.MySQLError
			if !errors.As(err, &said) {
				return "", false
			}
			return said.Message, true
		},
	}
}

// loadTPCC makes TPC-C's database, and fills it.
func (m *mysqlClient) loadTPCC(ctx context.Context, c Config, warehouses int) error {
	in := c.schema(database.TPCCDatabase)
	texts := []string{"CREATE DATABASE " + in}
	if c.At.Remote != "" {
		texts = append(texts, fmt.Sprintf("CREATE TABLE %s.%s (%s TEXT)", in, factsTable, factsColumn))
	}
	for _, text := range texts {
		if _, err := m.exec(ctx, text, nil); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	return loadTPCC(ctx, mysqlDialect(c, in), warehouses)
}

// clear sees that a database of a server that somebody else started may be made, and drops what is in its place.
func (m *mysqlClient) clear(ctx context.Context, c Config) error {
	in := c.schema("")
	names := func(text string) (all []string, err error) {
		_, err = m.query(ctx, text, []driver.Value{in}, func(values []driver.Value) {
			all = append(all, fmt.Sprintf("%s", values[0]))
		})
		return all, err
	}
	schemas, err := names("SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?")
	if err != nil {
		return fmt.Errorf("look for database %s: %w", in, err)
	}
	tables, err := names("SELECT table_name FROM information_schema.tables WHERE table_schema = ?")
	if err != nil {
		return fmt.Errorf("look into database %s: %w", in, err)
	}
	replaces, err := mayMake(in, len(schemas) > 0, tables, c.Options)
	if err == nil && replaces {
		_, err = m.exec(ctx, "DROP DATABASE "+in, nil)
	}
	return err
}

const (
	mostMysqlValues = 60_000  // of a statement; the protocol counts them in 16 bits
	mostMysqlBytes  = 4 << 20 // of a statement; servers take four times as many, unless told otherwise
)

// loadMysql lays out all records in a server that has none, in the order of their keys, many to
// a statement.
func loadMysql(ctx context.Context, c Config, d database.Dataset) (err error) {
	conn, err := mysqlConnect(ctx, c, "")
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	table := columns{fields: d.Fields}
	m := &mysqlClient{conn: conn, table: table, prepared: map[string]driver.Stmt{}}
	defer func() { err = errors.Join(err, m.Close()) }()
	if c.At.Remote != "" {
		if err := m.clear(ctx, c); err != nil {
			return err
		}
	}
	if d.Warehouses > 0 {
		return m.loadTPCC(ctx, c, d.Warehouses)
	}
	in := c.schema(database.MysqlDatabase) + "."
	declared := table.join(AllFields, func(name string, _ int) string { return name + " LONGBLOB NOT NULL" })
	for _, text := range []string{
		"CREATE DATABASE " + c.schema(database.MysqlDatabase) + " CHARACTER SET binary",
		fmt.Sprintf("CREATE TABLE %s%s (%s TEXT NOT NULL) ENGINE=InnoDB", in, factsTable, factsColumn),
		fmt.Sprintf("CREATE TABLE %s%s (ycsb_key VARBINARY(%d) NOT NULL PRIMARY KEY, %s) ENGINE=InnoDB", in, recordsTable,
			database.KeyBytes, declared),
	} {
		if _, err := m.exec(ctx, text, nil); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	batchSize := min(int64(mostMysqlValues/(d.Fields+1)), mostMysqlBytes/(d.RecordBytes()+int64(database.KeyBytes)))
	batchSize = max(1, batchSize)
	for next := int64(0); next < d.Records; {
		rows := min(batchSize, d.Records-next)
		args := make([]driver.Value, 0, rows*int64(d.Fields+1))
		for range rows {
			args = append(args, database.Key(nil, next))
			args = append(args, values(table.split(AllFields, database.Value(nil, d, next)))...)
			next++
		}
		places := strings.TrimSuffix(strings.Repeat(table.row()+",", int(rows)), ",")
		text := "INSERT INTO " + in + recordsTable + " VALUES " + places
		if _, err := m.exec(ctx, text, args); err != nil {
			return fmt.Errorf("add records up to %d of %d: %w", next, d.Records, err)
		}
	}
	fact := fmt.Sprintf("INSERT INTO %s%s VALUES ('%s')", in, factsTable, sizes(d.Fields, d.FieldBytes))
	if _, err := m.exec(ctx, fact, nil); err != nil {
		return fmt.Errorf("%.60s: %w", fact, err)
	}
	_, err = m.query(ctx, "ANALYZE TABLE "+in+recordsTable, nil, func([]driver.Value) {})
	return err
}
