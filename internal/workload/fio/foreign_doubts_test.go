package fio

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/result"
)

// documentOf is fio's output of one job of so many I/Os in a second, with a mean latency in nanoseconds.
func documentOf(options, more string, ios int, mean float64) []byte {
	const job = `{"fio version": "fio-3.33", "timestamp": 1700000000, "jobs": [{"jobname": "j", "groupid": 0, "error": 0,
"job options": {%s}, "write": {"total_ios": %[2]d, "io_bytes": %[2]d000, "runtime": 1000,
"lat_ns": {"min": 1, "max": 90000000, "mean": %[3]f, "N": %[2]d}}%[4]s}`
	return fmt.Appendf(nil, job+`]}`, options, ios, mean, more)
}

// What a file says of a pace, of memory, of steadiness, and of more I/Os under way than its jobs can have is noted.
func TestDoubtsOfAFile(t *testing.T) {
	const direct = `"rw": "randwrite", "direct": "1", "ioengine": "libaio", "iodepth": "4"`
	for _, c := range []struct {
		name, options, extra string
		ios                  int
		mean                 float64
		want                 string // "" for no doubt
	}{
		{"sound", direct, "", 1000, 3.9e6, ""},
		{"impossible", direct, "", 1000, 56e6, "need 56.0 clients at a time, and its jobs have 4 I/Os under way"},
		{"clones", direct + `, "numjobs": "14", "group_reporting": "1"`, "", 1000, 56e6, ""},
		{"a blocking engine", `"rw": "randwrite", "direct": "1", "ioengine": "sync", "iodepth": "4"`, "", 1000, 3.9e6,
			"and its jobs have 1 I/Os under way"},
		{"a rate", direct + `, "rate_iops": "1000"`, "", 1000, 1e6, "it was done at a pace: rate_iops=1000"},
		{"no rate", direct + `, "rate": "0", "thinktime": "0"`, "", 1000, 1e6, ""},
		{"buffered", `"rw": "write", "ioengine": "psync"`, "", 1000, 588, "writes were buffered and never flushed"},
		{"flushed", `"rw": "write", "ioengine": "psync", "fdatasync": "1"`, "", 1000, 588, ""},
		{"not steady", direct, `, "steadystate": {"ss": "iops:20%", "attained": 0}`, 1000, 1e6,
			"fio did not find it steady: iops:20% was not attained"},
		{"steady", direct, `, "steadystate": {"ss": "iops:20%", "attained": 1}`, 1000, 1e6, ""},
	} {
		notes := strings.Join(readOne(t, documentOf(c.options, c.extra, c.ios, c.mean)).Measurement.Notes, "; ")
		if !strings.Contains(notes, c.want) || c.want == "" && notes != "" {
			t.Errorf("%s: %q, and not %q", c.name, notes, c.want)
		}
	}
}

// Devices that served next to nothing of random I/Os say that a cache answered. Those that served them say nothing:
// they have other users.
func TestDevicesOfAFile(t *testing.T) {
	const options = `"rw": "%s", "direct": "1", "ioengine": "libaio", "iodepth": "4"`
	for _, c := range []struct {
		rw, devices string
		source      result.Source
		reason      string
	}{
		{"randwrite", `{"name": "sda", "read_ios": 5, "write_ios": 15}`, result.SourceMemory,
			"0.02 requests of sda for each I/O, with those of other programs that used it: a cache answered"},
		{"randwrite", `{"name": "sda", "read_ios": 0, "write_ios": 900, "write_merges": 100}`, result.SourceUnknown,
			"1.00 requests of sda for each I/O"},
		{"write", `{"name": "sda", "read_ios": 0, "write_ios": 20}`, result.SourceUnknown,
			"0.02 requests of sda for each I/O"},
		{"randwrite", `{"name": "dm-0", "write_ios": 1000, "aggr_read_ios": 0}, {"name": "sda", "write_ios": 500}`,
			result.SourceUnknown, "1.00 requests of dm-0 for each I/O"},
	} {
		text := documentOf(fmt.Sprintf(options, c.rw), "", 1000, 1e6)
		text = append(bytes.TrimSuffix(text, []byte("}")), `, "disk_util": [`+c.devices+"]}"...)
		f := readOne(t, text)
		h := f.Check()
		if h.Source != c.source || (h.Ratio != nil) != (c.source == result.SourceMemory) ||
			!strings.Contains(h.Reason, c.reason) {
			t.Errorf("%s, %s: %+v", c.rw, c.devices, h)
		}
	}
	without := readOne(t, documentOf(fmt.Sprintf(options, "randwrite"), "", 1000, 1e6))
	if h := without.Check(); h.Source != result.SourceUnknown || h.Ratio != nil {
		t.Errorf("without devices: %+v", h)
	}
}
