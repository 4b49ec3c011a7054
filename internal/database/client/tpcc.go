package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/pingcap/go-tpc/tpcc"

	"plimsoll/internal/database"
)

// Transactor is a client that runs transactions of TPC-C instead of asking for records.
type Transactor interface {
	// Do runs one transaction, with input of its own, of a kind by the name that
	// measurements have it: "new-order".
	Do(ctx context.Context, transaction string) error
}

// transactions are TPC-C's, in the order of go-tpc's weights.
var transactions = []string{"new-order", "payment", "order-status", "delivery", "stock-level"}

// dialect is a database that go-tpc knows.
type dialect struct {
	name string // go-tpc's
	in   string // database of the tables
	// connect makes a connection as database/sql has it.
	connect func(ctx context.Context) (driver.Conn, error)
	message func(error) (text string, ok bool) // of an error, by the server
}

// tpccClient runs go-tpc's transactions on one connection. go-tpc draws a transaction itself;
// so that its kind is known, there is a workload of each kind alone. All share the connection, and
// what is prepared on it: each workload prepares the statements of all kinds.
type tpccClient struct {
	noRecords
	dialect dialect
	conn    driver.Conn
	db      *sql.DB
	kinds   map[string]tpccKind
	broken  error
}

// tpccKind is the workload of one kind of transaction, and what go-tpc keeps for its thread.
type tpccKind struct {
	work interface {
		Run(ctx context.Context, thread int) error
	}
	state context.Context //nolint:containedctx // go-tpc keeps the state of a thread in one
}

// dialTPCC makes a connection, and checks that the server has the warehouses.
func dialTPCC(ctx context.Context, d dialect, warehouses int) (c Client, err error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	connection := &oneConnection{conn: conn, prepared: map[string]driver.Stmt{}}
	t := &tpccClient{dialect: d, conn: conn, db: sql.OpenDB(connection), kinds: map[string]tpccKind{}}
	var has int
	err = t.db.QueryRowContext(ctx, "SELECT count(*) FROM warehouse").Scan(&has)
	if err == nil && has != warehouses {
		err = fmt.Errorf("it has %d warehouses, and not %d: this is another dataset", has, warehouses)
	}
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("see what the server holds: %w", err)
	}
	for i, kind := range transactions {
		weights := make([]int, len(transactions))
		weights[i] = 100
		work, err := tpcc.NewWorkloader(t.db, d.config(warehouses, 1, weights))
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		state := work.InitThread(context.WithoutCancel(ctx), 0)
		t.kinds[kind] = tpccKind{work, state}
		// The first run prepares statements, which is no part of a transaction that is measured.
		connection.refuses = true
		err = work.Run(joined{ctx, state}, 0)
		connection.refuses = false
		if !errors.Is(err, errRefused) {
			return nil, errors.Join(fmt.Errorf("prepare the statements of TPC-C: %w", err), t.Close())
		}
	}
	return t, nil
}

// config is go-tpc's.
func (d dialect) config(warehouses, threads int, weights []int) *tpcc.Config {
	return &tpcc.Config{Driver: d.name, DBName: d.in, Threads: threads, Parts: 1, PartitionType: tpcc.PartitionTypeHash,
		Warehouses: warehouses, Weight: weights}
}

// Do implements Transactor.
func (t *tpccClient) Do(ctx context.Context, transaction string) error {
	if t.broken != nil {
		return t.broken
	}
	kind, known := t.kinds[transaction]
	if !known {
		return fmt.Errorf("TPC-C has no transaction %q", transaction)
	}
	err := kind.work.Run(joined{ctx, kind.state}, 0)
	if err == nil {
		return nil
	}
	if said, ok := t.dialect.message(err); ok && ctx.Err() == nil {
		return &ServerError{Said: said}
	}
	t.broken = fmt.Errorf("%w: %w", ErrClosed, err)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return t.broken
}

// joined is a context whose values are another's.
type joined struct {
	context.Context //nolint:containedctx // it is one
	values          context.Context
}

// Value implements context.Context.
func (j joined) Value(key any) any {
	if v := j.values.Value(key); v != nil {
		return v
	}
	return j.Context.Value(key)
}

// Version is that of the server.
func (t *tpccClient) Version() string {
	var version string
	if t.db.QueryRowContext(context.Background(), "SELECT version()").Scan(&version) != nil {
		return ""
	}
	return plainVersion(version)
}

// Close implements Client.
func (t *tpccClient) Close() error {
	if t.broken == nil {
		t.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	_ = t.conn.Close() // and with it all that was prepared
	return nil
}

// noRecords is what a client of tables answers that is asked for records.
type noRecords struct{}

var errNoRecords = errors.New("the database has TPC-C's tables, and no records")

// Read implements Client: it says whether the server answers.
func (noRecords) Read(context.Context, []byte, int) ([]byte, error) { return nil, nil }

// Scan implements Client.
func (noRecords) Scan(context.Context, []byte, int, int) (int, error) { return 0, errNoRecords }

// Update implements Client.
func (noRecords) Update(context.Context, []byte, int, []byte) error { return errNoRecords }

// Insert implements Client.
func (noRecords) Insert(context.Context, []byte, []byte) error { return errNoRecords }

// fullConn is all that database/sql and go-tpc ask of a connection.
type fullConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.QueryerContext
	driver.ExecerContext
	driver.Pinger
	driver.NamedValueChecker
}

// oneConnection gives the same connection whenever one is made.
type oneConnection struct {
	conn     driver.Conn
	prepared map[string]driver.Stmt // by text
	refuses  bool                   // transactions
}

// errRefused is the error of transactions while oneConnection refuses them.
var errRefused = errors.New("no transaction yet")

// Connect implements driver.Connector.
func (o *oneConnection) Connect(context.Context) (driver.Conn, error) {
	full, ok := o.conn.(fullConn)
	if !ok {
		return nil, fmt.Errorf("a %T lacks what TPC-C needs", o.conn)
	}
	return lent{full, o}, nil
}

// Driver implements driver.Connector.
func (o *oneConnection) Driver() driver.Driver { return nil }

// lent is a connection that its user does not close.
type lent struct {
	fullConn
	from *oneConnection
}

// Close implements driver.Conn.
func (lent) Close() error { return nil }

// BeginTx implements driver.ConnBeginTx.
func (l lent) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if l.from.refuses {
		return nil, errRefused
	}
	return l.fullConn.BeginTx(ctx, options)
}

// PrepareContext implements driver.ConnPrepareContext. A text is prepared once.
func (l lent) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if known, ok := l.from.prepared[text]; ok {
		return known, nil
	}
	made, err := l.fullConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	full, ok := made.(fullStmt)
	if !ok {
		return nil, fmt.Errorf("a %T lacks what TPC-C needs", made)
	}
	l.from.prepared[text] = lentStmt{full}
	return lentStmt{full}, nil
}

// fullStmt is all that database/sql and go-tpc ask of a statement.
type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// lentStmt is a statement that its users do not close.
type lentStmt struct{ fullStmt }

// Close implements driver.Stmt.
func (lentStmt) Close() error { return nil }

// mostTPCCLoaders is how many connections load warehouses at the same time.
const mostTPCCLoaders = 4

// loadTPCC makes TPC-C's tables and fills them.
func loadTPCC(ctx context.Context, d dialect, warehouses int) error {
	db := sql.OpenDB(connector{d})
	defer db.Close()
	threads := min(mostTPCCLoaders, warehouses)
	work, err := tpcc.NewWorkloader(db, d.config(warehouses, threads, nil))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		thread int
		err    error
	}
	ends, errs := make(chan end, threads), make([]error, threads)
	for i := range threads {
		go func() {
			ends <- end{i, func() (err error) {
				defer func() { unpanic(recover(), &err) }()
				state := work.InitThread(ctx, i)
				defer work.CleanupThread(state, i)
				return work.Prepare(state, i)
			}()}
		}()
	}
	for range threads {
		e := <-ends
		errs[e.thread] = e.err
		if e.thread == 0 && e.err != nil {
			break // it makes the tables, which go-tpc's other threads may await without end
		}
	}
	return errors.Join(errs...)
}

// connector makes connections of a dialect.
type connector struct{ d dialect }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) { return c.d.connect(ctx) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return nil }

// tpccConditions are the first four consistency conditions of TPC-C (clauses 3.3.2.1 to 3.3.2.4):
// each counts what breaks it.
var tpccConditions = []struct{ clause, says, text string }{
	{"3.3.2.1", "W_YTD = sum(D_YTD)",
		`SELECT count(*) FROM (SELECT w_id FROM warehouse JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd
			HAVING w_ytd <> sum(d_ytd)) broken`},
	{"3.3.2.2", "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
		`SELECT count(*) FROM district
			JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) o
				ON o_w_id = d_w_id AND o_d_id = d_id
			LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) n
				ON no_w_id = d_w_id AND no_d_id = d_id
			WHERE d_next_o_id - 1 <> o.last OR n.last IS NOT NULL AND d_next_o_id - 1 <> n.last`},
	{"3.3.2.3", "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER",
		`SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id
			HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) broken`},
	{"3.3.2.4", "sum(O_OL_CNT) = rows of ORDER-LINE",
		`SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id) o
			JOIN (SELECT ol_w_id, ol_d_id, count(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id) l
				ON ol_w_id = o_w_id AND ol_d_id = o_d_id
			WHERE o.n <> l.n`},
}

// CheckTPCC sees that TPC-C's first four consistency conditions hold of the tables behind a
// socket, which nobody writes to meanwhile. The error names each that does not.
func CheckTPCC(ctx context.Context, name string, c Config) error {
	p, known := protocols[name]
	if !known || p.sql == nil {
		return unknown(name)
	}
	return c.guarded(func(c Config, _ *guard) error { return checkTPCC(ctx, p.sql(c, c.schema(database.TPCCDatabase))) })
}

func checkTPCC(ctx context.Context, d dialect) error {
	db := sql.OpenDB(connector{d})
	defer db.Close()
	var errs []error
	for _, condition := range tpccConditions {
		var broken int64
		err := db.QueryRowContext(ctx, condition.text).Scan(&broken)
		switch {
		case err != nil:
			return fmt.Errorf("check condition %s of TPC-C: %w", condition.clause, err)
		case broken > 0:
			errs = append(errs, fmt.Errorf("condition %s of TPC-C, %s, does not hold in %d places", condition.clause,
				condition.says, broken))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the database lost or tore transactions: %w", err)
	}
	return nil
}
