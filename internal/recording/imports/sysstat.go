package imports

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/recording"
)

// sysstat is what sadf -j and iostat -o JSON print.
type sysstat struct {
	Sysstat struct {
		Hosts []struct {
			Name       string       `json:"nodename"`
			Kernel     string       `json:"release"`
			CPUs       float64      `json:"number-of-cpus"`
			Statistics []statistics `json:"statistics"`
		} `json:"hosts"`
	} `json:"sysstat"`
}

type statistics struct {
	Timestamp json.RawMessage    `json:"timestamp"`
	CPULoad   []map[string]any   `json:"cpu-load"` // sadf: one for each processor, and "all"
	AvgCPU    map[string]float64 `json:"avg-cpu"`  // iostat
	Memory    map[string]float64 `json:"memory"`   // sadf, KiB
	Disk      []map[string]any   `json:"disk"`
}

// sadfTime is the timestamp of sadf.
type sadfTime struct {
	Date     string  `json:"date"`
	Time     string  `json:"time"`
	UTC      any     `json:"utc"`
	Interval float64 `json:"interval"`
}

// longestInterval is that of a recording, in seconds.
const longestInterval = 3600

// sysstat reads the output of sadf -j or iostat -t -o JSON.
func (b *builder) sysstat(f File) {
	var s sysstat
	if err := json.Unmarshal(f.Text, &s); err != nil {
		b.reject(f.Name, "the output of sysstat was not read", err.Error(), "end the program with Ctrl-C, so that it closes "+
			"its brackets")
		return
	}
	for _, host := range s.Sysstat.Hosts {
		if b.header.Host.Name != "" && b.header.Host.Name != host.Name {
			b.reject(f.Name, fmt.Sprintf("host %.100q", host.Name), fmt.Sprintf("others are of %.100q", b.header.Host.Name),
				"import each host into a recording of its own")
			return
		}
		b.header.Host.Name, b.header.Host.Kernel, b.header.Source = host.Name, host.Kernel, "sysstat"
		if host.CPUs > 0 && host.CPUs < 1e6 {
			b.header.Host.CPUs = host.CPUs
		}
		last := time.Time{}
		for i, report := range host.Statistics {
			moment, seconds, ok := b.timeOf(f.Name, i, report)
			if !ok {
				return
			}
			if seconds == 0 && !last.IsZero() { // iostat does not say how long its intervals are
				seconds = moment.Sub(last).Seconds()
			}
			first := last.IsZero() && seconds == 0 // of iostat: the time since the host started
			switch {
			case !first && !moment.After(last):
				b.backward++
				continue
			case !first && seconds > 0 && seconds <= longestInterval:
				b.report(moment.UnixMilli(), seconds, host.CPUs, report)
			}
			last = moment
		}
	}
}

// timeOf returns the time of a report, and the length of its interval if it says that.
func (b *builder) timeOf(file string, i int, report statistics) (moment time.Time, seconds float64, ok bool) {
	subject := fmt.Sprintf("report %d", i+1)
	var text string
	var stamp sadfTime
	switch {
	case len(report.Timestamp) == 0:
		b.reject(file, subject, "it has no time", "run iostat with -t, or sadf")
		return moment, 0, false
	case json.Unmarshal(report.Timestamp, &text) == nil:
		for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05-0700", "01/02/2006 03:04:05 PM", "01/02/06 15:04:05",
			"2006-01-02 15:04:05", "01/02/2006 15:04:05"} {
			if moment, err := time.Parse(form, text); err == nil {
				return moment, 0, true
			}
		}
		b.reject(file, subject, fmt.Sprintf("its time %.40q is in no form that is known", text),
			"set S_TIME_FORMAT=ISO in the environment of iostat")
		return moment, 0, false
	}
	if json.Unmarshal(report.Timestamp, &stamp) == nil {
		moment, err := time.Parse("2006-01-02 15:04:05", strings.ReplaceAll(stamp.Date, "/", "-")+" "+stamp.Time)
		if err == nil {
			return moment, stamp.Interval, true
		}
	}
	b.reject(file, subject, fmt.Sprintf("its time %.80s is in no form that is known", report.Timestamp), "run sadf -j")
	return moment, 0, false
}

// report adds a report: rates over an interval.
func (b *builder) report(moment int64, seconds, cpus float64, r statistics) {
	b.lengths[moment] = seconds
	set := func(t recording.Thing, m recording.Metric, v float64) {
		if !(v >= 0) || math.IsInf(v, 0) {
			b.noAmount++
			return
		}
		c := cell{b.thing(t), m}
		if b.amounts[c] == nil {
			b.amounts[c] = map[int64]float64{}
		}
		b.amounts[c][moment] = v
	}
	host := recording.Thing{Kind: recording.OfHost}
	load := r.AvgCPU
	for _, l := range r.CPULoad {
		if l["cpu"] == "all" {
			load = map[string]float64{}
			for key, v := range l {
				if n, ok := v.(float64); ok {
					load[key] = n
				}
			}
		}
	}
	if idle, ok := load["idle"]; ok && cpus > 0 {
		ofTime := cpus * seconds * 1e6 / 100
		set(host, recording.CPU, max(0, 100-idle-load["iowait"]-load["steal"])*ofTime)
		set(host, recording.Steal, load["steal"]*ofTime)
	}
	if available, ok := r.Memory["avail"]; ok {
		set(host, recording.Available, available)
		if used := r.Memory["memused-percent"]; used > 0 && used < 100 {
			// memused is all but free memory: of sysstat 12 and newer, MemTotal - MemFree - buffers, cache and slab.
			total := r.Memory["memused"] / used * 100 * 1024
			b.header.Host.MemoryBytes = max(b.header.Host.MemoryBytes, total)
		}
	}
	for _, disk := range r.Disk {
		number := func(keys ...string) (float64, bool) {
			for _, key := range keys {
				if v, ok := disk[key].(float64); ok {
					return v, true
				}
			}
			return 0, false
		}
		name, _ := disk["disk-device"].(string)
		if name == "" {
			name, _ = disk["disk_device"].(string)
		}
		if name == "" {
			b.ignored["disk without a name"]++
			continue
		}
		drive := recording.Thing{Kind: recording.OfDrive, Name: name}
		for _, m := range []struct {
			metric recording.Metric
			factor float64
			keys   []string
		}{
			{recording.Reads, 1, []string{"r/s", "rtps"}}, {recording.Writes, 1, []string{"w/s", "wtps"}},
			{recording.ReadBytes, 1024, []string{"rkB/s", "rkB"}}, {recording.WriteBytes, 1024, []string{"wkB/s", "wkB"}},
			{recording.ReadBytes, 1 << 20, []string{"rMB/s"}}, {recording.WriteBytes, 1 << 20, []string{"wMB/s"}},
			{recording.RequestTime, 1e6, []string{"aqu-sz"}}, {recording.Busy, 1e4, []string{"util", "util-percent"}},
		} {
			if v, ok := number(m.keys...); ok {
				set(drive, m.metric, v*m.factor*seconds)
			}
		}
		// sar does not divide operations into reads and writes: all count as reads.
		if v, ok := number("tps"); ok {
			if _, divided := number("r/s", "rtps"); !divided {
				set(drive, recording.Reads, v*seconds)
				set(drive, recording.Writes, 0)
			}
		}
	}
}
