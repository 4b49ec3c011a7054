package interference

import (
	"slices"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
)

// DiskUse counts the I/Os of a disk while a trial ran, by who asked for them as far as that is known.
//
// With Tallied, Own, Others and Kernel are all bios that were queued. Without,
// nobody was seen asking, and what the disk counted itself is all there is.
type DiskUse struct {
	Disk    blockdev.Disk
	Seconds float64        // that passed
	Counted result.IOCount // by the disk
	Flushes uint64         // that the disk counted, whoever asked for them

	Tallied bool
	Own     result.IOCount // by the stack's processes, or by kernel threads on their behalf
	Others  result.IOCount // by others, or on theirs
	Kernel  result.IOCount // by kernel threads, for nobody who can be told
	Names   []string       // of these others, who asked for most first

	// Above counts the I/Os of devices on this disk that the stack has for itself.
	Above result.IOCount

	// Asked is an upper bound of the I/Os of the stack's processes. Pages that they wrote into the cache are written by
	// the kernel later, and nothing says for whom.
	Asked result.IOCount
}

// What a file system of the host writes of its own account, at most, by what the
// disk counts: for a flush that waits for its journal, and for what it commits
// every few seconds. Seen were 4 to 24 KiB in 1 to 4 writes for a flush of ext4
// and xfs.
const (
	journalBytes, journalWrites = 64 << 10, 8
	commitBytes, commitWrites   = 256 << 10, 32
	commitSeconds               = 5
)

// journals are the types of file systems that write no more of their own account
// than that. Those that copy on write write much more.
var journals = []string{"ext2", "ext3", "ext4", "xfs"}

// Share returns who used the disk. The others' part is a lower bound: I/O that may be the stack's, or the file system's
// on its behalf, does not count as theirs. ok is false if nothing is known.
func (u DiskUse) Share() (s result.DiskShare, ok bool) {
	s = result.DiskShare{Device: u.Disk.Name, How: result.ByControlGroup, Own: u.Own, Others: u.Others, Names: u.Names}
	s.All = u.Own.Add(u.Others).Add(u.Kernel)
	nobodys := u.Kernel
	if !u.Tallied {
		if u.Disk.Alone {
			return s, false // whether others read the disk is unknown
		}
		s.How, s.All, nobodys = result.ByCounters, u.Counted, u.Counted
	}
	if u.Disk.Alone {
		return s, true // its file system is the stack's, and so is what the kernel does for it
	}
	// Part of the kernel's I/O is what the stack's devices passed on, or its processes wrote into the page cache.
	requested := u.Above
	if len(u.Disk.Above) == 0 {
		requested = u.Asked
	}
	unseen := requested.Sub(u.Own)
	if !u.Tallied {
		s.Own = least(requested, s.All)
	}
	late := nobodys.Sub(unseen).Sub(u.journal())
	if u.Disk.Between != "" && !slices.Contains(journals, u.Disk.Between) {
		late.Writes, late.WriteBytes = 0, 0
	}
	s.Others = least(s.Others.Add(late), s.All)
	return s, true
}

// journal returns the most that the host's file system may have written of its own account.
func (u DiskUse) journal() result.IOCount {
	if u.Disk.Between == "" {
		return result.IOCount{}
	}
	commits := uint64(u.Seconds/commitSeconds) + 2
	return result.IOCount{
		Writes:     u.Flushes*journalWrites + commits*commitWrites,
		WriteBytes: u.Flushes*journalBytes + commits*commitBytes,
	}
}

// least is the lesser of both, each count by itself.
func least(a, b result.IOCount) result.IOCount {
	return result.IOCount{
		Reads: min(a.Reads, b.Reads), Writes: min(a.Writes, b.Writes),
		ReadBytes: min(a.ReadBytes, b.ReadBytes), WriteBytes: min(a.WriteBytes, b.WriteBytes),
	}
}
