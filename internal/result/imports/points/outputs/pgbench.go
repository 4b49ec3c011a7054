package outputs

import (
	"strings"

	"plimsoll/internal/printable"
)

// What pgbench prints at its end, of PostgreSQL 9.0 and newer. Scripts and statements, which have lines of their own
// behind it, are left out.

func beginsPgbench(line string) bool {
	return beginsPgbenchRun(line) || strings.HasPrefix(line, "progress: ") && strings.Contains(line, " tps, lat ")
}

func beginsPgbenchRun(line string) bool { return strings.HasPrefix(line, "transaction type: ") }

// connecting is how many times the rate without connecting is above that with it, at least, where clients connect for
// each transaction (--connect).
const connecting = 1.02

func readPgbench(o *output) (all []outputResult) {
	for _, part := range o.split(beginsPgbenchRun) {
		r := outputResult{line: part[0] + 1, columns: map[string]string{}}
		var tps, including float64 // with the time of connecting
		bad := false
		for i := part[0]; i < part[1]; i++ {
			line := o.lines[i]
			if text, ok := afterPrefix(line, "number of clients:"); ok {
				r.columns["clients"] = text
			}
			if text, ok := afterPrefix(line, "latency average"); ok {
				// "latency average = 6.4 ms", and "latency average: 6.4 ms" up to 9.6
				if ms, is := leading(strings.TrimLeft(text, "=: ")); is && r.columns["mean"] == "" {
					r.columns["mean"] = lasting(ms)
				}
			}
			if text, ok := afterPrefix(line, "tps = "); ok {
				if strings.Contains(text, "including connections establishing") {
					including, _ = leading(text)
				} else {
					tps, _ = leading(text)
				}
			}
			if text, ok := afterPrefix(line, "number of transactions actually processed:"); ok {
				done, of, _ := strings.Cut(text, "/")
				r.tried, _ = leading(done)
				if asked, is := leading(of); is && asked > r.tried {
					r.aborted = printable.Line(line)
				}
			}
			if text, ok := afterPrefix(line, "number of failed transactions:"); ok {
				r.failed, _ = leading(text)
			}
			if strings.HasPrefix(line, "Run was aborted") {
				r.aborted = printable.Line(line)
			}
			if strings.HasPrefix(line, "rate limit schedule lag") {
				o.refuse(i, "pgbench began transactions at a rate, whatever was done", "hand in a run without --rate")
				bad = true
			}
		}
		r.tried += r.failed
		if tps > 0 && including > 0 && tps > connecting*including {
			tps = including
			r.notes = append(r.notes, "clients connected for each transaction: the rate and the mean have that in them")
		}
		if tps > 0 {
			r.columns["throughput"] = decimal(tps)
		}
		switch {
		case bad:
		case r.columns["throughput"] != "":
			all = append(all, r)
		default:
			o.refuse(part[0], "the run of pgbench that begins here has no tps", "give its whole output, up to its end")
		}
	}
	return all
}
