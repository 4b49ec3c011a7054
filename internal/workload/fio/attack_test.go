package fio

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAttackFilesOfManyParts: files of other people that are a bomb, small on disk and large in memory, are refused
// with what the limit is, and without holding them.
func TestAttackFilesOfManyParts(t *testing.T) {
	const job = `{"jobname":"j","read":{"total_ios":1,"iops":1,"runtime":1000},"job options":{}},`
	document := func(jobs int) string {
		return `{"fio version":"fio-3.33","jobs":[` + strings.TrimSuffix(strings.Repeat(job, jobs), ",") + "]}\n"
	}
	json := func(text string) string { _, problems := ReadForeign([]byte(text)); return problems.Error() }
	log := func(text string) string {
		_, problems := ReadLog(LogName{Prefix: "x", Kind: LogTotal, Thread: 1}, []byte(text))
		return problems.Error()
	}
	for _, c := range []struct {
		name, text string
		read       func(string) string
		want       string
	}{
		{"jobs", document(20_000), json, fmt.Sprintf("more than %d jobs", mostJobs)},
		{"jobs of clients", strings.Replace(document(20_000), "jobs", "client_stats", 1), json, "more than 10000 jobs"},
		{"documents", strings.Repeat(document(1000), 11), json, "more than 10000 jobs"},
		{"bins", `{"fio version":"fio-3.33","jobs":[{"read":{"clat_ns":{"bins":{` +
			strings.Repeat(`"1":1,`, mostValues+1) + `"2":1}}}}]}`, json, "more than 5000000 values"},
		{"fields", strings.Repeat("1,", 1_000_000) + "1\n", log, "a line of 2000001 bytes"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		message := c.read(c.text)
		runtime.ReadMemStats(&after)
		if !strings.Contains(message, c.want) {
			t.Errorf("%s: %.300s", c.name, message)
		}
		if made := (after.TotalAlloc - before.TotalAlloc) / uint64(len(c.text)); made > 60 {
			t.Errorf("%s: %d times its size was allocated", c.name, made)
		}
	}
	if message := json(document(100)); message != "" {
		t.Errorf("a file as fio writes them: %s", message)
	}
}
