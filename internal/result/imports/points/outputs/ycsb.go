package outputs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// What YCSB prints at its end, as "[READ], 99thPercentileLatency(us), 1500". The number of threads is in the command
// line, which its scripts print before.

func beginsYCSB(line string) bool { return strings.HasPrefix(line, "[OVERALL], Throughput(ops/sec)") }

// beginsYCSBRun reports whether a line is YCSB's, also of a run without a result.
func beginsYCSBRun(line string) bool {
	return beginsYCSB(line) || strings.Contains(line, "site.ycsb.Client") ||
		strings.Contains(line, "com.yahoo.ycsb.Client")
}

// operationStats are YCSB's figures of one kind of operation.
type operationStats struct{ operations, mean, p95, p99 float64 }

// returns counts operations by what they returned, and those that YCSB lists apart as failed.
type returns struct{ good, bad, apart float64 }

func (r *returns) count(code string, operations float64) {
	switch code {
	case "OK", "BATCHED_OK", "0": // 0 before version 0.5
		r.good += operations
	default:
		r.bad += operations
	}
}

// failed returns how many operations failed, of how many.
func (r *returns) failed(kinds map[string]*operationStats) (failed, tried float64) {
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		tried += kinds[kind].operations
	}
	failed = max(r.bad, r.apart)
	return failed, max(r.good+r.bad, tried, failed)
}

func readYCSB(o *output) (all []outputResult) {
	threads, kinds := "", map[string]*operationStats{}
	var now *outputResult
	var failures returns
	finish := func() {
		if now != nil {
			now.latencies(kinds)
			now.failed, now.tried = failures.failed(kinds)
			all = append(all, *now)
		}
		now, kinds, failures = nil, map[string]*operationStats{}, returns{}
	}
	rated := false
	for i, line := range o.lines {
		fields := strings.Split(line, ",")
		switch {
		case strings.Contains(line, "Command line:"), strings.Contains(line, "ycsb.Client "):
			finish()
			threads, rated = threadsOf(strings.Fields(line))
		case isYCSBCommand(line):
			finish()
			threads, rated = threadsOf(strings.Fields(continued(o.lines[i:])))
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
			metric := strings.TrimSpace(fields[1])
			if !ok {
				continue
			}
			if of, is := strings.CutSuffix(name, "-FAILED"); is && isOperation(of) && metric == "Operations" {
				failures.apart += value
			}
			if code, is := strings.CutPrefix(metric, "Return="); is && isOperation(name) {
				failures.count(code, value)
			}
			if !isOperation(name) {
				continue
			}
			if kinds[name] == nil {
				kinds[name] = &operationStats{}
			}
			kinds[name].note(metric, value)
		}
	}
	finish()
	return all
}

// isYCSBCommand reports whether a line has the command of a shell that runs YCSB, as people keep it with what was
// printed.
func isYCSBCommand(line string) bool {
	words := strings.Fields(line)
	return slices.ContainsFunc(words, func(w string) bool {
		name := path.Base(w)
		return name == "ycsb" || name == "ycsb.sh"
	}) && (slices.Contains(words, "run") || slices.Contains(words, "load"))
}

// mostContinued is how many lines a command of a shell has.
const mostContinued = 64

// continued returns the first line, with those behind it that a backslash at the end of a line joins to it.
func continued(lines []string) string {
	text := ""
	for _, line := range lines[:min(len(lines), mostContinued)] {
		line, more := strings.CutSuffix(strings.TrimSpace(line), "\\")
		text += " " + line
		if !more {
			break
		}
	}
	return text
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

func (k *operationStats) note(metric string, value float64) {
	us := 1.0
	if strings.HasSuffix(metric, "(ms)") {
		us = 1000
	}
	metric, _, _ = strings.Cut(metric, "(")
	switch metric {
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
