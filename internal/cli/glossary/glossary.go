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
	{"stack", nil, "what a container's data stands on, written source first: a device, what is put on it, and how " +
		"the container sees it. loop > xfs > volume is a loop device with an XFS file system and a data volume in it."},
	{"baseline", nil, "the stack that all others are compared with."},
	{"sure, likely, too early", []string{"sure", "likely", "too early"},
		"how far a verdict can be relied on. Sure: every comparison that matters is decided. Likely: one is not, or " +
			"something besides the stacks was seen to matter, which is named. Too early: fewer than four setups."},
	{"fio", nil, "the program that makes the load: it reads and writes as a database would, and counts."},
	{"I/O", nil, "one read or write request."},
	{"IOPS", nil, "I/Os per second. More is better."},
	{"ops/s", []string{"operation"}, "operations per second: what a database was asked and did, each with none, one or " +
		"many I/Os. More is better."},
	{"randread, randwrite, read, write", []string{"randread", "randwrite", "RR", "RW", "SR", "SW"}, "fio's names of " +
		"patterns: random reads, random writes, sequential reads, sequential writes. Older runs call such workloads " +
		"RR, RW, SR and SW."},
	{"queue depth", []string{"depth", "qd"}, "how many I/Os each job keeps under way at once. 4 jobs x depth 32 is " +
		"128 at once: much load, and longer waits."},
	{"latency", []string{"total latency"}, "how long one I/O or operation takes, from when the application asks until " +
		"it has the answer. µs are millionths of a second, ms are thousandths."},
	{"p50, p99, p99.9", []string{"p50", "p99", "p99.9"}, "percentiles: p99 is the latency that 99 of 100 I/Os or " +
		"operations do not exceed. The slow ones are what users of a database notice."},
	{"slat, clat", []string{"slat", "clat"}, "fio's two halves of a latency: until the kernel has taken the I/O, and " +
		"from then on."},
	{"O_DIRECT", []string{"direct"}, "the flag of open(2) by which a program asks the kernel not to keep what it reads " +
		"and writes in memory. Not every stack grants it."},
	{"libaio, io_uring, psync", []string{"libaio", "io_uring", "psync"},
		"how a program hands its I/Os to the kernel: the first two let many be under way at once, the last waits for each."},
	{"from memory", []string{"memory"}, "the kernel's page cache answered instead of the device. Such numbers look " +
		"fast, but they end where memory ends, and what was written is not on the device yet."},
	{"served", nil, "I/Os that the device did for each one of fio. 1 is honest, near 0 is memory, above 1 is extra " +
		"work of the stack. Of a database, for each operation: it has caches of its own, and near 0 is their merit."},
	{"loop device", nil, "a file that is used as if it were a drive. Ratios between stacks hold on it; a drive's own " +
		"numbers need the drive."},
	{"data volume", []string{"volume"}, "a directory of the host that a container sees. It stays when the container " +
		"goes."},
	{"writable layer", []string{"storage driver", "overlay2"},
		"where a container's own changes go: the storage driver of the engine (overlay2, btrfs, vfs) keeps them, and " +
			"removes them with the container."},
	{"copy-on-write", []string{"nodatacow"}, "what is overwritten goes to a new place, and the old one is kept until " +
		"then. btrfs works so unless it is set nodatacow."},
	{"trial", nil, "one measured run of one workload on one stack."},
	{"setup", []string{"bring-up"}, "a stack made anew: its device, its file system, its files. Trials in one setup are " +
		"not independent of each other, so each setup is one sample. It takes four to separate an effect from chance."},
	{"round, region", []string{"round", "block", "region"}, "in each round every stack gets its turn, in random " +
		"order and on the same region of the disk, so that neither the hour nor the place favours one."},
	{"instance", nil, "one of several containers or programs that do the same at the same time."},
	{"load line", nil, "how many instances a host carries: as many as together do as much as any number of them, within " +
		"10%, or as meet an objective."},
	{"knee, valley", []string{"knee", "valley"}, "of throughput over the number of instances: from the knee on, more of " +
		"them add less; the valley is where all together do less than fewer did."},
	{"scaled-down host", []string{"miniature"}, "a smaller host made of this one: all instances share its CPUs, memory " +
		"and device limits."},
	{"median", nil, "the middle one of several values: half are above it, half below."},
	{"interval", nil, "where the true value lies, most likely: 0.92x (0.88 to 0.96) was measured as 0.92, and lies " +
		"between the other two with 95% confidence where nothing else is said. Below four setups there is none."},
	{"ratio", nil, "one stack's median divided by that of another: 0.50x is half as fast, 2.0x twice as fast."},
	{"~", []string{"significant"}, "no significant difference: what was seen may well be chance. It means nothing else."},
	{"p", nil, "of a comparison: how often chance alone would show such a difference. Below 5% it is called significant."},
	{"noise floor", []string{"control", "noise"}, "how far two copies of one and the same stack came out apart in " +
		"this run. No smaller difference is called real. The second copy, the control, is in no table."},
	{"steady state", nil, "when a device's speed no longer changes. New drives are fast until their spare blocks are " +
		"used up, which takes minutes of writing."},
	{"residue", nil, "of a trace: what the application waited less what the parts explain."},
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
