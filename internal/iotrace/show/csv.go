package show

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/printable"
)

// columns are the columns of CSV.
var columns = []string{"dimension", "key", "requests", "bytes", "interval", "count", "sum_ns", "min_ns", "mean_ns",
	"max_ns", "stddev_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns"}

// CSV writes a row for each interval of all requests together, and then for each interval of each key of the selected
// dimensions, or of all without any. A key without a known interval has one row without interval.
func CSV(w io.Writer, a *iotrace.Account, selected ...Dimension) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	rows := []row{sumOf(a)}
	for _, d := range dimensions(selected) {
		rows = append(rows, rowsBy(a, d)...)
	}
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	real := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, r := range rows {
		key := printable.Cells(string(r.Dimension), r.Label, whole(r.Requests), whole(r.Bytes))
		if r.Intervals == [iotrace.Intervals]*iotrace.Dist{} {
			if err := out.Write(append(key, make([]string, len(columns)-len(key))...)); err != nil {
				return err
			}
		}
		for i := range iotrace.Intervals {
			d := r.dist(i)
			if d == nil {
				continue
			}
			q := newQuantiles(d)
			if err := out.Write(append(key[:4:4], i.String(), whole(q.Count), whole(q.SumNS), whole(q.MinNS), real(q.MeanNS),
				whole(q.MaxNS), real(q.StddevNS),
				whole(q.P50NS), whole(q.P90NS), whole(q.P99NS), whole(q.P999NS),
			)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// requestHead are the columns of Requests.
const requestHead = "device,op,sector,bytes,cpu,pid,command,cgroup,container," +
	"q_ns,g_ns,i_ns,m_ns,d_ns,n_ns,c_ns,merged,requeued,error\n"

// Requests writes one row of CSV for each request of a trace, as they come.
// Times are nanoseconds since the trace began; a field that is empty is of an
// event that a request did not have, or that was not seen.
type Requests struct {
	out *bufio.Writer
	row []byte
}

// NewRequests writes the heading.
func NewRequests(w io.Writer) *Requests {
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.WriteString(requestHead) // its error comes back from Flush
	return &Requests{out: out}
}

// Write writes a request.
func (t *Requests) Write(io *iotrace.IO) error {
	b := t.row[:0]
	b = append(quoted(b, io.Device), ',')
	b = append(append(b, io.Op.String()...), ',')
	b = append(strconv.AppendUint(b, io.Sector, 10), ',')
	b = append(strconv.AppendUint(b, io.Bytes, 10), ',')
	b = append(strconv.AppendUint(b, uint64(io.CPU), 10), ',')
	if io.Owner.PID != 0 {
		b = strconv.AppendUint(b, uint64(io.Owner.PID), 10)
	}
	b = append(quoted(append(b, ','), io.Owner.Command), ',')
	switch {
	case io.Owner.Path != "":
		b = quoted(b, io.Owner.Path)
	case io.Owner.Cgroup != 0:
		b = strconv.AppendUint(b, io.Owner.Cgroup, 10)
	}
	b = append(quoted(append(b, ','), io.Owner.Container), ',')
	for _, ns := range [...]int64{io.Q, io.G, io.I, io.M, io.D, io.N, io.C} {
		if ns >= 0 {
			b = strconv.AppendInt(b, ns, 10)
		}
		b = append(b, ',')
	}
	b = append(strconv.AppendUint(b, uint64(io.Merged), 10), ',')
	b = append(strconv.AppendUint(b, uint64(io.Requeued), 10), ',')
	b = append(strconv.AppendInt(b, int64(io.Error), 10), '\n')
	t.row = b
	_, err := t.out.Write(b)
	return err
}

// Flush writes what is held back.
func (t *Requests) Flush() error { return t.out.Flush() }

// quoted appends a field of CSV; a command may call itself anything.
func quoted(b []byte, field string) []byte {
	field = printable.Cell(field)
	if !strings.ContainsAny(field, "\",\r\n") && !strings.HasPrefix(field, " ") {
		return append(b, field...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(field, `"`, `""`)...)
	return append(b, '"')
}
