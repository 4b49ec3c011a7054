package loader

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/image"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// counts are operations as a server counts them.
type counts struct{ reads, updates, inserts int64 }

// databases are those that have an image here.
var databases = []known{
	{name: "postgresql", option: [3]string{"work_mem", "8192kB", "8MB"},
		open: openPostgresql, counted: postgresqlCounts},
	{name: "mariadb", option: [3]string{"innodb_lru_scan_depth", "512", "512"},
		open: openMysql, counted: mysqlCounts, checks: 1},
	{name: "mysql", option: [3]string{"innodb_lru_scan_depth", "512", "512"},
		open: openMysql, counted: mysqlCounts, checks: 1},
	{name: "cassandra", option: [3]string{"concurrent_compactors", "2", "2"},
		counted: cassandraCounts, upserts: true, unordered: true,
		durable: func(c *yaml.Node) { parameter(c, "commitlog_sync", "batch") }},
	{name: "mongodb", option: [3]string{"quiet", "false", "false"}, counted: mongodbCounts, checks: 1,
		durable: func(c *yaml.Node) { parameter(c, "journal", "true") }},
}

// known describes a database under test.
type known struct {
	name      string
	option    [3]string                                    // a name, what it is set to, and what the server says then
	open      func(at database.Address, in string) *sql.DB // nil where it has no SQL
	counted   func(t *testing.T, at database.Address) counts
	checks    int64                  // reads that count with which each connection begins
	upserts   bool                   // an update adds what is not there, an insert replaces what is; it counts both as one
	unordered bool                   // keys are in no order
	durable   func(below *yaml.Node) // what it has to be told to keep what was acknowledged; nil for nothing
}

// parameter adds one to those of a database.
func parameter(below *yaml.Node, key, value string) {
	below.Content = append(below.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key},
		&yaml.Node{Kind: yaml.ScalarNode, Value: value})
}

// named returns what is known of a database.
func named(name string) known {
	return databases[slices.IndexFunc(databases, func(d known) bool { return d.name == name })]
}

// made returns an image, which is made when it is asked for first in a week, and the store that has it.
func made(t testing.TB, r image.Recipe) (image.Image, *image.Store) {
	t.Helper()
	store := image.In(hosttest.Kept(t, "images", "../../image"))
	return imagetest.Made(t, store, r), store
}

// dataset is small, and has fields of an odd size.
var dataset = database.Dataset{Records: 3000, Fields: 4, FieldBytes: 33, Seed: 5}

// bed is a database whose data is laid out.
type bed struct {
	t      testing.TB
	server database.Server
	config Config
	output *bytes.Buffer
}

// lay makes an image, unpacks it, and plans to lay out data.
func lay(t testing.TB, name string, d database.Dataset) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("it makes an image of packages")
	}
	return layFrom(t, rootOf(t, name), name, d)
}

// layFrom plans to lay out data with the programs of a root.
func layFrom(t testing.TB, root *image.Root, name string, d database.Dataset) *bed {
	t.Helper()
	kinds := database.All()
	kind := kinds[slices.IndexFunc(kinds, func(k database.Kind) bool { return k.Name == name })]
	parameters := &yaml.Node{Kind: yaml.MappingNode}
	option := named(name).option
	set := &yaml.Node{Kind: yaml.MappingNode}
	parameter(set, option[0], option[1])
	parameters.Content = append(parameters.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "set"}, set)
	if of := named(name); of.durable != nil {
		of.durable(parameters)
	}
	server, problems := kind.Decode(parameters)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	account, err := root.Account(server.Image().Account)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &bed{t: t, server: server, output: &bytes.Buffer{}}
	b.config = Config{Root: root.Dir, Dir: filepath.Join(dir, "data"), Scratch: filepath.Join(dir, "scratch"),
		Account: account, Env: root.Env, Log: b.output}
	if err := os.Mkdir(b.config.Scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	b.config.Plan = b.plan(server.Load(b.config.Dir, d))
	return b
}

// imageOf is a database's image, and the store that has it.
func imageOf(t testing.TB, name string) (image.Image, *image.Store) {
	t.Helper()
	if name == "mongodb" {
		store := image.In(hosttest.Kept(t, "images", "../../image"))
		return imagetest.Mongodb(t, store, "../../../tools/ferretdb"), store
	}
	recipes := image.Recipes()
	return made(t, recipes[slices.IndexFunc(recipes, func(r image.Recipe) bool { return r.Name == name })])
}

// rootOf is the root of a database's image.
func rootOf(t testing.TB, name string) *image.Root {
	t.Helper()
	built, store := imageOf(t, name)
	root, err := store.Root(t.Context(), built, imagetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.Release)
	return root
}

// plan is what a step that loads has as a file.
func (b *bed) plan(step workload.Step) database.LoadPlan {
	b.t.Helper()
	plan, err := database.ReadLoadPlan(step.Files[database.LoadPlanName])
	if err != nil {
		b.t.Fatal(err)
	}
	return plan
}

// serve serves the data as an instance does while something is done.
func (b *bed) serve(do func(ctx context.Context, at database.Address)) {
	b.t.Helper()
	b.serveStep(b.server.Serve(database.DataDir), do)
}

// serveStep does the same with a step of the caller's.
func (b *bed) serveStep(step workload.Step, do func(ctx context.Context, at database.Address)) {
	b.t.Helper()
	c := b.config
	c.Plan = c.Plan.Serving(step)
	if err := c.serve(b.t.Context(), nil, nil, func(ctx context.Context, server database.Address) error {
		done := make(chan struct{})
		go func() { // t.Fatal ends it, and the server then
			defer close(done)
			do(ctx, server)
		}()
		<-done
		return nil
	}); err != nil {
		b.t.Fatalf("%v\n%s", err, b.output)
	}
}

// What is laid out is served, does what clients are asked for, and is counted by the server as
// by us.
func TestDataIsLaidOutAndServed(t *testing.T) {
	hosttest.Exclusive(t)
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			if d.name == "mysql" { // MariaDB has the same client
				hosttest.Soak(t)
			}
			before := hosttest.Look()
			b := lay(t, d.name, dataset)
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			b.serve(func(ctx context.Context, at database.Address) { operations(t, d, b.server.Client(), at) })
			b.serve(func(ctx context.Context, at database.Address) {
				plan := mixed(b.server.Client(), at)
				plan.Dataset.Records++ // operations inserts one
				countedBy(t, d.name, b.server.Client(), at, func() (did counts) {
					did = generate(t, plan)
					plan.Dataset.Records += did.inserts
					return did
				})
				d.agrees(t, plan)
			})
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// operations does each kind of operation, and sees what it did.
func operations(t *testing.T, kind known, clientInfo database.Client, server database.Address) {
	config := client.Config{
		At: server, Options: clientInfo.Options, Fields: dataset.Fields, FieldBytes: dataset.FieldBytes,
	}
	other := config
	other.Fields++
	_, err := client.Dial(t.Context(), clientInfo.Name, other)
	if err == nil || !strings.Contains(err.Error(), "another dataset") {
		t.Errorf("another dataset: %v", err)
	}
	c, err := client.Dial(t.Context(), clientInfo.Name, config)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	if said, err := c.(client.SettingReader).Setting(t.Context(), kind.option[0]); err != nil || said != kind.option[2] {
		t.Errorf("what was set of %v is %q, %v", kind.option, said, err)
	}
	if v, ok := c.(client.Versioned); !ok || v.Version() == "" {
		t.Error("it does not say which version it is")
	}
	want := func(number int64, field int, value []byte) {
		t.Helper()
		got, err := c.Read(t.Context(), database.Key(nil, number), field)
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("record %d, field %d: %x, %v; want %x", number, field, got, err, value)
		}
	}
	part := func(value []byte, field int) []byte {
		return value[field*dataset.FieldBytes : (field+1)*dataset.FieldBytes]
	}
	for _, number := range []int64{0, 1, 1234, dataset.Records - 1} {
		value := database.Value(nil, dataset, number)
		want(number, client.AllFields, value)
		want(number, 2, part(value, 2))
	}
	for _, s := range []struct{ from, records, found int64 }{
		{0, 10, 10}, {dataset.Records - 3, 10, 3}, {dataset.Records, 5, 0},
	} {
		found, err := c.Scan(t.Context(), database.Key(nil, s.from), int(s.records), client.AllFields)
		if kind.unordered && found > 0 && found <= int(s.records) && s.from < dataset.Records {
			continue
		}
		if err != nil || int64(found) != s.found && !kind.unordered {
			t.Errorf("%d records from %d on: %d, %v", s.records, s.from, found, err)
		}
	}
	value := database.Value(nil, dataset, 7)
	odd := bytes.Repeat([]byte{0, '\'', 0xff, '\\', '\n', '%'}, 6)[:dataset.FieldBytes]
	if err := c.Update(t.Context(), database.Key(nil, 7), 1, odd); err != nil {
		t.Error(err)
	}
	copy(part(value, 1), odd)
	want(7, client.AllFields, value)
	if err := c.Update(t.Context(), database.Key(nil, 8), client.AllFields, value); err != nil {
		t.Error(err)
	}
	want(8, client.AllFields, value)
	if err := c.Update(t.Context(), database.Key(nil, 8), client.AllFields, value); err != nil {
		t.Errorf("with what is there already: %v", err)
	}
	if err := c.Insert(t.Context(), database.Key(nil, dataset.Records), value); err != nil {
		t.Error(err)
	}
	want(dataset.Records, client.AllFields, value)
	var refusal *client.ServerError
	if err := c.Insert(t.Context(), database.Key(nil, 8), value); !errors.As(err, &refusal) && !kind.upserts {
		t.Errorf("a record that is there: %v", err)
	}
	missing := database.Key(nil, dataset.Records+1)
	if _, err := c.Read(t.Context(), missing, 0); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a record that is not there: %v", err)
	}
	if err := c.Update(t.Context(), missing, 0, odd); !errors.Is(err, client.ErrNotFound) && !kind.upserts {
		t.Errorf("an update of one: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := c.Read(late, database.Key(nil, 1), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too late: %v", err)
	}
	_ = c.Close()
	if _, err := c.Read(t.Context(), database.Key(nil, 1), 0); !errors.Is(err, client.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// threads are those of the generator.
const threads = 4

// mixed is a plan that reads, updates and inserts for a second.
func mixed(clientInfo database.Client, server database.Address) *ycsb.Plan {
	return &ycsb.Plan{
		Client: clientInfo.Name, Options: clientInfo.Options, At: server, Output: "out", Dataset: dataset,
		Mix:          ycsb.Mix{ycsb.Read: 0.4, ycsb.Update: 0.4, ycsb.Insert: 0.2},
		Distribution: ycsb.Zipfian, Threads: threads, Timeout: time.Minute, Seed: 1, Runtime: time.Second,
	}
}

// agrees checks that the server counts what the generator did: a plan, as often as it takes until there is an
// operation of each kind of its mix. The plan has the records that there are then.
func (d known) agrees(t *testing.T, plan *ycsb.Plan) {
	t.Helper()
	had, did, dialled := d.counted(t, plan.At), counts{}, int64(0)
	for wanted := kindsOf(plan.Mix); !did.has(wanted) && !t.Failed(); {
		more := generate(t, plan)
		plan.Dataset.Records += more.inserts
		did, dialled = counts{did.reads + more.reads, did.updates + more.updates, did.inserts + more.inserts}, dialled+threads
	}
	has := d.counted(t, plan.At)
	if d.upserts {
		did.updates, did.inserts = did.updates+did.inserts, 0
	}
	has = counts{has.reads - had.reads - dialled*d.checks, has.updates - had.updates, has.inserts - had.inserts}
	if has != did {
		t.Errorf("the server counted %+v, and we did %+v", has, did)
	}
}

// kindsOf returns one for each kind of operation that a mix has.
func kindsOf(mix ycsb.Mix) (wanted counts) {
	for o, share := range mix {
		if share > 0 {
			wanted.add(o, 1)
		}
	}
	return wanted
}

// has reports whether there are as many of each.
func (c counts) has(least counts) bool {
	return c.reads >= least.reads && c.updates >= least.updates && c.inserts >= least.inserts
}

// add counts operations of a kind.
func (c *counts) add(operation string, count int64) {
	switch operation {
	case ycsb.Read, ycsb.Scan:
		c.reads += count
	case ycsb.Update:
		c.updates += count
	case ycsb.Insert:
		c.inserts += count
	case ycsb.ReadModifyWrite:
		c.reads, c.updates = c.reads+count, c.updates+count
	}
}

// generate has the generator do what a plan says, and returns what it counted.
func generate(t *testing.T, plan *ycsb.Plan) (did counts) {
	var out bytes.Buffer
	if err := loadgen.Run(t.Context(), plan, loadgen.Options{Dial: client.Dial, Output: &out}); err != nil {
		t.Error(err)
	}
	var sum ycsb.Line
	for text := range bytes.Lines(out.Bytes()) {
		l, err := ycsb.ReadLine(text)
		if err != nil {
			t.Error(err)
		}
		sum.Add(&l)
	}
	for _, o := range sum.Operations {
		if o.Errors > 0 {
			t.Errorf("%d errors of %s", o.Errors, o.Name)
		}
		did.add(o.Name, int64(o.Count))
	}
	return did
}

// YCSB's six workloads do on MongoDB's protocol what they count.
func TestYCSBOnMongodb(t *testing.T) {
	hosttest.Soak(t)
	hosttest.Exclusive(t)
	b := lay(t, "mongodb", dataset)
	if err := Run(t.Context(), b.config); err != nil {
		t.Fatalf("%v\n%s", err, b.output)
	}
	b.serve(func(_ context.Context, server database.Address) {
		records := dataset.Records
		for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
			plan := planOf(t, fmt.Sprintf("{workload: %s, records: %d, fields: %d, field-size: %d, threads: %d, "+
				"database: {mongodb: {}}}", name, records, dataset.Fields, dataset.FieldBytes, threads))
			plan.At, plan.Options = server, b.server.Client().Options
			named("mongodb").agrees(t, plan)
			records = plan.Dataset.Records
		}
	})
}

// planOf is the plan of two seconds of a workload as an experiment declares it.
func planOf(t *testing.T, text string) *ycsb.Plan {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	w, problems := ycsb.Kind.Decode(doc.Content[0], nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	step, err := w.Drive(workload.Target{Path: "/data", Container: true}, workload.Timing{Runtime: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := ycsb.ReadPlan(step.Files["load.json"])
	if err != nil {
		t.Fatal(err)
	}
	plan.Gate = ""
	return plan
}

// openPostgresql opens a database of PostgreSQL.
func openPostgresql(server database.Address, in string) *sql.DB {
	config, err := pgx.ParseConfig("host=/ sslmode=disable dbname=" + in + " user=" + database.PostgresqlUser)
	if err != nil {
		panic(err)
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return socket.Dial(ctx, server) }
	return stdlib.OpenDB(*config)
}

// postgresqlCounts are what PostgreSQL counted of its table of records. Reads and updates look
// into its index.
func postgresqlCounts(t *testing.T, server database.Address) (c counts) {
	db := openPostgresql(server, "postgres")
	defer db.Close()
	// Processes tell what they did when they end.
	waited := "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	for others := 1; others > 0; {
		if err := db.QueryRowContext(t.Context(), waited).Scan(&others); err != nil {
			t.Error(err)
			return c
		}
	}
	text := "SELECT idx_scan - n_tup_upd, n_tup_upd, n_tup_ins FROM pg_stat_user_tables WHERE relname = 'usertable'"
	if err := db.QueryRowContext(t.Context(), text).Scan(&c.reads, &c.updates, &c.inserts); err != nil {
		t.Error(err)
	}
	return c
}

// cassandraCounts returns Cassandra's counters of its table of records, from its virtual tables.
func cassandraCounts(t *testing.T, server database.Address) (c counts) {
	counter := func(table string) (count int64) {
		text := "SELECT count FROM system_views." + table + " WHERE keyspace_name = 'plimsoll' AND table_name = 'usertable'"
		if err := client.AskCassandra(t.Context(), server, text, &count); err != nil {
			t.Error(err)
		}
		return count
	}
	return counts{reads: counter("local_read_latency"), updates: counter("local_write_latency")}
}

// mongodbCounts returns MongoDB's counters of commands.
func mongodbCounts(t *testing.T, server database.Address) (c counts) {
	status, err := client.AskMongodb(t.Context(), server, "serverStatus")
	if err != nil {
		t.Error(err)
		return c
	}
	count := func(command string) int64 {
		total, _ := status.Lookup("metrics", "commands", command, "total").AsInt64OK()
		return total
	}
	return counts{reads: count("find"), updates: count("update"), inserts: count("insert")}
}

// openMysql opens a database of MySQL or MariaDB.
func openMysql(server database.Address, in string) *sql.DB {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = database.MysqlUser, "unix", server.Socket, in
	connector, err := mysql.NewConnector(config)
	if err != nil {
		panic(err)
	}
	return sql.OpenDB(connector)
}

// mysqlCounts returns the counters of statements of MySQL or MariaDB.
func mysqlCounts(t *testing.T, server database.Address) (c counts) {
	db := openMysql(server, "")
	defer db.Close()
	for name, to := range map[string]*int64{"Com_select": &c.reads, "Com_update": &c.updates, "Com_insert": &c.inserts} {
		if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, to); err != nil {
			t.Error(err)
		}
	}
	return c
}

// What was acknowledged before a server was killed is there after it has recovered.
func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	hosttest.Exclusive(t)
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			if d.name != hosttest.Database {
				hosttest.Soak(t)
			}
			b := lay(t, d.name, dataset)
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			config := client.Config{Options: b.server.Client().Options, Fields: dataset.Fields, FieldBytes: dataset.FieldBytes}
			acknowledged := dataset.Records
			c := b.config
			c.Plan = c.Plan.Serving(b.server.Serve(database.DataDir))
			err := c.serve(t.Context(), nil, nil, func(ctx context.Context, server database.Address) error {
				config.At = server
				db, err := client.Dial(ctx, b.server.Client().Name, config)
				if err != nil {
					return err
				}
				defer func() { _ = db.Close() }()
				for {
					if acknowledged == dataset.Records+50 {
						killAll(t, c.Dir)
					}
					err := db.Insert(ctx, database.Key(nil, acknowledged), database.Value(nil, dataset, acknowledged))
					if err != nil {
						return err
					}
					acknowledged++
				}
			})
			if err == nil || acknowledged < dataset.Records+50 {
				t.Fatalf("%d inserts were acknowledged, and it ends with %v", acknowledged-dataset.Records, err)
			}
			b.serve(func(ctx context.Context, server database.Address) {
				config.At = server
				db, err := client.Dial(ctx, b.server.Client().Name, config)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = db.Close() }()
				for number := int64(0); number < acknowledged; number += step(number) {
					value, err := db.Read(ctx, database.Key(nil, number), client.AllFields)
					if err != nil || !bytes.Equal(value, database.Value(nil, dataset, number)) {
						t.Fatalf("record %d of %d: %x, %v", number, acknowledged, value, err)
					}
				}
			})
		})
	}
}

// step is how far it is to the next record that is looked at: of those that were laid out not all are.
func step(number int64) int64 {
	if number < dataset.Records-100 {
		return 50
	}
	return 1
}

// A server that is started with an option that it does not have says which.
func TestABadOptionIsNamed(t *testing.T) {
	hosttest.Exclusive(t)
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			if d.name != hosttest.Database {
				hosttest.Soak(t)
			}
			b := lay(t, d.name, dataset)
			b.config.Plan.Serve = slices.Insert(b.config.Plan.Serve, 3, "--nosuch=1")
			err := Run(t.Context(), b.config)
			if err == nil {
				t.Fatal("it serves")
			}
			said := b.server.Failed(workload.Exit{Code: 1, Stderr: b.output.String()})
			if !strings.Contains(said.Why, "nosuch") || strings.Contains(said.Why, "exited with code") {
				t.Errorf("it ends with %v, of which is shown %+v", err, said)
			}
		})
	}
}

// killAll kills the processes whose root has a directory as that of the data.
func killAll(t *testing.T, dir string) {
	owner, err := os.Stat(dir)
	if err != nil {
		t.Error(err)
		return
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		in, err := os.Stat(filepath.Join(p, "root", database.DataDir))
		if err != nil || !os.SameFile(in, owner) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(p))
		if err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
