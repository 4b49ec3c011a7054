package fio

import (
	"regexp"
	"strings"
)

// Options of a user's job file, by what plimsoll does with them. An option
// that is in none of these lists is refused, because nobody has looked
// whether it leaves the stack.

// passed go to fio as they are. None of them names a file, runs a program,
// changes the host beyond the job's own processes, or hides an error.
var passed = words(`
	description rw readwrite bs blocksize ba blockalign bsrange blocksize_range bssplit bs_unaligned
	blocksize_unaligned bs_is_seq_rand randrepeat allrandrepeat randseed norandommap softrandommap
	rw_sequencer random_generator random_distribution percentage_random use_os_rand
	ioengine iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min
	iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode
	size io_size io_limit filesize offset fileoffset offset_increment offset_align number_ios
	filename directory nrfiles nr_files openfiles file_service_type unique_filename lockfile
	fallocate fadvise_hint overwrite invalidate pre_read create_serialize create_fsync create_on_open
	fsync fdatasync sync_file_range end_fsync fsync_on_close sync direct buffered atomic write_hint
	rwmixread rwmixwrite rwmixcycle loops numjobs runtime timeout time_based ramp_time
	thinkcycles thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime
	rate rate_min ratemin rate_process rate_cycle ratecycle rate_ignore_thinktime rate_iops rate_iops_min
	max_latency latency_target latency_window latency_percentile latency_run
	mem iomem iomem_align mem_align hugepage-size lockmem clocksource gtod_cpu
	nice prio prioclass cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy
	exitall exit_what exitall_on_error new_group stonewall wait_for_previous thread group_reporting
	flow flow_id flow_sleep kb_base unit_base
	zero_buffers refill_buffers scramble_buffers buffer_compress_percentage buffer_compress_chunk
	dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global
	clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures
	block_error_percentiles disk_util error_dump unified_rw_reporting gtod_reduce
	disable_lat disable_clat disable_slat disable_bw_measurement disable_bw bwavgtime iopsavgtime
	write_bw_log write_lat_log write_iops_log write_hist_log per_job_logs log_entries log_avg_msec log_hist_msec
	log_hist_coarseness log_max_value log_window_value log_offset log_prio log_compression log_compression_cpus
	log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id
	hipri hipri_percentage cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit fixedbufs registerfiles
	sqthread_poll sqthread_poll_cpu nonvectored uncached nowait force_async userspace_reap`)

// pathOptions among them hold file names.
var pathOptions = words(`filename directory write_bw_log write_lat_log write_iops_log write_hist_log`)

// refused maps an option to the reason.
var refused = refusals(map[string]string{
	"exec_prerun exec_postrun": "runs a program on the host",
	"include":                  "brings in a file that is not kept with the results: put its text here",
	"filename_format opendir":  "names files in a way that cannot be checked: use filename",
	"name": "renames the job behind its section's back: rename the section; in [global] it is " +
		"accepted",
	"ioscheduler": "changes the host's I/O scheduler for everybody",
	"cgroup cgroup_weight cgroup_nodelete uid gid": "changes who the job " +
		"runs as: limits belong to the experiment",
	"read_iolog read_iolog_chunked write_iolog replay_no_stall replay_redirect replay_scale": "replays I/O to " +
		"whatever files the log names",
	"replay_align replay_time_scale replay_skip merge_blktrace_file": "replays I/O to " +
		"whatever files the log names",
	"merge_blktrace_scalars merge_blktrace_iters": "replays I/O to " +
		"whatever files the log names",
	"verify do_verify verify_only verify_interval verify_offset verify_pattern verify_fatal": "mixes reads that " +
		"check data into the measurement",
	"verify_dump verify_async verify_backlog verify_backlog_batch experimental_verify": "mixes reads that check data " +
		"into the measurement",
	"verify_state_load verify_state_save verify_async_cpus": "mixes reads that check data into the measurement",
	"buffer_pattern": "may read the pattern from a file of the host",
	"trim_percentage trim_verify_zero trim_backlog trim_backlog_batch": "trims: only reads and writes " +
		"are measured",
	"zonemode zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones": "resets zones: zoned devices " +
		"are not supported",
	"job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency": "resets zones: zoned devices " +
		"are not supported",
	"ignore_error continue_on_error": "hides errors: a stack that fails I/Os has no speed",
	"fill_device fill_fs":            "runs until the stack is full: give a size",
	"file_append":                    "grows files without a bound: give a size",
	"create_only allow_file_create":  "is set by plimsoll, which lays files out before it measures",
	"unlink unlink_each_loop": "removes files that were laid out for the measured job; plimsoll removes them " +
		"at the end",
	"allow_mounted_write": "overrides a protection of devices",
	"startdelay": "lets jobs start at different times, and one measurement cannot tell them apart: declare " +
		"a workload for each",
	"wait_for": "runs jobs one after another, and one measurement cannot tell them apart: declare a workload for each",
	"profile steadystate ss steadystate_duration ss_dur steadystate_ramp_time ss_ramp": "takes the length of the run " +
		"out of the experiment's hands",
	"stats":         "takes jobs out of the measurement",
	"write_barrier": "is not supported",
	"output output-format append-terse minimal eta eta-newline eta-interval status-interval": "belongs to fio's " +
		"command line, which plimsoll writes",
	"client server daemonize remote-config section debug max-jobs warnings-fatal aux-path": "belongs to fio's " +
		"command line, which plimsoll writes",
	"trigger trigger-file trigger-timeout trigger-remote idle-prof inflate-log showcmd readonly": "belongs to fio's " +
		"command line, which plimsoll writes",
})

// fixed are options that may be given, but with one value only.
var fixed = map[string]struct{ value, reason string }{
	"unified_rw_reporting": {"0", "reports reads and writes as one"},
	"gtod_reduce":          {"0", "switches latencies off, and a measurement has them"},
	"disable_lat":          {"0", "switches latencies off, and a measurement has them"},
	"disable_clat":         {"0", "switches latencies off, and a measurement has them"},
	"disable_slat":         {"0", "switches latencies off, and a measurement has them"},
	"clat_percentiles":     {"1", "switches a histogram off, and a measurement has it"},
	"lat_percentiles":      {"1", "switches a histogram off, and a measurement has it"},
	"slat_percentiles":     {"1", "switches a histogram off, and a measurement has it"},
	"kb_base":              {"1024", "changes what sizes mean"},
}

// fileEngines do their I/O on the files that the job names.
var fileEngines = []string{"libaio", "io_uring", "psync", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap"}

// filePatterns are values of rw; fio takes readwrite for rw.
var filePatterns = []string{"read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"}

// aliases give options one name.
var aliases = map[string]string{
	"readwrite": "rw", "blocksize": "bs", "timeout": "runtime", "fileoffset": "offset",
	"io_limit": "io_size", "nr_files": "nrfiles", "wait_for_previous": "stonewall", "iomem": "mem",
}

// decimalUnit finds sizes that fio does not take for what they say.
var decimalUnit = regexp.MustCompile(`(?i)\b([0-9]+[kmgtp])ib\b`)

func words(text string) []string { return strings.Fields(text) }

func refusals(grouped map[string]string) map[string]string {
	m := map[string]string{}
	for names, reason := range grouped {
		for _, n := range words(names) {
			m[n] = reason
		}
	}
	return m
}
