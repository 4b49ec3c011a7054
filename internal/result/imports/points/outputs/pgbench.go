package outputs

import "strings"

// What pgbench prints at its end, of PostgreSQL 9.0 and newer. Scripts and statements, which have lines of their own
// behind it, are left out.

func beginsPgbench(line string) bool { return strings.HasPrefix(line, "transaction type: ") }

func readPgbench(o *output) (all []outputResult) {
	for _, part := range o.split(beginsPgbench) {
		r := outputResult{line: part[0] + 1, columns: map[string]string{}}
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
			if text, ok := afterPrefix(line, "tps = "); ok && !strings.Contains(text, "including connections establishing") {
				if tps, is := leading(text); is && tps > 0 {
					r.columns["throughput"] = decimal(tps)
				}
			}
			if strings.HasPrefix(line, "rate limit schedule lag") {
				o.refuse(i, "pgbench began transactions at a rate, whatever was done", "hand in a run without --rate")
				bad = true
			}
		}
		switch {
		case bad:
		case r.columns["throughput"] != "":
			all = append(all, r)
		default:
			o.refuse(part[0], "the run of pgbench that begins here has no tps", "hand in its whole output, up to its end")
		}
	}
	return all
}
