package client

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/database"
)

// mongodbCounter reads serverStatus of one server, which is neither a read nor a write.
type mongodbCounter struct{ session *mongo.Client }

// mongodbStatus asks for what has counters, without the largest of the other sections.
var mongodbStatus = bson.D{{Key: "serverStatus", Value: 1}, {Key: "wiredTiger", Value: 0}, {Key: "locks", Value: 0},
	{Key: "tcmalloc", Value: 0}, {Key: "repl", Value: 0}}

// mongodbCommands are commands that read or write data.
var mongodbCommands = []string{"find", "getMore", "aggregate", "count", "distinct", "insert", "update", "delete",
	"findAndModify"}

func countMongodb(ctx context.Context, c Config) (database.Counter, error) {
	dial := c.budget.bound(nil)
	if c.At.Remote == "" {
		dial = c.budget.bound(reach{c.At}.DialContext)
	}
	session, err := openMongodb(ctx, c.At, options.Client().SetDialer(dial).SetDirect(true))
	if err != nil {
		return nil, fmt.Errorf("connect to MongoDB: %w (counters are of one server: give its host alone)", err)
	}
	return &mongodbCounter{session}, nil
}

// Counts implements database.Counter.
func (m *mongodbCounter) Counts(ctx context.Context) (counts database.Counts, err error) {
	status, err := m.session.Database("admin").RunCommand(ctx, mongodbStatus).Raw()
	var refusal mongo.CommandError
	switch {
	case errors.As(err, &refusal):
		return counts, fmt.Errorf("serverStatus: %s (the role clusterMonitor may ask for it)", refusal.Message)
	case err != nil:
		return counts, err
	}
	return countsOfStatus(status)
}

// countsOfStatus reads the answer of serverStatus.
func countsOfStatus(status bson.Raw) (counts database.Counts, err error) {
	count := func(path ...string) (uint64, bool) {
		value, err := status.LookupErr(path...)
		if err != nil {
			return 0, false
		}
		n, ok := value.AsInt64OK()
		return uint64(max(n, 0)), ok && n >= 0
	}
	started, _ := count("pid")
	counts.Era = fmt.Sprint(started)
	measured := false
	for _, kind := range []string{"reads", "writes"} {
		operations, counted := count("opLatencies", kind, "ops")
		latency, timed := count("opLatencies", kind, "latency")
		if counted && timed {
			measured = true
			counts.Operations += operations
			counts.Timed, counts.Microseconds = counts.Timed+operations, counts.Microseconds+latency
		}
	}
	if measured {
		return counts, nil
	}
	for _, command := range mongodbCommands { // those that were never asked for may be missing
		total, _ := count("metrics", "commands", command, "total")
		counts.Operations += total
	}
	if _, err := status.LookupErr("metrics", "commands"); err != nil {
		return counts, errNoCounters("The server", "serverStatus has neither opLatencies nor metrics.commands",
			"it takes MongoDB 3.4 or newer")
	}
	return counts, nil
}

// Close implements database.Counter.
func (m *mongodbCounter) Close() error {
	mongodbSessions.close(m.session)
	return nil
}
