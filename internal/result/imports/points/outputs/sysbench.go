package outputs

import (
	"fmt"
	"strings"

	"plimsoll/internal/printable"
	"plimsoll/internal/units"
)

// What sysbench 0.5, 1.0 and 1.1 print: options, a line for each --report-interval, and sums at the end. An operation
// is an event: a transaction of the database tests, a request of the others.

func beginsSysbench(line string) bool {
	return strings.HasPrefix(line, "sysbench ") && strings.Contains(line, "multi-threaded") ||
		strings.HasPrefix(line, "sysbench 1.") || strings.HasPrefix(line, "sysbench 0.") || beginsSysbenchRun(line)
}

func beginsSysbenchRun(line string) bool { return strings.HasPrefix(line, "Number of threads:") }

// longestMS is the end of sysbench's histogram of latencies, in milliseconds: sysbench.c has 1 us to 100 s.
const longestMS = 100_000

func readSysbench(o *output) (all []outputResult) {
	for _, part := range o.split(beginsSysbenchRun) {
		r := outputResult{line: part[0] + 1, columns: map[string]string{}}
		var events, seconds, longest float64
		var files fileRates
		bad := false
		for i := part[0]; i < part[1]; i++ {
			line := o.lines[i]
			key, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			number, ok := leading(value)
			files.note(key, value)
			switch {
			case strings.HasPrefix(line, "FATAL:"):
				o.refuse(i, "sysbench failed: "+printable.Line(value), "hand in a run that did not")
				bad = true
			case key == "Target transaction rate":
				o.refuse(i, "sysbench began transactions at a rate, whatever was done", "hand in a run without --rate")
				bad = true
			case !ok:
			case key == "Number of threads":
				r.columns["clients"] = value
			case key == "total time", key == "time elapsed":
				seconds = number
			case key == "total number of events":
				events = number
			case key == "ignored errors":
				r.failed = number
			case number == 0 && strings.Contains(key, "percentile"): // too short for the two digits that it prints
			case key == "avg" && number == 0:
			case key == "max":
				longest = number
			case key == "avg":
				r.columns["mean"] = lasting(number)
			default:
				// "95th percentile", and "approx.  95 percentile" before 1.0
				percentile, is := strings.CutSuffix(strings.TrimPrefix(key, "approx."), " percentile")
				percentile = strings.TrimSuffix(strings.TrimSpace(percentile), "th")
				switch {
				case !is:
				case number >= longestMS && (longest == 0 || longest > longestMS):
					r.notes = append(r.notes, fmt.Sprintf("sysbench counts no latency above 100 s apart: its %s percentile is at "+
						"least that, and is left out", printable.Line(percentile)))
				case percentile == "50" || percentile == "95" || percentile == "99":
					if longest > 0 {
						number = min(number, longest) // sysbench prints the end of a bucket, which is 2% wide
					}
					r.columns["p"+percentile] = lasting(number)
				default:
					r.notes = append(r.notes, fmt.Sprintf("the %s percentile is none of a table's", printable.Line(percentile)))
				}
			}
		}
		switch {
		case bad:
		case events > 0 && seconds > 0:
			r.columns["throughput"] = decimal(events / seconds)
			files.apply(&r)
			r.tried = events + r.failed
			all = append(all, r)
		default:
			o.refuse(part[0], "the run of sysbench that begins here has no number of events and no time",
				"hand in its whole output, up to its sums at the end")
		}
	}
	return all
}

// fileRates are rates of the parts of a fileio test, whose events are all of them together.
type fileRates struct{ reads, writes, fsyncs float64 }

// note takes a line of them: "reads/s: 12.3", and "read: IOPS=12.3 0.19 MiB/s" in 1.1.
func (f *fileRates) note(key, value string) {
	value, isRate := strings.CutPrefix(value, "IOPS=")
	if key, perSecond := strings.CutSuffix(key, "s/s"); perSecond || isRate {
		x, _ := leading(value)
		switch key {
		case "read":
			f.reads = x
		case "write":
			f.writes = x
		case "fsync":
			f.fsyncs = x
		}
	}
}

// apply takes fsyncs out of the rate. Latencies, which are of all events, are left out then.
func (f *fileRates) apply(r *outputResult) {
	if f.fsyncs == 0 {
		return
	}
	r.notes = append(r.notes, fmt.Sprintf("%s reads, %s writes and %s fsyncs a second: the rate is that of reads and "+
		"writes, and latencies, which are of all three, are left out", units.Digits(f.reads), units.Digits(f.writes),
		units.Digits(f.fsyncs)))
	if f.reads+f.writes > 0 {
		r.columns["throughput"] = decimal(f.reads + f.writes)
	}
	for _, column := range []string{"mean", "p50", "p95", "p99"} {
		delete(r.columns, column)
	}
}
