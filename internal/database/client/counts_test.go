package client

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/database"
)

// runningAt is a server with a DSN, or credentials, in a variable.
func runningAt(t *testing.T, name, address, dsn string) database.Running {
	t.Helper()
	at := elsewhereAt(t, name, dsn)
	if name == "cassandra" {
		at.Remote = address
	}
	return database.Running{Kind: name, Address: at, Client: database.Client{Name: name}}
}

// dsnOf returns a DSN of a server, with a password.
func dsnOf(name, address string) string {
	return map[string]string{
		"postgresql": "postgres://bob:sekret@" + address + "/postgres?sslmode=disable",
		"mysql":      "bob:sekret@tcp(" + address + ")/", "cassandra": "bob:sekret",
		"mongodb": "mongodb://bob:sekret@" + address + "/?authMechanism=PLAIN&authSource=%24external",
	}[name]
}

// A server that sends nonsense without end, and one that sends nothing, end with an error that has no secret.
func TestAttackCounters(t *testing.T) {
	endless := func(conn net.Conn) {
		for chunk := bytes.Repeat([]byte{0x0a, 0, 0, 0, 'R', 0xff}, 10_000); ; {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	for how, answer := range map[string]func(net.Conn){"endless": endless, "silent": silent} {
		for _, name := range []string{"postgresql", "mysql", "cassandra", "mongodb"} {
			address := fakeServer(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			c, err := DialCounter(ctx, runningAt(t, name, address, dsnOf(name, address)))
			if err == nil { // the driver connects when it is asked
				_, err = c.Counts(ctx)
				_ = c.Close()
			}
			cancel()
			if err == nil || strings.Contains(err.Error(), "sekret") {
				t.Errorf("%s %s: %v", how, name, err)
			}
		}
	}
}

// postgresqlAnswering answers each query of a connection by a function.
func postgresqlAnswering(t *testing.T, answer func(b *pgproto3.Backend, text string) error) string {
	t.Helper()
	return fakeServer(t, func(conn net.Conn) {
		b := pgproto3.NewBackend(conn, conn)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return
		}
		b.Send(&pgproto3.AuthenticationOk{})
		for {
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if b.Flush() != nil {
				return
			}
			message, err := b.Receive()
			query, ok := message.(*pgproto3.Query)
			if err != nil || !ok || answer(b, query.String) != nil {
				return
			}
		}
	})
}

// columnsOf sends a row of columns.
func columnsOf(b *pgproto3.Backend, values ...string) error {
	var fields []pgproto3.FieldDescription
	var row [][]byte
	for _, v := range values {
		fields, row = append(fields, pgproto3.FieldDescription{Name: []byte("a")}), append(row, []byte(v))
	}
	b.Send(&pgproto3.RowDescription{Fields: fields})
	b.Send(&pgproto3.DataRow{Values: row})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	return b.Flush()
}

// Rows without end, texts of any length, and columns of other types are errors. Statements are those of this program
// alone: one that asks for the version, and one that reads counters.
func TestAttackCountersOfPostgresql(t *testing.T) {
	long := strings.Repeat("9", 3<<20)
	for name, c := range map[string]struct {
		row  []string
		want string
	}{
		"endless":      {nil, "sends more than"},
		"long":         {[]string{long + long, "1", "x"}, "body length"},
		"text":         {[]string{"many", "1", "x"}, "no count"},
		"negative":     {[]string{"-5", "1", "x"}, "no count"},
		"fraction":     {[]string{"1.5", "1", "x"}, "no count"},
		"few columns":  {[]string{"1"}, "1 columns"},
		"what is fine": {[]string{"123", "4000", "x"}, ""},
	} {
		var asked []string
		address := postgresqlAnswering(t, func(b *pgproto3.Backend, text string) error {
			asked = append(asked, text)
			if strings.HasPrefix(text, "SHOW") {
				return columnsOf(b, "150004")
			}
			for c.row == nil {
				b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(strings.Repeat("9", 1000))}})
				if err := b.Flush(); err != nil {
					return err
				}
			}
			return columnsOf(b, c.row...)
		})
		counter, err := DialCounter(t.Context(), runningAt(t, "postgresql", address, dsnOf("postgresql", address)))
		if err != nil {
			t.Fatal(err)
		}
		counts, err := counter.Counts(t.Context())
		switch {
		case c.want == "" && (err != nil || counts.Operations != 123 || counts.Microseconds != 4000 || counts.Readings != 2):
			t.Errorf("%s: %+v, %v", name, counts, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300):
			t.Errorf("%s: %.300v", name, err)
		}
		_ = counter.Close()
		if len(asked) != 2 || asked[0] != "SHOW server_version_num" || !strings.HasPrefix(asked[1], "SELECT ") {
			t.Errorf("%s: asked %q", name, asked)
		}
	}
}

// What serverStatus of MongoDB 7 says, in the parts that count, and what other servers say.
func TestCountsOfMongodb(t *testing.T) {
	latencies := func(reads, writes any) bson.D {
		return bson.D{{Key: "pid", Value: int64(7)}, {Key: "opLatencies", Value: bson.D{
			{Key: "reads", Value: bson.D{{Key: "latency", Value: int64(9000)}, {Key: "ops", Value: reads}}},
			{Key: "writes", Value: bson.D{{Key: "latency", Value: int64(1000)}, {Key: "ops", Value: writes}}},
			{Key: "commands", Value: bson.D{{Key: "latency", Value: int64(5)}, {Key: "ops", Value: int64(99)}}}}}}
	}
	commands := bson.D{{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{
		{Key: "find", Value: bson.D{{Key: "total", Value: int64(5)}}},
		{Key: "hello", Value: bson.D{{Key: "total", Value: int64(500)}}}}}}}}
	for name, c := range map[string]struct {
		status bson.D
		want   database.Counts
		wrong  string
	}{
		"MongoDB": {latencies(int64(20), int64(10)), database.Counts{Era: "7", Operations: 30, Timed: 30,
			Microseconds: 10000}, ""},
		"numbers": {latencies(int32(20), 10.0), database.Counts{Era: "7", Operations: 30, Timed: 30, Microseconds: 10000},
			""},
		"commands":    {commands, database.Counts{Era: "0", Operations: 5}, ""},
		"negative":    {latencies(int64(-20), "x"), database.Counts{}, "counts no operations"},
		"another":     {bson.D{{Key: "pid", Value: "x"}}, database.Counts{}, "MongoDB 3.4"},
		"no document": {bson.D{{Key: "opLatencies", Value: 5}, {Key: "metrics", Value: 5}}, database.Counts{}, "MongoDB 3.4"},
	} {
		text, err := bson.Marshal(c.status)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := countsOfStatus(text)
		if c.wrong == "" && (err != nil || counts != c.want) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(),
			c.wrong)) {
			t.Errorf("%s: %+v, %v", name, counts, err)
		}
	}
}
