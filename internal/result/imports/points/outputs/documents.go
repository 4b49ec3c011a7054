package outputs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/units"
)

// What BenchBase and memtier_benchmark write: a JSON document each.

func beginsBenchBase(line string) bool { return strings.Contains(line, `"Goodput (requests/second)"`) }

func beginsMemtier(line string) bool { return strings.Contains(line, `"ALL STATS"`) }

// value is a number of a document, which some programs write as a text. It is 0 for anything else.
type value float64

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err == nil && x >= 0 && x < 1e15 {
		*v = value(x)
	}
	return nil
}

// decode decodes the only document of a file, and adds a problem if there is none.
func (o *output) decode(begins func(string) bool, document any) bool {
	start := strings.IndexByte(o.text, '{')
	if start < 0 || json.NewDecoder(strings.NewReader(o.text[start:])).Decode(document) != nil {
		o.refuse(o.first(begins), "the JSON document is cut short or damaged", "hand in the file as it was written")
		return false
	}
	return true
}

func readBenchBase(o *output) []outputResult {
	var summary struct {
		Terminals  value `json:"terminals"`
		Throughput value `json:"Throughput (requests/second)"`
		Goodput    value `json:"Goodput (requests/second)"`
		Requests   value `json:"Measured Requests"`
		Latency    struct {
			Mean value `json:"Average Latency (microseconds)"`
			P50  value `json:"Median Latency (microseconds)"`
			P95  value `json:"95th Percentile Latency (microseconds)"`
			P99  value `json:"99th Percentile Latency (microseconds)"`
		} `json:"Latency Distribution"`
	}
	if !o.decode(beginsBenchBase, &summary) || summary.Throughput == 0 {
		return nil
	}
	r := outputResult{line: o.first(beginsBenchBase) + 1, columns: map[string]string{
		"throughput": decimal(float64(summary.Throughput))}}
	if summary.Terminals > 0 {
		r.columns["clients"] = decimal(float64(summary.Terminals))
	}
	latency := summary.Latency
	for column, us := range map[string]value{"mean": latency.Mean, "p50": latency.P50, "p95": latency.P95,
		"p99": latency.P99} {
		if us > 0 {
			r.columns[column] = lasting(float64(us) / 1000)
		}
	}
	switch lost := float64(summary.Throughput - summary.Goodput); {
	case lost < 0:
		r.notes = append(r.notes, fmt.Sprintf("goodput, %s a second, is above throughput: BenchBase counts the warm-up's "+
			"requests there", units.Rate(float64(summary.Goodput))))
	case summary.Requests > 0:
		r.tried = float64(summary.Requests)
		r.failed = r.tried * lost / float64(summary.Throughput)
	default:
		r.tried, r.failed = float64(summary.Throughput), lost
	}
	return []outputResult{r}
}

func readMemtier(o *output) []outputResult {
	var document struct {
		Configuration struct {
			Threads  value `json:"threads"`
			Clients  value `json:"clients"`
			Pipeline value `json:"pipeline"`
			Rate     value `json:"rate_limit"`
			Requests value `json:"request_rate"`
		} `json:"configuration"`
		Run struct {
			Threads     value `json:"Threads"`
			Connections value `json:"Connections per thread"`
		} `json:"run information"`
		All struct {
			Totals struct {
				Rate        value `json:"Ops/sec"`
				Count       value `json:"Count"`
				Mean        value `json:"Average Latency"`
				OldMean     value `json:"Latency"` // before 1.4
				Errors      value `json:"Connection Errors"`
				Percentiles struct {
					P50  value `json:"p50.00"`
					P95  value `json:"p95.00"`
					P99  value `json:"p99.00"`
					P999 value `json:"p99.90"`
				} `json:"Percentile Latencies"`
			} `json:"Totals"`
		} `json:"ALL STATS"`
	}
	if !o.decode(beginsMemtier, &document) || document.All.Totals.Rate == 0 {
		return nil
	}
	line := o.first(beginsMemtier)
	if document.Configuration.Rate+document.Configuration.Requests > 0 {
		o.refuse(line, "memtier began requests at a rate, whatever was done", "hand in a run without --rate-limiting")
		return nil
	}
	totals := document.All.Totals
	r := outputResult{line: line + 1, failed: float64(totals.Errors), tried: float64(totals.Count + totals.Errors),
		columns: map[string]string{"throughput": decimal(float64(totals.Rate))}}
	threads, connections := document.Configuration.Threads, document.Configuration.Clients
	if threads == 0 {
		threads, connections = document.Run.Threads, document.Run.Connections
	}
	if clients := threads * connections * max(1, document.Configuration.Pipeline); clients > 0 {
		r.columns["clients"] = decimal(float64(clients))
	}
	mean := totals.Mean
	if mean == 0 {
		mean = totals.OldMean
	}
	for column, ms := range map[string]value{"mean": mean, "p50": totals.Percentiles.P50, "p95": totals.Percentiles.P95,
		"p99": totals.Percentiles.P99, "p99.9": totals.Percentiles.P999} {
		if ms > 0 {
			r.columns[column] = lasting(float64(ms))
		}
	}
	return []outputResult{r}
}
