package outputs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/units"
)

// What go-ycsb prints at its end: a line for each kind of operation, and in newer versions one of all. Lines of the
// same form that it prints meanwhile come before "Run finished". The number of threads is among its properties.

var (
	goYCSBLine     = regexp.MustCompile(`^([A-Z_]{1,40}) *- Takes\(s\): `)
	goYCSBProperty = regexp.MustCompile(`^"([a-z]+)"="([^"]*)"$`)
)

func beginsGoYCSB(line string) bool { return goYCSBLine.MatchString(line) }

// goYCSBOperations are the kinds of operations that a workload asks for. Others are parts of transactions.
var goYCSBOperations = []string{"READ", "UPDATE", "INSERT", "SCAN", "DELETE", "BATCH_READ", "BATCH_UPDATE",
	"BATCH_INSERT", "BATCH_DELETE"}

const goYCSBModify = "READ_MODIFY_WRITE"

func readGoYCSB(o *output) (all []outputResult) {
	properties := map[string]string{}
	for i := 0; i < len(o.lines); i++ {
		if m := goYCSBProperty.FindStringSubmatch(o.lines[i]); m != nil {
			properties[m[1]] = m[2]
		}
		if !strings.HasPrefix(o.lines[i], "Run finished") {
			continue
		}
		kinds := map[string]map[string]float64{}
		line := i
		for i+1 < len(o.lines) && beginsGoYCSB(o.lines[i+1]) {
			i++
			name := goYCSBLine.FindStringSubmatch(o.lines[i])[1]
			kinds[name] = goYCSBFigures(o.lines[i])
		}
		if target := properties["target"]; target != "" && target != "0" {
			o.refuse(line, "go-ycsb began operations at a rate, whatever was done", "hand in a run without target")
			continue
		}
		if r, ok := goYCSBResult(kinds); ok {
			_, took, _ := strings.Cut(o.lines[line], "takes ")
			if elapsed, err := time.ParseDuration(took); err == nil && elapsed > 0 && properties["warmuptime"] == "" {
				r.overTime(elapsed.Seconds())
			}
			r.line, r.columns["clients"] = line+1, properties["threadcount"]
			all = append(all, r)
		}
		properties = map[string]string{}
	}
	return all
}

// overTime makes the rate one of the whole run: OPS are over the time since the first operation of a kind ended, which
// of a short run is a part.
func (r *outputResult) overTime(seconds float64) {
	printed, _ := leading(r.columns["throughput"])
	if rate := (r.tried - r.failed) / seconds; rate > 0 {
		r.columns["throughput"] = decimal(rate)
		if printed > 1.02*rate {
			r.notes = append(r.notes, fmt.Sprintf("go-ycsb's OPS, %s, cover a part of its time; the rate is over all of it",
				units.Digits(printed)))
		}
	}
}

// goYCSBFigures returns the figures of a line by their names.
func goYCSBFigures(line string) map[string]float64 {
	figures := map[string]float64{}
	_, rest, _ := strings.Cut(line, "- ")
	for part := range strings.SplitSeq(rest, ", ") {
		name, text, _ := strings.Cut(part, ": ")
		if value, ok := leading(text); ok {
			figures[name] = value
		}
	}
	return figures
}

// goYCSBResult adds up kinds of operations. ok is false where there was none.
func goYCSBResult(kinds map[string]map[string]float64) (r outputResult, ok bool) {
	r.columns = map[string]string{}
	var rate, sum, p99 float64
	counted := 0
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		switch {
		case strings.HasSuffix(name, "_ERROR"):
			r.failed += k["Count"]
		case slices.Contains(goYCSBOperations, name):
			counted++
			rate, r.tried, sum = rate+k["OPS"], r.tried+k["Count"], sum+k["Count"]*k["Avg(us)"]
			p99 = max(p99, k["99th(us)"])
		}
	}
	modify, modified := kinds[goYCSBModify]
	if modified { // each is a read and an update, too
		rate, r.tried = rate-modify["OPS"], r.tried-modify["Count"]
		r.notes = append(r.notes, "what reads, modifies and writes is counted twice by go-ycsb: latencies are left out")
	}
	if !(rate > 0) {
		return r, false
	}
	r.columns["throughput"] = decimal(rate)
	total := kinds["TOTAL"]
	switch {
	case modified:
	case total != nil && len(kinds) == counted+1:
		for column, name := range map[string]string{"mean": "Avg(us)", "p50": "50th(us)", "p95": "95th(us)",
			"p99": "99th(us)", "p99.9": "99.9th(us)"} {
			if us := total[name]; us > 0 {
				r.columns[column] = lasting(us / 1000)
			}
		}
	default:
		if sum > 0 {
			r.columns["mean"] = lasting(sum / r.tried / 1000)
		}
		if p99 > 0 {
			r.columns["p99"] = lasting(p99 / 1000)
		}
		if counted > 1 {
			r.notes = append(r.notes, fmt.Sprintf("p99 is that of the slowest of %d kinds of operations: all together took "+
				"that at most", counted))
		}
	}
	r.tried += r.failed
	return r, true
}
