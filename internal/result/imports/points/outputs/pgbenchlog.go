package outputs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/units/plural"
)

// What pgbench --log writes: a line for each transaction, with its latency in microseconds as third field, from which
// percentiles are computed that its output lacks.

// beginsPgbenchLog reports whether a line is of such a log: client, transaction, latency, script, and when it ended, in
// seconds and microseconds; the schedule's lag and retries in some versions.
func beginsPgbenchLog(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 6 || len(fields) > 9 {
		return false
	}
	for i, f := range fields[:6] {
		if _, err := strconv.ParseUint(f, 10, 63); err != nil && (i != 2 || f != "failed" && f != "skipped") {
			return false
		}
	}
	return len(fields[4]) >= 10 // seconds since 1970
}

// transactions are the latencies of a log, in microseconds.
type transactions struct {
	file    string
	micros  []float64
	skipped int
}

func readPgbenchLog(o *output) (t transactions, ok bool) {
	for i, line := range o.lines {
		if line == "" {
			continue
		}
		if !beginsPgbenchLog(line) {
			if i == len(o.lines)-1 { // cut short when pgbench was stopped
				continue
			}
			o.refuse(i, "this is no line of a transaction", "hand in the log as pgbench --log wrote it")
			return t, false
		}
		us, err := strconv.ParseFloat(strings.Fields(line)[2], 64)
		if err != nil {
			t.skipped++
			continue
		}
		t.micros = append(t.micros, us)
	}
	return t, len(t.micros) > 0
}

// fill writes the percentiles of all transactions to the columns of a row, and returns a description of them.
func (t transactions) fill(row *points.Row, given map[string]string) string {
	slices.Sort(t.micros)
	for column, share := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999} {
		if given[column] == "" {
			rank := int(math.Ceil(share * float64(len(t.micros))))
			row.Columns[column] = lasting(t.micros[rank-1] / 1000)
		}
	}
	description := fmt.Sprintf("percentiles are of %s in the log", plural.Count(len(t.micros), "transaction"))
	if t.skipped > 0 {
		description += fmt.Sprintf("; %d failed or were skipped", t.skipped)
	}
	return description
}
