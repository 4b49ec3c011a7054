package client

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"plimsoll/internal/database"
)

// mysqlCounter reads the status of MySQL or MariaDB, and the times of statements where performance_schema has them.
type mysqlCounter struct {
	conn     driver.Conn
	untimed  bool   // it has no times that this user may read
	flushed  uint64 // seconds since the counters began
	era      int
	readings uint64 // statements of this connection that read the counters
}

const (
	mysqlStatus = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Uptime', 'Uptime_since_flush_status')"
	mysqlTimes  = "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) DIV 1000000 FROM " +
		"performance_schema.events_statements_summary_global_by_event_name " +
		"WHERE EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME = 'statement/com/Execute'"
)

func countMysql(ctx context.Context, c Config) (database.Counter, error) {
	conn, err := mysqlConnect(ctx, c, "")
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	m := &mysqlCounter{conn: conn}
	if _, err := m.query(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("make the connection read only: %w", err)
	}
	return m, nil
}

// Counts implements database.Counter.
func (m *mysqlCounter) Counts(ctx context.Context) (counts database.Counts, err error) {
	rows, err := m.query(ctx, mysqlStatus)
	if err != nil {
		return counts, err
	}
	counts.Readings = m.readings
	status := map[string][]byte{}
	for _, row := range rows {
		if len(row) == 2 {
			status[string(row[0])] = row[1]
		}
	}
	if counts.Operations, err = number("Questions", status["Questions"]); err != nil {
		return counts, err
	}
	since := status["Uptime_since_flush_status"]
	if since == nil {
		since = status["Uptime"]
	}
	seconds, err := number("Uptime", since)
	if err != nil {
		return counts, err
	}
	if seconds < m.flushed {
		m.era++
	}
	m.flushed = seconds
	counts.Era = strconv.Itoa(m.era)
	if m.untimed {
		return counts, nil
	}
	rows, err = m.query(ctx, mysqlTimes)
	var refusal *mysql.MySQLError
	switch {
	case errors.As(err, &refusal):
		m.untimed = true // the user may not read it, or the server has none
		return counts, nil
	case err != nil:
		return counts, err
	case len(rows) != 1 || len(rows[0]) != 2 || len(rows[0][0]) == 0:
		m.untimed = true
		return counts, nil
	}
	if counts.Timed, err = number("COUNT_STAR", rows[0][0]); err != nil {
		return counts, err
	}
	counts.Microseconds, err = number("SUM_TIMER_WAIT", rows[0][1])
	m.untimed = counts.Timed == 0
	return counts, err
}

// query returns the rows of a statement that takes no arguments, as text.
func (m *mysqlCounter) query(ctx context.Context, text string) (all [][][]byte, err error) {
	m.readings++
	rows, err := m.conn.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(all) == mostCounterRows:
			return nil, errManyRows
		}
		var values [][]byte
		for _, v := range row {
			switch v := v.(type) {
			case []byte:
				values = append(values, append([]byte(nil), v...))
			case string:
				values = append(values, []byte(v))
			case nil:
				values = append(values, nil)
			default:
				values = append(values, fmt.Append(nil, v))
			}
		}
		all = append(all, values)
	}
}

// Close implements database.Counter.
func (m *mysqlCounter) Close() error { return m.conn.Close() }
