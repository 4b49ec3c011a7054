package outputs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// What elbencho (--csvfile) and vdbench (its summary) write: a result for each phase or run definition.

func beginsElbencho(line string) bool {
	return strings.Contains(line, "operation,") && strings.Contains(line, "IOPS [last]")
}

func readElbencho(o *output) (all []outputResult) {
	begin := o.first(beginsElbencho)
	in := csv.NewReader(strings.NewReader(strings.Join(o.lines[begin:], "\n")))
	in.FieldsPerRecord, in.LazyQuotes = -1, true
	heading, err := in.Read()
	for err == nil {
		var record []string
		if record, err = in.Read(); err != nil {
			break
		}
		line, _ := in.FieldPos(0)
		if len(record) != len(heading) || len(all) == mostResults {
			o.refuse(begin+line-1, fmt.Sprintf("a line has %d fields, and the heading %d, or there are more than %d results",
				len(record), len(heading), mostResults), "hand in the file as elbencho wrote it")
			return nil
		}
		if r, ok := elbenchoResult(heading, record); ok {
			r.line = begin + line
			all = append(all, r)
		}
	}
	if !errors.Is(err, io.EOF) {
		o.refuse(begin, "this is no table", "hand in the file as elbencho wrote it")
		return nil
	}
	return all
}

// elbenchoResult returns the result of a phase. ok is false for one that reads and writes nothing.
func elbenchoResult(heading, record []string) (r outputResult, ok bool) {
	fields := map[string]string{}
	for i, name := range heading { // "IO lat us avg" in older versions
		fields[strings.NewReplacer("[", "", "]", "").Replace(strings.TrimSpace(name))] = strings.TrimSpace(record[i])
	}
	number := func(name string) float64 { x, _ := leading(fields[name]); return x }
	operation := strings.ToLower(fields["operation"])
	rate := number("IOPS last")
	if rate == 0 || operation != "read" && operation != "write" {
		return r, false
	}
	r.columns = map[string]string{"class": "elbencho-" + operation, "throughput": decimal(rate)}
	if threads := number("threads"); threads > 0 {
		r.columns["clients"] = decimal(threads * max(1, number("hosts")) * max(1, number("IO depth")))
	}
	if us := number("IO lat us avg"); us > 0 {
		r.columns["mean"] = lasting(us / 1000)
	}
	r.notes = append(r.notes, "its rate is over the time until the last thread ended, not the first")
	return r, true
}

var (
	vdbenchRun = regexp.MustCompile(`Starting RD=([^;]+);(?: I/O rate: ([^;]+);)?`)
	vdbenchAvg = regexp.MustCompile(`(?:^|\s)avg_\d+-\d+\s+(.*)$`)
	threadsOne = regexp.MustCompile(`\bthreads=(\d+)`)
)

func beginsVdbench(line string) bool {
	return strings.Contains(line, "Starting RD=") || vdbenchAvg.MatchString(line)
}

func readVdbench(o *output) (all []outputResult) {
	run, threads, rated := "", "", false
	for i, line := range o.lines {
		if m := vdbenchRun.FindStringSubmatch(line); m != nil {
			run, threads = m[1], ""
			rated = m[2] != "" && !strings.Contains(strings.ToUpper(m[2]), "MAX") && !strings.HasPrefix(m[2], "Curve")
			if t := threadsOne.FindStringSubmatch(line); t != nil {
				threads = t[1]
			}
		}
		m := vdbenchAvg.FindStringSubmatch(line)
		if m == nil || strings.Contains(strings.ToLower(run), "format") { // which lays files out
			continue
		}
		fields := strings.Fields(m[1]) // rate, MB/s, bytes of an I/O, share of reads, response time
		if len(fields) < 5 {
			o.refuse(i, "this line of averages is cut short", "hand in vdbench's summary as it is")
			continue
		}
		rate, ok := leading(fields[0])
		ms, has := leading(fields[4])
		switch {
		case !ok || rate == 0:
			o.refuse(i, "vdbench did no I/O", "hand in a run that did some")
		case rated:
			o.refuse(i, "vdbench began I/Os at a rate, whatever was done", "hand in a run with iorate=max")
		default:
			r := outputResult{line: i + 1, columns: map[string]string{"clients": threads, "throughput": decimal(rate)}}
			if has && ms > 0 {
				r.columns["mean"] = lasting(ms)
			}
			all = append(all, r)
		}
	}
	return all
}
