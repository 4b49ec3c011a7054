package fio

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/problem/suggest"
)

// A job file may have any option of fio. What becomes of each stands in one table: it runs as it is, it is replaced by
// what plimsoll knows, it is left out since it changes nothing that is measured, or it is refused. An option that is in
// no group is refused, because nobody has looked whether it leaves the stack.

// fate is the treatment of an option.
type fate int

// The fates.
const (
	runs     fate = iota // fio gets it
	replaced             // left out, and a note names its replacement
	ignored              // left out: it does not affect the measurement
	refused              // the file is refused
)

// rule is the treatment of an option, with the reason.
type rule struct {
	fate fate
	why  string // of a refused option: "it ..."; of a replaced one: the replacement
	do   string // what to change, of one that is refused
	// harmless are values with which it is left out without a word, whatever its fate: "verify=0" verifies nothing.
	harmless []string
}

// group is a set of options with one rule.
type group struct {
	names string
	rule
}

// groups are all options of fio.
var groups = []group{
	// None of these names a file, runs a program, changes the host beyond the job's own processes, or hides an error.
	{`description rw readwrite bs blocksize ba blockalign bsrange blocksize_range bssplit bs_unaligned
	blocksize_unaligned bs_is_seq_rand randrepeat allrandrepeat randseed norandommap softrandommap
	rw_sequencer random_generator random_distribution percentage_random use_os_rand
	ioengine iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min
	iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode
	size io_size io_limit filesize offset fileoffset offset_increment offset_align number_ios
	nrfiles nr_files openfiles file_service_type unique_filename lockfile
	fallocate fadvise_hint overwrite invalidate pre_read create_serialize create_fsync create_on_open
	fsync fdatasync sync_file_range syncfs end_fsync fsync_on_close sync direct buffered atomic write_hint
	rwmixread rwmixwrite rwmixcycle loops numjobs runtime timeout time_based ramp_time
	thinkcycles thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime
	rate rate_min ratemin rate_process rate_cycle ratecycle rate_ignore_thinktime rate_iops rate_iops_min
	max_latency latency_target latency_window latency_percentile latency_run
	mem iomem iomem_align mem_align hugepage-size lockmem clocksource gtod_cpu
	nice prio prioclass priohint cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy
	exitall exit_what exitall_on_error new_group thread threads group_reporting
	flow flow_id flow_sleep flow_watermark unit_base
	zero_buffers refill_buffers scramble_buffers buffer_compress_percentage buffer_compress_chunk buffer_pattern
	dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global
	percentile_list significant_figures block_error_percentiles disk_util error_dump
	hipri hipri_percentage cmdprio_percentage cmdprio_class cmdprio_hint cmdprio cmdprio_bssplit fixedbufs registerfiles
	sprandom spr_num_regions spr_op spr_cs
	sqthread_poll sqthread_poll_cpu nonvectored uncached nowait force_async userspace_reap thp`, rule{}},

	// Order of jobs: phases are workloads of their own.
	{"stonewall wait_for_previous wait_for", rule{}},

	{"filename directory filename_format opendir allow_mounted_write", rule{fate: replaced,
		why: "the stack is the target"}},
	{"create_only allow_file_create unlink unlink_each_loop", rule{fate: replaced, harmless: words("0"),
		why: "plimsoll lays files out before it measures, and removes them at the end"}},
	{"fill_device fill_fs", rule{fate: replaced, harmless: words("0"), why: "the size is that of the stack"}},
	{"gtod_reduce disable_lat disable_clat disable_slat", rule{fate: replaced, harmless: words("0"),
		why: "a measurement has latencies"}},
	{"clat_percentiles lat_percentiles slat_percentiles", rule{fate: replaced, harmless: words("1"),
		why: "a measurement has all three histograms"}},
	{"unified_rw_reporting", rule{fate: replaced, harmless: words("0 none"),
		why: "reads and writes are measured apart"}},
	{"steadystate ss steadystate_duration ss_dur steadystate_ramp_time ss_ramp steadystate_check_interval ss_interval",
		rule{fate: replaced, why: "the experiment says how long a trial measures"}},
	{"write_bw_log write_lat_log write_iops_log write_hist_log", rule{fate: replaced,
		why: "plimsoll keeps what it needs of each trial, and no file of fio's leaves the stack"}},
	{"per_job_logs log_entries log_avg_msec log_hist_msec log_hist_coarseness log_max_value log_window_value log_offset " +
		"log_prio log_issue_time log_compression log_compression_cpus log_store_compressed log_unix_epoch " +
		"log_alternate_epoch log_alternate_epoch_clock_id job_start_clock_id disable_bw_measurement disable_bw bwavgtime " +
		"iopsavgtime", rule{fate: ignored}},
	{"name", rule{fate: ignored}}, // in [global] a label; in a job fio's name for it, and the section has one
	{"verify_state_load verify_state_save verify_async verify_async_cpus verify_fatal " +
		"verify_dump verify_backlog verify_backlog_batch verify_interval verify_offset verify_pattern " +
		"verify_pattern_interval verify_header_seed verify_write_sequence", rule{fate: ignored}}, // without verify
	{"read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency " +
		"recover_zbd_write_error", rule{fate: ignored}}, // without zonemode
	// Before fio 3.9 these made a job stride; later ones refuse them without zonemode.
	{"zonesize zonecapacity zonerange zoneskip", rule{fate: refused, harmless: words("0"),
		why: "strides over the device, or needs a zoned one", do: "leave it out"}},

	{"exec_prerun exec_postrun", rule{fate: refused, why: "runs a program on the host",
		do: "leave it out, and run it before plimsoll"}},
	{"ioscheduler", rule{fate: refused, why: "changes the host's I/O scheduler for everybody",
		do: "leave it out, and write scheduler:NAME into the stack"}},
	{"cgroup cgroup_weight cgroup_nodelete uid gid", rule{fate: refused, why: "changes who the job runs as",
		do: "leave it out: limits belong to the experiment"}},
	{"read_iolog read_iolog_chunked write_iolog replay_no_stall replay_redirect replay_scale replay_align " +
		"replay_time_scale replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters", rule{fate: refused,
		why: "replays I/O to whatever files a log names, or writes such a log",
		do:  "describe the load by its patterns, sizes and rates"}},
	{"verify do_verify verify_only experimental_verify verify_mode", rule{fate: refused, harmless: words("0 null none"),
		why: "mixes reads that check data into the measurement", do: "leave it out, or write verify=0"}},
	{"trim_percentage trim_verify_zero trim_backlog trim_backlog_batch num_range", rule{fate: refused,
		harmless: words("0"), why: "trims: only reads and writes are measured", do: "leave it out"}},
	{"kb_base", rule{fate: refused, harmless: words("1024"), why: "changes what sizes mean",
		do: "leave it out, and write sizes in k, m and g, which are powers of 1024"}},
	{"zonemode", rule{fate: refused, harmless: words("none"),
		why: "needs a zoned device, or strides over the device", do: "leave it out, or write zonemode=none"}},
	{"ignore_error continue_on_error", rule{fate: refused, harmless: words("none 0"),
		why: "hides errors: a stack that fails I/Os has no speed", do: "leave it out"}},
	{"file_append", rule{fate: refused, harmless: words("0"), why: "grows files without a bound",
		do: "leave it out, and give a size"}},
	{"startdelay", rule{fate: refused, harmless: words("0"),
		why: "lets jobs start at different times, and one measurement cannot distinguish them",
		do:  "leave it out, or let one job wait for the other: stonewall makes a workload of each"}},
	{"profile", rule{fate: refused, why: "takes the whole load out of the file's hands", do: "leave it out"}},
	{"stats", rule{fate: refused, harmless: words("1"), why: "takes jobs out of the measurement",
		do: "leave it out, or put the job into a workload of its own and a mix"}},
	{"write_barrier", rule{fate: refused, why: "was dropped by fio", do: "leave it out"}},
	{"fdp fdp_pli plids plid_select fdp_pli_select dataplacement dp_scheme", rule{fate: refused, harmless: words("0 none"),
		why: "needs a drive with placement of data", do: "leave it out"}},
	{"cmd_type md_per_io_size pi_act pi_chk apptag apptag_mask deac readfua writefua write_mode", rule{
		fate: refused, harmless: words("0 rw"), why: "speaks to the drive past the block layer",
		do: "leave it out, and take an engine that works on files"}},
	{"output output-format append-terse minimal eta eta-newline eta-interval status-interval client server daemonize " +
		"remote-config section debug max-jobs warnings-fatal aux-path trigger trigger-file trigger-timeout trigger-remote " +
		"idle-prof inflate-log showcmd readonly", rule{fate: refused,
		why: "belongs to fio's command line, which plimsoll writes", do: "leave it out"}},
}

// rules maps each option to its rule.
var rules = func() map[string]rule {
	table := map[string]rule{}
	for _, g := range groups {
		for _, name := range words(g.names) {
			table[name] = g.rule
		}
	}
	return table
}()

// fateOf returns the treatment of an option with a value.
func (r rule) fateOf(value string) fate {
	if r.fate != runs && slices.Contains(r.harmless, value) {
		return ignored
	}
	return r.fate
}

// optionNames are all options of the table, sorted.
func optionNames() []string {
	var names []string
	for name := range rules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fileEngines do their I/O on the files that the job names.
var fileEngines = []string{"libaio", "io_uring", "psync", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap"}

// otherEngines are the other engines of fio's HOWTO and releases, by what they do instead.
var otherEngines = []struct{ names, why, do string }{
	{"null cpuio cpp_null page_fault", "transfers no data to or from storage", ""},
	{"filecreate filestat filedelete dircreate dirstat dirdelete falloc ftruncate e4defrag",
		"changes or asks for names and sizes of files, and transfers no data",
		"the workload metadata measures names and inodes: docs/reference/workload-metadata.md"},
	{"net netsplice rdma librpma_apm_server librpma_apm_client librpma_gpspm_server librpma_gpspm_client",
		"transfers data over a network, and to no storage", ""},
	{"http nfs rbd rados gfapi gfapi_async libhdfs libiscsi nbd dfs daos ime_psync ime_psyncv ime_aio",
		"reaches a server through a library, past the stack", ""},
	{"io_uring_cmd sg libzbc libblkio xnvme mtd", "sends commands to a device past the block layer, and so past the stack",
		""},
	{"dev-dax libpmem pmemblk libcufile libhipfile", "needs persistent memory or a GPU, which no stack has", ""},
	{"exec external", "runs a program, or loads one into fio", ""},
	{"solarisaio windowsaio", "belongs to another operating system", ""},
}

// notOnFiles returns why an engine is refused, and what to do.
func notOnFiles(engine string) (why, remedy string) {
	remedy = "write one of " + strings.Join(fileEngines, ", ")
	engine, _, _ = strings.Cut(engine, ":")
	for _, other := range otherEngines {
		if slices.Contains(words(other.names), engine) {
			return other.why, cmp.Or(other.do, remedy)
		}
	}
	if suggest.Closest(engine, fileEngines) != "" {
		remedy = suggest.DidYouMean(engine, fileEngines)
	}
	return "is none that is known to do its I/O on the stack's files", remedy
}

// filePatterns are values of rw; fio takes readwrite for rw.
var filePatterns = []string{"read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"}

// aliases maps other names of options to their first one.
var aliases = map[string]string{
	"readwrite": "rw", "blocksize": "bs", "timeout": "runtime", "fileoffset": "offset",
	"io_limit": "io_size", "threads": "thread", "nr_files": "nrfiles", "wait_for_previous": "stonewall", "iomem": "mem",
}

// engineAliases maps other names of engines to those that fio takes them for.
var engineAliases = map[string]string{"aio": "libaio", "linuxaio": "libaio"}

// decimalUnit matches sizes that fio reads as decimal although their unit is binary.
var decimalUnit = regexp.MustCompile(`(?i)\b([0-9]+[kmgtp])ib\b`)

func words(text string) []string { return strings.Fields(text) }
