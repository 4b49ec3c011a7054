package outputs

import (
	"fmt"
	"strings"

	"plimsoll/internal/printable"
)

// What sysbench 0.5, 1.0 and 1.1 print: options, a line for each --report-interval, and sums at the end. An operation
// is an event: a transaction of the database tests, a request of the others.

func beginsSysbench(line string) bool {
	return strings.HasPrefix(line, "sysbench ") && strings.Contains(line, "multi-threaded") ||
		strings.HasPrefix(line, "sysbench 1.") || strings.HasPrefix(line, "sysbench 0.") || beginsSysbenchRun(line)
}

func beginsSysbenchRun(line string) bool { return strings.HasPrefix(line, "Number of threads:") }

func readSysbench(o *output) (all []outputResult) {
	for _, part := range o.split(beginsSysbenchRun) {
		r := outputResult{line: part[0] + 1, columns: map[string]string{}}
		var events, seconds float64
		bad := false
		for i := part[0]; i < part[1]; i++ {
			line := o.lines[i]
			key, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			number, ok := leading(value)
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
			case key == "avg":
				r.columns["mean"] = lasting(number)
			default:
				of, is := strings.CutSuffix(strings.TrimPrefix(key, "approx."), " percentile") // "95th", and "95" before 1.0
				of = strings.TrimSuffix(strings.TrimSpace(of), "th")
				if column := "p" + of; is && (of == "50" || of == "95" || of == "99") {
					r.columns[column] = lasting(number)
				} else if is {
					r.notes = append(r.notes, fmt.Sprintf("the %s percentile is none of a table's", printable.Line(of)))
				}
			}
		}
		switch {
		case bad:
		case events > 0 && seconds > 0:
			r.columns["throughput"] = decimal(events / seconds)
			all = append(all, r)
		default:
			o.refuse(part[0], "the run of sysbench that begins here has no number of events and no time",
				"hand in its whole output, up to its sums at the end")
		}
	}
	return all
}
