// Package glossary explains the words that reports use to a reader who never
// measured storage. The report, the terminal and the help print the same text.
// It is pure.
package glossary

import (
	"slices"
	"strings"
)

// Entry is a word with what it means.
type Entry struct {
	Word  string
	Also  []string // other forms, explained by the same text
	Means string
}

// entries are in the order in which a reader meets the words.
var entries = []Entry{
	{"stack", nil,
		"a device, its layers and the container's view, written source first. loop > xfs > volume is a loop device " +
			"with an XFS file system and a data volume on it."},
	{"baseline", nil, "the stack that all others are compared with."},
	{"sure, likely, too early", []string{"sure", "likely", "too early"},
		"how far you can rely on a verdict. Sure: it is wrong in at most 5 of 100 runs, and a recommended " +
			"stack is at most the margin below the best. Likely: it may be wrong more often, for the reason " +
			"given. Too early: a stack had fewer than four setups."},
	{"as fast as", []string{"does as well", "level"},
		"at most the margin apart, as all setups together show. This is more than \"no difference found\". The " +
			"margin is 5% unless --margin changes it; the sentence names it."},
	{"fio", nil, "the program that makes the load: it reads and writes as a database would, and counts."},
	{"I/O", nil, "one read or write request."},
	{"IOPS", nil, "I/Os per second. More is better."},
	{"ops/s", []string{"operation"},
		"operations per second of a database. An operation takes no I/O, one or many. More is better."},
	{"randread, randwrite, read, write", []string{"randread", "randwrite", "RR", "RW", "SR", "SW"},
		"fio's names of patterns: random reads, random writes, sequential reads, sequential writes. Older " +
			"runs call such workloads RR, RW, SR and SW."},
	{"queue depth", []string{"depth", "qd"},
		"how many I/Os each job keeps in flight. 4 jobs x depth 32 is 128 I/Os at once: much load, and longer " +
			"waits."},
	{"latency", []string{"total latency"},
		"time of one I/O or operation, from the request of the application to its answer. A second has 1,000 " +
			"ms (milliseconds), a millisecond 1,000 µs (microseconds)."},
	{"p50, p99, p99.9", []string{"p50", "p99", "p99.9"},
		"percentiles: 99 of 100 I/Os or operations take at most the p99. Users of a database notice the slow " +
			"ones."},
	{"slat, clat", []string{"slat", "clat"},
		"fio's two parts of a latency: submission, until the kernel has taken the I/O, and completion, from " +
			"then on."},
	{"O_DIRECT", []string{"direct"},
		"flag of open(2): a program asks the kernel to bypass the page cache. Some stacks ignore it."},
	{"libaio, io_uring, psync", []string{"libaio", "io_uring", "psync"},
		"ways to hand I/Os to the kernel: libaio and io_uring allow many in flight, psync waits for each."},
	{"from memory", []string{"memory"},
		"the kernel's page cache answered instead of the device. Such numbers look fast, but hold only while " +
			"memory lasts, and written data is not on the device yet."},
	{"served", nil,
		"I/Os of the device per I/O of fio. 1: the device did all of them; near 0: memory did; above 1: the " +
			"stack adds I/Os. For a database: I/Os of the device per operation; near 0 means that its caches " +
			"work."},
	{"loop device", nil,
		"a file that is used as if it were a drive. Ratios between stacks hold on it; a drive's own numbers " +
			"need the drive."},
	{"data volume", []string{"volume"}, "a directory of the host that a container sees. It outlives the container."},
	{"writable layer", []string{"storage driver", "overlay2"},
		"where a container's changes go. The engine's storage driver (overlay2, btrfs, vfs) keeps them, and " +
			"removes them with the container."},
	{"copy-on-write", []string{"nodatacow"},
		"overwritten data goes to a new place, and the old data stays until then. btrfs does this unless " +
			"nodatacow is set."},
	{"trial", nil, "one measured run of one workload on one stack."},
	{"setup", []string{"bring-up"},
		"creating a stack: its device, its file system, its files. Trials in one setup are not independent, " +
			"so each setup is one sample. Four setups are the fewest that can separate an effect from chance."},
	{"round, region", []string{"round", "block", "region"},
		"in each round every stack gets a turn, in random order and on the same region of the disk. So " +
			"neither time nor place favors a stack."},
	{"instance", nil, "one of several equal containers or programs that run at the same time."},
	{"load line", nil,
		"how many instances a host carries: the largest number whose total throughput is within 10% of the " +
			"highest total, or that meets an objective."},
	{"knee, valley", []string{"knee", "valley"},
		"of throughput over the number of instances. Knee: from here on, each further instance adds less. " +
			"Valley: the total is below the total of fewer instances."},
	{"scaled-down host", []string{"miniature"},
		"a smaller host made of this one: all instances share its CPUs, memory and device limits."},
	{"median", nil, "the middle one of several values: half are above it, half below."},
	{"interval", nil,
		"where the true value probably is: 0.92x (0.88 to 0.96) was measured as 0.92, and is between 0.88 and " +
			"0.96 with 95% confidence unless another level is given. Below four setups there is no interval."},
	{"ratio", nil,
		"one stack's value divided by another's in the same rounds: 0.50x is half as fast, 2.0x twice as " +
			"fast."},
	{"~", []string{"significant"},
		"no significant difference: the measured difference may be chance. It does not mean \"equal\"."},
	{"p", nil,
		"of a comparison: how often chance alone would show such a difference. Below 5% the difference is " +
			"significant."},
	{"noise floor", []string{"control", "noise"},
		"how far two copies of the same stack differed in this run. The part of it that chance does not " +
			"explain widens every interval. The copies, called controls, are in no table."},
	{"steady state", nil,
		"when the speed of a device no longer changes. New drives are fast until their spare blocks are used " +
			"up, which takes minutes of writing."},
	{"residue", nil, "of a trace: the time that the application waited, less the time that the parts explain."},
}

// All returns every entry, in the order in which a reader meets the words.
func All() []Entry { return slices.Clone(entries) }

// Find returns the entry that explains a word, in capitals or not. ok is false when there is none.
func Find(word string) (e Entry, ok bool) {
	i := slices.IndexFunc(entries, func(e Entry) bool {
		return slices.ContainsFunc(append([]string{e.Word}, e.Also...),
			func(known string) bool { return strings.EqualFold(known, word) })
	})
	if i < 0 {
		return e, false
	}
	return entries[i], true
}

// Anchor returns the name of an entry's place on a page: "word-queue-depth".
func (e Entry) Anchor() string {
	word := e.Word
	if word == "~" {
		word = "not significant"
	}
	keep := func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return '-'
	}
	slug := strings.Map(keep, strings.ToLower(word))
	return "word-" + strings.Join(strings.FieldsFunc(slug, func(r rune) bool { return r == '-' }), "-")
}
