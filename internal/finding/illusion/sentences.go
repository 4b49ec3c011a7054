package illusion

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/units"
)

// why says what one would conclude from the rate of an illusion, and which cache it is.
func (f Facts) why(rate float64, against *fact.Effect) string {
	text := fmt.Sprintf("Its %s IOPS say nothing about the device.", units.Rate(rate))
	if against != nil {
		baseline := "the baseline"
		if f.Fastest {
			baseline = "the fastest honest stack"
		}
		text = fmt.Sprintf("Without this check you would conclude %s of %s, %s, from its %s IOPS.", against.Written(),
			against.Baseline, baseline, units.Rate(rate))
	}
	if f.Judged != "" {
		text += " In one trial, " + f.Judged + "."
	}
	return text + " " + caches[f.Cause]
}

// caches say which cache answers, and what to do about it, by Facts.Cause.
var caches = map[string]string{
	"asked for": "The workload has direct: false, so that the page cache answers what it holds: this is what was asked for. " +
		"Hold it against the same load with direct: true.",
	"fuse": "fuse-overlayfs reads and writes through the page cache, O_DIRECT or not. Use overlay2, or a data volume.",
	"loop-lvm": "This is loop-lvm: the engine makes its thin pool of loop devices over sparse files, without direct I/O, so " +
		"that the page cache of the file system below answers, O_DIRECT or not. Use overlay2, a data volume, or direct-lvm: " +
		"thin(direct-lvm) on the device itself.",
	"tmpfs": "A tmpfs has no device: it is memory. Take it as the bound of what software alone can do, not as storage.",
	"loop refused": "The loop device works with direct-io off although the stack asks for it: the file system below refuses " +
		"it. Put the loop file on a file system with direct I/O (the option dir).",
	"loop cold": "Its file was not in the page cache when a trial started, but with direct-io=off whatever is written stays " +
		"there, and whatever was read once. Set direct-io=on: a cold start makes reads honest for a while, and writes never.",
	"loop": "With direct-io=off a loop device keeps its file in the page cache, O_DIRECT or not. Set direct-io=on, or leave " +
		"the option out.",
	"directory": "The directory lies in memory, or on a file system that caches O_DIRECT. Name a directory on a local disk, " +
		"and see that the workload has direct: true.",
	"unknown": "The stack does not show which cache answered. See that the workload has direct: true, and make its " +
		"files larger than the host's memory.",
}
