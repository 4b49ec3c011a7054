package database

import (
	"fmt"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Words by which the embedded server and its loader say what ended them. Failed
// knows them again.
const (
	PebbleTorn     = "was not loaded to its end"
	PebbleNoData   = "holds no data that this program loaded"
	PebbleVersion  = "has another format"
	PebbleLocked   = "another server has it open"
	PebbleFull     = "no space left on device"
	PebbleCorrupt  = "is corrupt"
	PebbleNotEmpty = "is not empty"
	PebbleShape    = "was loaded with another"
)

// pebbleCauses are what a server says, or the kernel for it, and what follows. The
// first that is found in what was said is taken: full devices make all else fail.
var pebbleCauses = []struct{ said, why, remedy string }{
	{PebbleFull, "its device is full",
		"give the stack a larger size or the workload fewer records; updates need as much room again as the data takes"},
	{"disk quota exceeded", "its quota on the device is used up", "raise the quota, or take fewer records"},
	{PebbleTorn, "its data was not loaded to its end", "have it loaded again"},
	{PebbleNoData, "its directory holds no data of ours", "have it loaded again"},
	{PebbleVersion, "another version of this program loaded its data",
		"have it loaded again by this version, or run the one that loaded it"},
	{PebbleShape, "its data was loaded with other parameters", "have it loaded again"},
	{PebbleLocked, "another server has its directory open",
		"end that server (plimsoll clean does, if a run left it), then run the trial again"},
	{PebbleNotEmpty, "the directory to load into is not empty", "load into a new directory"},
	{PebbleCorrupt, "its data is corrupt",
		"see whether the device failed (dmesg), then have it loaded again; a clone may have been cut off"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"cannot allocate memory", "it got no memory", pebbleMemory},
	{"out of memory", "it got no memory", pebbleMemory},
	{"too many open files", "it may not open as many files", "raise the limit of open files (ulimit -n), or filesize"},
	{"permission denied", "it may not open its files", "run as root, or give the server's user the right to write there"},
}

const pebbleMemory = "raise its memory limit, or lower cache or memtable: it takes about cache + 5 x memtable + " +
	"64 MiB, and a few hundred KiB for each client"

// Failed does not look at exit codes where words say more.
func (p *pebble) Failed(exit workload.Exit) *problem.Problem {
	failure := func(why, remedy string) *problem.Problem {
		return problem.New(problem.Failed, pebbleKind.Title, why, remedy)
	}
	if exit.OOMKilled {
		return failure("the kernel's OOM killer ended it: its memory limit, or the host's memory, is used up",
			pebbleMemory)
	}
	said := complaint(exit.Stderr)
	lower := strings.ToLower(exit.Stderr)
	for _, c := range pebbleCauses {
		if strings.Contains(lower, c.said) {
			return failure(with(c.why, said), c.remedy)
		}
	}
	switch {
	case strings.Contains(lower, "panic: "), strings.Contains(lower, "fatal error: "):
		return failure(with("it has a bug", said), "please report it with the trial's artifacts")
	case exit.Signal != "":
		return failure(fmt.Sprintf("a signal ended it (%s)", exit.Signal),
			"run the trial again; somebody or something on this host sent the signal")
	case exit.Code == 137:
		return failure("a signal ended it (SIGKILL)",
			"run the trial again; if no person sent it, see the kernel's log for the OOM killer")
	}
	return failure(with(fmt.Sprintf("it exited with code %d", exit.Code), said),
		"see the trial's artifacts; the command line there shows the same by hand")
}

func with(why, said string) string {
	if said == "" {
		return why
	}
	return why + ": " + said
}

// complaint is the line in which the program says why it ended, else where it broke,
// else its last one.
func complaint(stderr string) string {
	var broke, last string
	for line := range strings.Lines(strings.ToValidUTF8(stderr, "?")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, workload.Self+": "):
			return strings.TrimPrefix(line, workload.Self+": ")
		case broke == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")):
			broke = line
		case line != "":
			last = line
		}
	}
	if broke != "" {
		return broke
	}
	return last
}
