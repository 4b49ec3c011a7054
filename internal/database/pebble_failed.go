package database

import (
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Words by which the embedded server and its loader say what ended them. Failed
// knows them again.
const (
	PebbleTorn     = "was not loaded completely"
	PebbleNoData   = "holds no data that this program loaded"
	PebbleVersion  = "has another format"
	PebbleLocked   = "another server has it open"
	PebbleFull     = "no space left on device"
	PebbleCorrupt  = "is corrupt"
	PebbleNotEmpty = "is not empty"
	PebbleShape    = "was loaded with another"
)

// pebbleCauses maps messages of a server, or of the kernel, to causes and remedies.
var pebbleCauses = []cause{
	{PebbleFull, "its device is full",
		"give the stack a larger size or the workload fewer records; updates need as much room again as the data takes"},
	{"disk quota exceeded", "its quota on the device is used up", "raise the quota, or take fewer records"},
	{PebbleTorn, "its data was not loaded completely", "have it loaded again"},
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
	{"too many open files", "its limit of open files is too low", "raise that limit (ulimit -n), or filesize"},
	{"permission denied", "it may not open its files", "run as root, or give the server's user the right to write there"},
}

const pebbleMemory = "raise its memory limit, or lower cache or memtable: it takes about cache + 5 x memtable + " +
	"64 MiB, and a few hundred KiB for each client"

// Failed implements Server.
func (p *pebble) Failed(exit workload.Exit) *problem.Problem {
	return explainExit(pebbleKind.Title, pebbleCauses, pebbleMemory, exit)
}
