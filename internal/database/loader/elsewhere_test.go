package loader

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// loopback has a port of this host lead to a server in a network of its own, until the test ends.
func loopback(t *testing.T, server database.Address) (address string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cut = func() { cancel(); _ = l.Close() }
	t.Cleanup(cut)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := socket.Dial(ctx, server)
			if err != nil {
				_ = near.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
	return l.Addr().String(), cut
}

// externalServer is a server on loopback: its parameters in an experiment, and its own tools.
type externalServer struct {
	name       string
	parameters func(address, file string) string // YAML, without the schema; file has the DSN
	dsn        func(address string) string
	makes      []string // statements that make a schema theirs with a table in it
	run        func(ctx context.Context, address string, text string) error
	// digest is of the records of plimsoll, which is not ours here
	digest func(ctx context.Context, address string) (string, error)
}

var elsewhere = []externalServer{
	{
		name:       "postgresql",
		parameters: func(_, file string) string { return "dsn: file:" + file },
		dsn: func(address string) string {
			return "postgres://" + database.PostgresqlUser + "@" + address + "/postgres?sslmode=disable"
		},
		makes: []string{"CREATE SCHEMA theirs", "CREATE TABLE theirs.mine (a int)"},
	},
	{
		name:       "mariadb",
		parameters: func(_, file string) string { return "dsn: file:" + file },
		dsn:        func(address string) string { return "root@tcp(" + address + ")/" },
		makes:      []string{"CREATE DATABASE theirs", "CREATE TABLE theirs.mine (a int)"},
	},
	{
		name:       "cassandra",
		parameters: func(address, _ string) string { return "address: ['" + address + "']" },
		makes: []string{"CREATE KEYSPACE theirs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
			"CREATE TABLE theirs.mine (a int PRIMARY KEY)"},
		run: func(ctx context.Context, address, text string) error {
			session, err := gocql.NewCluster(address).CreateSession()
			if err != nil {
				return err
			}
			defer session.Close()
			return session.Query(text).ExecContext(ctx)
		},
		digest: func(ctx context.Context, address string) (string, error) {
			session, err := gocql.NewCluster(address).CreateSession()
			if err != nil {
				return "", err
			}
			defer session.Close()
			var records []string
			rows := session.Query("SELECT ycsb_key, field0, writetime(field0) FROM plimsoll.usertable").IterContext(ctx)
			var key, value string
			var at int64
			for rows.Scan(&key, &value, &at) {
				records = append(records, fmt.Sprintf("%s %x %d", key, value, at))
			}
			return strings.Join(records, "\n"), rows.Close()
		},
	},
	{
		name:       "mongodb",
		parameters: func(_, file string) string { return "dsn: file:" + file },
		dsn:        func(address string) string { return "mongodb://" + address + "/?directConnection=true" },
		makes:      []string{"mine"},
		run: func(ctx context.Context, address, text string) error {
			c, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address))
			if err != nil {
				return err
			}
			defer c.Disconnect(ctx) //nolint:errcheck // of a test
			return c.Database("theirs").CreateCollection(ctx, text)
		},
		digest: func(ctx context.Context, address string) (string, error) {
			c, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address))
			if err != nil {
				return "", err
			}
			defer c.Disconnect(ctx) //nolint:errcheck // of a test
			rows, err := c.Database("plimsoll").Collection("usertable").Find(ctx, bson.D{})
			if err != nil {
				return "", err
			}
			var documents []bson.Raw
			err = rows.All(ctx, &documents)
			return fmt.Sprint(documents), err
		},
	},
}

// sql has the statements of a database with SQL, and the digest of its records.
func (e *externalServer) sql(kind known, server database.Address) {
	e.run = func(ctx context.Context, _, text string) error {
		db := kind.open(server, map[string]string{"postgresql": "postgres"}[kind.name])
		defer db.Close()
		_, err := db.ExecContext(ctx, text)
		return err
	}
	e.digest = func(ctx context.Context, _ string) (digest string, err error) {
		in, text := "postgres", "SELECT md5(string_agg(t::text, '' ORDER BY ycsb_key)) FROM usertable t"
		if kind.name != "postgresql" {
			in, text = "plimsoll", "SELECT SHA1(GROUP_CONCAT(MD5(field0) ORDER BY ycsb_key)) FROM usertable"
		}
		db := kind.open(server, in)
		defer db.Close()
		return digest, db.QueryRowContext(ctx, text).Scan(&digest)
	}
}

// server decodes the parameters of a database.
func server(t *testing.T, kind, parameters string) database.Server {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(parameters), &doc); err != nil {
		t.Fatal(err)
	}
	for _, k := range database.All() {
		if k.Name == kind {
			s, problems := k.Decode(doc.Content[0])
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			return s
		}
	}
	t.Fatalf("no database is called %s", kind)
	return nil
}

// Servers that somebody else started are driven on loopback: in a schema that is made for it, with what others
// have untouched; and one that goes away ends the load with the reason.
func TestServersThatRunAlready(t *testing.T) {
	hosttest.Exclusive(t)
	for _, e := range elsewhere {
		t.Run(e.name, func(t *testing.T) {
			if e.name != hosttest.Database {
				hosttest.Soak(t)
			}
			b := lay(t, e.name, dataset)
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			b.serve(func(ctx context.Context, at database.Address) {
				if of := named(e.name); of.open != nil {
					e.sql(of, at)
				}
				drivenElsewhere(ctx, t, e, at)
			})
		})
	}
}

func drivenElsewhere(ctx context.Context, t *testing.T, e externalServer, origin database.Address) {
	address, cut := loopback(t, origin)
	file := filepath.Join(t.TempDir(), "dsn")
	if e.dsn != nil {
		if err := os.WriteFile(file, []byte(e.dsn(address)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on := func(more string) (database.Address, database.Client) {
		s := server(t, e.name, e.parameters(address, file)+"\n"+more)
		return s.Address(), s.Client()
	}
	before, err := e.digest(ctx, address)
	if err != nil || len(before) < 16 {
		t.Fatalf("their records are %q, %v", before, err)
	}
	for _, text := range e.makes {
		if err := e.run(ctx, address, text); err != nil {
			t.Fatal(err)
		}
	}
	schema := "schema"
	if e.name == "cassandra" {
		schema = "keyspace"
	}
	target, writer := on(schema + ": theirs\nload: true")
	err = client.Load(ctx, writer.Name, target, dataset, writer.Options)
	if err == nil || !strings.Contains(err.Error(), "--destroy theirs") {
		t.Errorf("into somebody's schema: %v", err)
	}
	writer.Options[database.ReplaceOption] = "true"
	if err := client.Load(ctx, writer.Name, target, dataset, writer.Options); err != nil {
		t.Errorf("into one that may go: %v", err)
	}
	target, writer = on(schema + ": bench\nload: true")
	for range 2 { // what a load made another one replaces
		if err := client.Load(ctx, writer.Name, target, dataset, writer.Options); err != nil {
			t.Fatal(err)
		}
	}
	plan := mixed(writer, target)
	countedBy(t, e.name, writer, target, func() (did counts) {
		for did.reads == 0 || did.updates == 0 {
			did = generate(t, plan)
			plan.Dataset.Records += did.inserts
			if t.Failed() {
				return did
			}
		}
		return did
	})
	if after, err := e.digest(ctx, address); err != nil || after != before {
		t.Errorf("what is not ours is another now (%v)", err)
	}
	// Another load takes its records as they are.
	_, reads := on(schema + ": bench")
	plan = mixed(reads, target)
	plan.Mix, plan.Timeout, plan.Runtime = ycsb.Mix{ycsb.Read: 1}, 2*time.Second, time.Hour
	plan.Sample = 100 * time.Millisecond
	err = loadgen.Run(ctx, plan, loadgen.Options{Dial: client.Dial, Output: cutter{cut}})
	if err == nil || !strings.Contains(err.Error(), "the server has not answered for") {
		t.Errorf("a server that goes away: %v", err)
	}
}

// cutter cuts a server off once the generator has something to write: it is under way then.
type cutter struct{ cut func() }

// Write implements io.Writer.
func (c cutter) Write(line []byte) (int, error) {
	c.cut()
	return len(line), nil
}
