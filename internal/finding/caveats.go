package finding

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

const (
	// wideInterval is the width of a median's interval, as a share of the
	// median, above which small differences cannot be seen.
	wideInterval = 0.25
)

// caveats says what limits the conclusions, one finding each.
func caveats(v *view) []Finding {
	var out []Finding
	say := func(id string, stacks []string, title, why string) {
		if len(stacks) > 0 {
			out = append(out, Finding{ID: "caveats/" + id, Kind: KindCaveat, Stacks: stacks, Title: title, Why: why})
		}
	}
	cells := v.all()
	if len(cells) == 0 {
		return nil
	}

	imported := v.marked(result.MarkImported)
	say("imported", imported, fmt.Sprintf("%s %s measured elsewhere and imported: %s", plural.Count(len(imported), "stack"), plural.Choose(len(imported), "was", "were"), plural.And(imported)),
		"Nothing is known of these results but what their files tell. The trials were not interleaved by plimsoll, and whatever changed between them is in the numbers.")
	partly := stacksOf(cells, func(c *cell) bool { return 0 < c.withHistogram() && c.withHistogram() < len(c.trials) })
	say("histograms", partly, fmt.Sprintf("The latency percentiles of %s are those of some of its trials: the others have no histogram", plural.And(partly)),
		"Percentiles come from merged histograms. Those that a file printed without a histogram do not merge, and are shown for themselves.")
	lab := v.marked(result.MarkLab)
	say("lab", lab, fmt.Sprintf("%s %s measured in the lab, on emulated drives: what differs is the software, and no number is a drive's", plural.Count(len(lab), "stack"), plural.Choose(len(lab), "was", "were")),
		"The drives of a lab are files in its host's memory, its host's other work is in every number, and without KVM its processors are emulated too, which makes software look slower beside the drive than it is. Measure on real hardware before you decide.")
	loops := v.marked(result.MarkLoop)
	say("loop", loops, fmt.Sprintf("%s %s on a loop device: ratios hold, absolute numbers are not the disk's", plural.Count(len(loops), "stack"), plural.Choose(len(loops), "stands", "stand")),
		"A loop device adds a thread and the file system below it to every I/O. Name a block device to measure the disk itself.")
	shared := v.marked(result.MarkShared)
	say("shared", shared, fmt.Sprintf("%s %s a directory with whatever else the host does: %s", plural.Count(len(shared), "stack"), plural.Choose(len(shared), "shares", "share"), plural.And(shared)),
		"Other files on the file system, its age and its fill level are part of the number.")
	memory := v.marked(result.MarkMemory)
	say("memory", memory, fmt.Sprintf("%s %s no device: %s", plural.Count(len(memory), "stack"), plural.Choose(len(memory), "has", "have"), plural.And(memory)),
		"A stack in memory shows what software alone can do. It does not keep data.")
	bottoms, below := v.sharedBottoms()
	say("system-device", below, fmt.Sprintf("%s %s the host's own file system too: other work on it is in the numbers", plural.And(bottoms), plural.Choose(len(bottoms), "carries", "carry")),
		"The device at the bottom of these stacks is mounted by the host. Its counters and its time include whatever the host does meanwhile.")
	unchecked := stacksOf(cells, func(c *cell) bool { return c.source() == result.SourceUnknown })
	say("unchecked", unchecked, fmt.Sprintf("No device counter could be read of %s: %s not checked", plural.And(unchecked), plural.Choose(len(unchecked), "its numbers are", "their numbers are")),
		"Without counters nobody knows whether the page cache answered, so such a stack never wins a ranking.")

	traced := stacksOf(cells, func(c *cell) bool {
		return slices.ContainsFunc(c.trials, func(t *result.Trial) bool { return t.Trace != nil })
	})
	say("traced", traced, fmt.Sprintf("%s %s measured while requests were recorded: rates are a little lower, and latencies higher, than without", plural.And(traced), plural.Choose(len(traced), "was", "were")),
		"Recording costs processor time for every request, which fast devices show most. Compare traced trials with traced ones; plimsoll run --no-trace measures without.")
	untraced := stacksOf(cells, func(c *cell) bool { return whyUntraced(c) != "" })
	if len(untraced) > 0 {
		at := slices.IndexFunc(cells, func(c *cell) bool { return whyUntraced(c) != "" })
		say("untraced", untraced, fmt.Sprintf("Trials of %s were to be traced and were not: where their latency was spent is not known", plural.And(untraced)), whyUntraced(cells[at]))
	}

	mixed := stacksOf(cells, func(c *cell) bool { return 0 < c.fromMemory() && c.fromMemory() < len(c.trials) })
	say("mixed", mixed, fmt.Sprintf("The device seems to have answered some trials of %s, and memory others: taken as memory", plural.And(mixed)),
		"Other processes can add to a device's counters and hide a cache; nothing can take from them. A cache that fills up, or is emptied under memory pressure, also looks like this.")

	needed := stats.FewestPairs
	few := stacksOf(cells, func(c *cell) bool { return c.rates.Nested() && c.point.N < needed })
	say("repeats", few, fmt.Sprintf("%s brought up fewer than %d times under a workload: no difference between such stacks can be told from chance", were(few, len(v.stacks)), needed),
		fmt.Sprintf("What is made anew counts, and not what is measured again: a stack that was brought up once stood on one region of the disk. Set repeat to %d or more; from 6 on the intervals of medians reach 95%%.", needed))

	wide := stacksOf(cells, func(c *cell) bool { return spread(c) > wideInterval })
	if len(wide) > 0 {
		worst := slices.MaxFunc(cells, func(a, b *cell) int { return cmp.Compare(spread(a), spread(b)) })
		say("spread", wide, fmt.Sprintf("%s from trial to trial: %s under %s has an interval of %s around its median",
			plural.And(wide)+plural.Choose(len(wide), " varies much", " vary much"), worst.stack.Name, worst.workload.Name, units.Percent(spread(worst))),
			fmt.Sprintf("The interval of the median is wider than %s of it. Small differences cannot be seen: repeat more often, measure longer, or quiet the host.", units.Percent(wideInterval)))
	}

	return out
}

// were says "All stacks were", "xfs and ext4 were".
func were(stacks []string, all int) string {
	if len(stacks) == all && all > 1 {
		return "All stacks were"
	}
	return plural.And(stacks) + plural.Choose(len(stacks), " was", " were")
}

// marked names the measured stacks with a mark.
func (v *view) marked(m result.Mark) []string {
	return stacksOf(v.all(), func(c *cell) bool { return slices.Contains(c.stack.Marks, m) })
}

// sharedBottoms names the devices that carry a file system of the host, and
// the stacks on them.
func (v *view) sharedBottoms() (devices, stacks []string) {
	for _, c := range v.all() {
		if !c.below() || c.watched() {
			continue // what others did there is known
		}
		for _, d := range c.stack.Devices {
			if d.Role == roleBottom {
				devices, stacks = appendNew(devices, d.Name), appendNew(stacks, c.stack.Name)
			}
		}
	}
	return devices, stacks
}

// watched reports whether it is known of every trial what others did on its
// disks.
func (c *cell) watched() bool {
	return !slices.ContainsFunc(c.trials, func(t *result.Trial) bool {
		return t.Neighbours == nil || !slices.ContainsFunc(t.Neighbours.Disks, func(d result.DiskShare) bool { return d.How == result.ByControlGroup })
	})
}

// stacksOf names the stacks with a cell that is so.
func stacksOf(cells []*cell, so func(*cell) bool) []string {
	var out []string
	for _, c := range cells {
		if so(c) {
			out = appendNew(out, c.stack.Name)
		}
	}
	return out
}

// whyUntraced says why a trial of a cell that was to be traced was not.
func whyUntraced(c *cell) string {
	for _, t := range c.trials {
		if t.Untraced != "" {
			return t.Untraced
		}
	}
	return ""
}

// withHistogram counts the trials that have a histogram of total latency.
func (c *cell) withHistogram() int {
	n := 0
	for _, t := range c.trials {
		if len(t.Measurement.Read.Total.Bins)+len(t.Measurement.Write.Total.Bins) > 0 {
			n++
		}
	}
	return n
}

// spread is the width of the median's interval as a share of the median.
func spread(c *cell) float64 {
	if c.point.Median == 0 {
		return 0
	}
	return (c.point.High - c.point.Low) / c.point.Median
}

// runtime is the shortest measured time of a cell's trials, in seconds.
func runtime(c *cell) float64 {
	shortest := slices.MinFunc(c.trials, func(a, b *result.Trial) int {
		return cmp.Compare(a.Measurement.RuntimeSeconds, b.Measurement.RuntimeSeconds)
	})
	return shortest.Measurement.RuntimeSeconds
}
