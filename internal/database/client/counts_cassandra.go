package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"plimsoll/internal/database"
)

// cassandraCounter reads virtual tables of one node, which Cassandra has since 4.0: what it did as a replica, of all
// keyspaces but its own. Reads of these tables are not counted.
type cassandraCounter struct{ session *gocql.Session }

// cassandraCounters are the tables with counts of the node's operations. Their times have no sum.
var cassandraCounters = []string{"local_read_latency", "local_scan_latency", "local_write_latency"}

func countCassandra(ctx context.Context, c Config) (database.Counter, error) {
	if strings.Contains(c.At.Remote, ",") {
		return nil, errors.New("counters are of one node: give the address of the node in this container alone")
	}
	session, err := openCassandra(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to Cassandra: %w", err)
	}
	return &cassandraCounter{session}, nil
}

// Counts implements database.Counter.
func (c *cassandraCounter) Counts(ctx context.Context) (counts database.Counts, err error) {
	for _, table := range cassandraCounters {
		rows := c.session.Query("SELECT keyspace_name, count FROM system_views." + table).PageSize(1000).IterContext(ctx)
		var keyspace string
		var count int64
		came := 0
		for ; came < mostCounterRows && rows.Scan(&keyspace, &count); came++ {
			if keyspace != "system" && !strings.HasPrefix(keyspace, "system_") && count > 0 {
				counts.Operations += uint64(count)
			}
		}
		err := rows.Close()
		var refusal gocql.RequestError
		switch {
		case came == mostCounterRows:
			return counts, errManyRows
		case errors.As(err, &refusal) && refusal.Code() == gocql.ErrCodeInvalid:
			return counts, errNoCounters("Cassandra", refusal.Message(), "it takes Cassandra 4.0 or newer")
		case err != nil:
			return counts, err
		}
	}
	return counts, nil
}

// Close implements database.Counter.
func (c *cassandraCounter) Close() error {
	c.session.Close()
	return nil
}
