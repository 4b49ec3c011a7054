package fio

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// Options that do not make another workload: they name files, or say what fio
// writes of it.
var besides = words(`
	name description filename directory filename_format opendir unlink unlink_each_loop
	write_bw_log write_lat_log write_iops_log write_hist_log per_job_logs log_entries log_avg_msec log_hist_msec
	log_hist_coarseness log_max_value log_offset log_prio log_issue_time log_compression log_compression_cpus
	log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id bwavgtime iopsavgtime
	clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures disk_util error_dump
	group_reporting unified_rw_reporting stonewall wait_for_previous new_group randseed`)

// logOptions name the logs that a job writes.
var logOptions = words(`write_bw_log write_lat_log write_iops_log write_hist_log`)

// sizeOptions and timeOptions have several spellings.
var (
	sizeOptions = words(`bs size filesize io_size offset offset_increment`)
	timeOptions = words(`runtime ramp_time`)
)

// describe fills in the jobs' options.
func (r *Foreign) describe(d document, jobs []job) {
	w := userFile{name: r.Job}
	var declared strings.Builder
	for _, j := range jobs {
		recorded := d.options(j)
		if len(recorded) == 0 {
			r.Options = nil
			r.lacks(Lack{What: "the options of its jobs"})
			r.Info = result.Workload{Kind: name, Summary: r.Job + ": options unknown"}
			return
		}
		known := canonical(recorded)
		for _, key := range []string{"filename", "directory"} {
			if v := known[key]; v != "" && !slices.Contains(r.Targets, v) {
				r.Targets = append(r.Targets, v)
			}
		}
		for _, key := range logOptions {
			if v, writes := known[key]; writes {
				prefix := path.Base(v)
				if v == "" || v == "1" {
					prefix = j.Name
				}
				if !slices.Contains(r.Logs, prefix) {
					r.Logs = append(r.Logs, prefix)
				}
			}
		}
		if known["group_reporting"] == "1" {
			r.Threads = nil
		}
		plan := newPlan(jobSection(j.Name, known), func(int, string, string) {})
		maps.DeleteFunc(known, func(key, _ string) bool { return slices.Contains(besides, key) })
		if slices.ContainsFunc(r.Options, func(o map[string]string) bool { return maps.Equal(o, known) }) {
			continue
		}
		r.Options, w.plans = append(r.Options, known), append(w.plans, plan)
		fmt.Fprintf(&declared, "[%s]\n", j.Name)
		for _, key := range slices.Sorted(maps.Keys(recorded)) {
			fmt.Fprintf(&declared, "%s=%s\n", key, recorded[key])
		}
	}
	r.Info = result.Workload{Kind: name, Summary: r.Job + ": " + w.summary(), Pattern: w.pattern(),
		Declared: declared.String()}
}

// jobSection makes options a section of a job file.
func jobSection(name string, options map[string]string) section {
	s := section{name: name}
	for key, value := range options {
		s.settings = append(s.settings, setting{key: key, value: value})
	}
	return s
}

// canonical returns options in canonical form: first names, flags as 1, sizes in bytes, times in milliseconds, and
// the most important defaults.
func canonical(recorded map[string]string) map[string]string {
	known := map[string]string{"rw": "read", "bs": "4096", "iodepth": "1", "numjobs": "1", "direct": "0"}
	for key, value := range recorded {
		if first, ok := aliases[key]; ok {
			key = first
		}
		if value == "" && !slices.Contains(logOptions, key) {
			value = "1"
		}
		switch {
		case slices.Contains(sizeOptions, key):
			// With an i, the unit's meaning depends on other options.
			if n, err := fioSize(value); err == nil && !decimalUnit.MatchString(value) {
				value = strconv.FormatInt(n, 10)
			}
		case slices.Contains(timeOptions, key):
			if t, err := fioDuration(value); err == nil {
				value = strconv.FormatInt(t.Milliseconds(), 10) + "ms"
			}
		case key == "ioengine" && engineAliases[value] != "":
			value = engineAliases[value]
		case key == "rw" && value == "readwrite":
			value = "rw"
		case key == "buffered":
			key, value = "direct", map[string]string{"0": "1"}[value]
			if value == "" {
				value = "0"
			}
		}
		known[key] = value
	}
	return known
}
