package outputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What YCSB prints at its end, as "[READ], 99thPercentileLatency(us), 1500". The number of threads is in the command
// line, which its scripts print before.

func beginsYCSB(line string) bool { return strings.HasPrefix(line, "[OVERALL], Throughput(ops/sec)") }

// operationStats are YCSB's figures of one kind of operation.
type operationStats struct{ operations, mean, p95, p99 float64 }

func readYCSB(o *output) (all []outputResult) {
	threads, kinds := "", map[string]*operationStats{}
	var now *outputResult
	finish := func() {
		if now != nil {
			now.latencies(kinds)
			all = append(all, *now)
		}
		now, kinds = nil, map[string]*operationStats{}
	}
	rated := false
	for i, line := range o.lines {
		fields := strings.Split(line, ",")
		switch {
		case strings.Contains(line, "Command line:"):
			finish()
			threads, rated = threadsOf(strings.Fields(line))
		case beginsYCSB(line) && rated:
			o.refuse(i, "YCSB began operations at a rate, whatever was done", "hand in a run without -target")
		case beginsYCSB(line):
			finish()
			rate, ok := leading(fields[len(fields)-1])
			if !ok || rate == 0 {
				o.refuse(i, "YCSB did no operation", "hand in a run that did some")
				continue
			}
			now = &outputResult{line: i + 1, columns: map[string]string{"clients": threads, "throughput": decimal(rate)}}
		case now != nil && len(fields) == 3:
			name := strings.Trim(fields[0], "[]")
			value, ok := leading(fields[2])
			if !ok || !isOperation(name) {
				continue
			}
			if kinds[name] == nil {
				kinds[name] = &operationStats{}
			}
			kinds[name].note(strings.TrimSpace(fields[1]), value)
		}
	}
	finish()
	return all
}

// threadsOf returns how many threads a command line asks for, and whether it asks for a rate.
func threadsOf(words []string) (threads string, rated bool) {
	threads = "1"
	for i, w := range words {
		value, is := strings.CutPrefix(w, "threadcount=")
		if w == "-threads" && i+1 < len(words) {
			value, is = words[i+1], true
		}
		if is {
			threads = value
		}
		rated = rated || w == "-target" || strings.HasPrefix(w, "target=")
	}
	return threads, rated
}

// isOperation reports whether a name in YCSB's output is a kind of operation, and not of failed ones or of
// connections.
func isOperation(name string) bool {
	return name != "" && name != "OVERALL" && name != "CLEANUP" && !strings.HasPrefix(name, "TOTAL_GC") &&
		!strings.HasPrefix(name, "Intended-") && !strings.HasSuffix(name, "-FAILED") && len(name) <= 32 &&
		!strings.ContainsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' })
}

func (k *operationStats) note(what string, value float64) {
	us := 1.0
	if strings.HasSuffix(what, "(ms)") {
		us = 1000
	}
	what, _, _ = strings.Cut(what, "(")
	switch what {
	case "Operations":
		k.operations = value
	case "AverageLatency":
		k.mean = value * us
	case "95thPercentileLatency":
		k.p95 = value * us
	case "99thPercentileLatency":
		k.p99 = value * us
	}
}

// latencies notes those of all kinds together: the mean over operations, and as percentile the greatest, within which
// those of every kind are.
func (r *outputResult) latencies(kinds map[string]*operationStats) {
	if kinds["READ-MODIFY-WRITE"] != nil {
		r.notes = append(r.notes, "what reads, modifies and writes is counted twice by YCSB: latencies are left out")
		return
	}
	var operations, sum, p95, p99 float64
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		if k.operations == 0 {
			continue
		}
		operations, sum = operations+k.operations, sum+k.operations*k.mean
		p95, p99 = max(p95, k.p95), max(p99, k.p99)
	}
	for column, us := range map[string]float64{"mean": sum / operations, "p95": p95, "p99": p99} {
		if us > 0 {
			r.columns[column] = lasting(us / 1000)
		}
	}
	if len(kinds) > 1 && p99 > 0 {
		r.notes = append(r.notes, fmt.Sprintf("percentiles are those of the slowest of %d kinds of operations: "+
			"all together took that at most", len(kinds)))
	}
}
