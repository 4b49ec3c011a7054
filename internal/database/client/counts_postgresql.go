package client

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"plimsoll/internal/database"
)

// postgresqlCounter reads pg_stat_database, which each role may.
type postgresqlCounter struct {
	conn     *pgconn.PgConn
	text     string
	readings uint64 // statements of this connection that read the counters
}

// timedSince is the first version of PostgreSQL that counts active_time, as server_version_num has it.
const timedSince = 140000

func countPostgresql(ctx context.Context, c Config) (database.Counter, error) {
	config, err := postgresqlConfig(c)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["search_path"] = "pg_catalog"
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.BuildFrontend = boundedFrontend(config.BuildFrontend)
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	p := &postgresqlCounter{conn: conn}
	version, err := p.row(ctx, "SHOW server_version_num", 1)
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	since, err := number("server_version_num", version[0])
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	time := "0"
	if since >= timedSince {
		time = "(sum(active_time) * 1000)::bigint"
	}
	p.text = "SELECT sum(xact_commit + xact_rollback)::bigint, " + time +
		", concat(pg_postmaster_start_time(), ' ', max(stats_reset)) FROM pg_catalog.pg_stat_database"
	return p, nil
}

// boundedFrontend returns a builder of frontends that refuse messages longer than all counters.
func boundedFrontend(build pgconn.BuildFrontendFunc) pgconn.BuildFrontendFunc {
	return func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		frontend := build(r, w)
		frontend.SetMaxBodyLen(mostAnswer)
		return frontend
	}
}

// Counts implements database.Counter.
func (p *postgresqlCounter) Counts(ctx context.Context) (counts database.Counts, err error) {
	row, err := p.row(ctx, p.text, 3)
	if err != nil {
		return counts, err
	}
	counts.Era, counts.Readings = string(row[2]), p.readings
	if counts.Operations, err = number("xact_commit", row[0]); err != nil {
		return counts, err
	}
	if counts.Microseconds, err = number("active_time", row[1]); err != nil {
		return counts, err
	}
	if counts.Microseconds > 0 {
		counts.Timed = counts.Operations
	}
	return counts, nil
}

// row returns the columns of the one row that a statement gives, as text.
func (p *postgresqlCounter) row(ctx context.Context, text string, columns int) (values [][]byte, err error) {
	p.readings++
	results := p.conn.Exec(ctx, text)
	for came := 0; results.NextResult(); {
		for rows := results.ResultReader(); rows.NextRow(); came++ {
			if came > 0 {
				continue
			}
			for _, value := range rows.Values() {
				values = append(values, append([]byte(nil), value...))
			}
		}
	}
	if err := results.Close(); err != nil {
		return nil, err
	}
	if len(values) != columns {
		return nil, fmt.Errorf("PostgreSQL answers %d columns, not %d", len(values), columns)
	}
	return values, nil
}

// Close implements database.Counter.
func (p *postgresqlCounter) Close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel() // it says goodbye, and does not wait for an answer
	return p.conn.Close(now)
}
