package caveat

import (
	"fmt"
	"slices"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// say puts a caveat into words: what it is, and why it matters.
func (f Facts) say(name string, stacks []string) (title, why string) {
	stacks = slices.DeleteFunc(slices.Clone(stacks), func(s string) bool { return s == "" }) // of a mix that names its own
	names, counted := plural.And(stacks), plural.Count(len(stacks), "stack")
	choose := func(one, many string) string { return plural.Choose(len(stacks), one, many) }
	switch name {
	case "imported":
		return fmt.Sprintf("%s %s measured by other programs and imported: %s", counted, choose("was", "were"), names),
			"Nothing is known of these results but what their files show. The trials were not interleaved by plimsoll, and whatever " +
				"changed between them is in the numbers."
	case "histograms":
		return fmt.Sprintf("The latency percentiles of %s are those of some of its trials: the others have no histogram",
				names),
			"Percentiles come from merged histograms. Those that a file printed without a histogram do not merge, and are shown " +
				"for themselves."
	case "stand-in":
		return fmt.Sprintf("%s: no number of %s says how fast the other one is", f.Reason, plural.And(f.Workloads)),
			"It speaks the other's protocol and stores data in its own way. What a load does to it is right, how fast it is is its own."
	case "elsewhere":
		return fmt.Sprintf("%s %s a server that was there before: its devices, memory and processors are not seen from here: %s",
				counted, choose("is", "are"), names),
			"What it did is shown by its answers alone. Its other users, its caches and the network between are part of the " +
				"number, and no limit here held it."
	case "clients":
		return fmt.Sprintf("The load of %s came from %s: latencies have the network in them", names, f.Clients),
			"The clients had processors of their own. The way to the server, with a relay on the server's host, is part of each " +
				"round trip, and is missing in numbers with clients on the server's host."
	case "clients-saturated":
		c := f.ClientCPU
		return fmt.Sprintf("The clients were the bottleneck of %s: %s of the %s of %s were busy", names,
				units.Percent(c.Busy()),
				plural.Count(c.CPUs, "CPU"), f.Clients),
			fmt.Sprintf("User time took %s of them, system time %s, and %s waited for I/O. The server could have done more. Take a "+
				"machine with more CPUs, or fewer threads.", share(c.User, c.CPUs), share(c.System, c.CPUs), share(c.IOWait, c.CPUs))
	case "lab":
		return fmt.Sprintf("%s %s measured in the lab, on emulated drives: what differs is the software, and no number is a drive's",
				counted, choose("was", "were")),
			"The drives of a lab are files in its host's memory, and its host's other work is in every number. Without KVM its " +
				"processors are emulated too: software looks slower beside the drive than it is. Measure on real " +
				"hardware before you decide."
	case "loop":
		return fmt.Sprintf("%s %s on a loop device: ratios hold, absolute numbers are not the disk's", counted, choose("stands", "stand")),
			"A loop device adds a thread and the file system below it to every I/O. Name a block device to measure the disk itself."
	case "shared":
		return fmt.Sprintf("%s %s a directory with whatever else the host does: %s", counted, choose("shares", "share"),
				names),
			"Other files on the file system, its age and its fill level are part of the number."
	case "cloned":
		return fmt.Sprintf("The servers of %s began with clones of one data set: the drive has it once", names),
			"The first write to a block of a clone goes to a new place and changes the file system's map (copy on write), which a " +
				"server with files of its own does not. Use data: copied for files of their own."
	case "memory":
		return fmt.Sprintf("%s %s no device: %s", counted, choose("has", "have"), names),
			"A stack in memory shows what software alone can do. It does not keep data."
	case "system-device":
		return fmt.Sprintf("%s %s the host's own file system too: other work on it is in the numbers", plural.And(f.Devices),
				plural.Choose(len(f.Devices), "carries", "carry")),
			"The device at the bottom of these stacks is mounted by the host. Its counters and its time include whatever the host " +
				"does meanwhile."
	case "doubted":
		return fmt.Sprintf("Numbers of %s are in doubt: %s", names, f.Reason),
			"Each reason follows from what the trial's own output says, by arithmetic. If it is about one trial, the other trials may be right."
	case "unchecked":
		return fmt.Sprintf("No device counter could be read of %s: %s not checked", names,
				choose("its numbers are", "their numbers are")),
			"Without counters it is not known whether the page cache answered, so such a stack never wins a ranking."
	case "traced":
		return fmt.Sprintf("%s %s measured while requests were recorded: rates are a little lower, and latencies higher, than without",
				names, choose("was", "were")),
			"Recording costs processor time for every request, which fast devices show most. Compare traced trials with traced " +
				"ones; plimsoll run --no-trace measures without."
	case "untraced":
		return fmt.Sprintf("Trials of %s were to be traced and were not: where their latency was spent is not known", names),
			f.Reason
	case "mixed":
		return fmt.Sprintf("The device seems to have answered some trials of %s, and memory others: taken as memory", names),
			"Other processes can add to a device's counters and hide a cache; they cannot subtract. A cache that fills up, " +
				"or is emptied under memory pressure, also looks like this."
	case "repeats":
		whose := names + " " + choose("was", "were")
		if f.AllStacks {
			whose = "All stacks were"
		}
		return fmt.Sprintf("%s brought up fewer than %d times under a workload: no difference between such stacks can be "+
				"separated from chance", whose, f.Needed),
			fmt.Sprintf("What is made anew counts, and not what is measured again: a stack that was brought up once stood on one "+
				"region of the disk. Set repeat to %d or more; from 6 on the intervals of medians reach 95%%.", f.Needed)
	case "spread":
		whose := names + " " + choose("varies", "vary")
		if names == "" {
			whose = "Mixes vary"
		}
		return fmt.Sprintf("%s much from trial to trial: %s has an interval of %s around its median", whose,
				pointName(f.Widest.Stack, f.Widest.Workload), units.Percent(f.Widest.Share)),
			fmt.Sprintf("The interval of the median is wider than %s of it. Small differences cannot be seen: repeat more often, "+
				"measure longer, or quiet the host.", units.Percent(f.Allowed))
	}
	panic("a caveat without words: " + name) // a test says them all
}

// share is a part of all CPUs.
func share(cpus float64, all int) string { return units.Percent(cpus / float64(max(1, all))) }
