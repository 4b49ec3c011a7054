// Package pebble is the embedded server: it loads a store of cockroachdb/pebble, and serves it over a unix socket. It
// touches files and sockets. Package database describes it to an experiment, package wire its protocol.
//
// Runs compare because these are fixed:
//
//   - Reads and scans go through the page cache in blocks of 4 KiB without read-ahead; compactions read ahead.
//   - Reads start no compaction, and no statistics are gathered: a workload that only reads writes nothing.
//   - Memory is constant: the block cache and the room of its collector are held from the start, because a growing
//     heap takes page cache from other processes.
//   - A record is one value. An update of a field reads and writes the record, as YCSB's binding of RocksDB does;
//     updates of one record wait for each other. An update of a missing record is refused; an insert does not look.
//
// A server that cannot go on ends with the reason: a full or failed device, corrupt data. Pebble itself would try again
// for ever, or end the process.
package pebble

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
)

// format is the format version of pebble's files. It is fixed, so that a new version of the library does not change
// results unnoticed.
const format = pebble.FormatValueSeparation

// levels is the number of levels; the last one holds the loaded data.
const levels = 7

// options are pebble's for these parameters.
func options(p database.PebbleParams) *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion:          format,
		MemTableSize:                uint64(p.Memtable),
		MemTableStopWritesThreshold: database.PebbleMemtables,
		L0StopWritesThreshold:       p.L0Stop,
		CompactionConcurrencyRange:  func() (int, int) { return p.Compactions, p.Compactions },
		FS:                          vfs.Default,
		// Statistics of tables are read in the background after a start, which would
		// be I/O that nobody asked for.
		DisableTableStats: true,
	}
	// Reading must not start compactions: a workload that only reads writes nothing.
	o.Experimental.ReadSamplingMultiplier = -1
	o.Local.ReadaheadConfig = objstorageprovider.NewReadaheadConfig()
	o.Local.ReadaheadConfig.Set(informed, speculative)

	compression := map[string]*sstable.CompressionProfile{
		"none": sstable.NoCompression, "snappy": sstable.SnappyCompression, "zstd": sstable.ZstdCompression,
	}[p.Compression]
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return compression }
		// Nearly all keys that are asked for are there, and most of them in the last
		// level: filters of it would only push its blocks out of the cache.
		o.Levels[i].FilterPolicy = pebble.NoFilterPolicy
		if p.Bloom > 0 && i < levels-1 {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(p.Bloom)
		}
	}
	for i := range o.TargetFileSizes {
		// Doubled from level to level, as pebble's own are, but no larger than those
		// that were loaded: a file that is compacted into ones much larger than itself
		// has all of them written anew.
		o.TargetFileSizes[i] = min(smallest<<i, p.FileSize)
	}
	o.MaxOpenFiles = openFiles()
	o.EnsureDefaults()
	return o
}

// smallest is the size of the files of the first level.
const smallest = int64(2) << 20

// Compactions read their files ahead. Clients do not: what a read costs the device
// must not depend on what was read before it.
const (
	informed    = objstorageprovider.FadviseSequential
	speculative = objstorageprovider.NoReadahead
)

// openFiles returns the number of files that are kept open, since opening one again reads its index: all of them, if
// the process may.
func openFiles() int {
	const enough, otherFiles = 16 << 10, 512
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > enough+otherFiles {
		return enough
	}
	return max(int(limit.Cur)-otherFiles, int(limit.Cur)/2)
}

// memory bounds the heap: the cache and the memtables live in it, and the collector
// would let it grow to twice of them otherwise.
func memory(p database.PebbleParams) int64 {
	return p.Cache + (database.PebbleMemtables+1)*p.Memtable + 64<<20
}

// fatal ends a server from within.
type fatal struct {
	why    chan error // the first only
	ending atomic.Bool
	log    io.Writer
}

func newFatal(log io.Writer) *fatal { return &fatal{why: make(chan error, 1), log: log} }

// end makes the server end with err, unless it ends already.
func (f *fatal) end(err error) {
	if f.ending.CompareAndSwap(false, true) {
		f.why <- err
	}
}

// hang makes the server end and never returns, for callers that would try again.
func (f *fatal) hang(err error) {
	f.end(err)
	select {}
}

// Infof implements pebble.Logger, as do Errorf and Fatalf.
func (f *fatal) Infof(string, ...any) {}

// Errorf is called for what pebble tries again.
func (f *fatal) Errorf(format string, args ...any) {
	fmt.Fprintf(f.log, "pebble: "+format+"\n", args...)
}

// Fatalf does not return, as pebble expects.
func (f *fatal) Fatalf(format string, args ...any) {
	f.hang(explain(fmt.Errorf(format, args...)))
}

// stalls counts write stalls, and their duration.
type stalls struct {
	count, nanoseconds atomic.Int64
	since              atomic.Int64 // start of the current one
}

// listen sets the options' callbacks for background events.
func listen(o *pebble.Options, f *fatal, s *stalls, l *lender) {
	o.Cache = l.cache
	o.Logger = f
	o.FS = vfs.OnDiskFull(vfs.Default, func() { f.hang(syscall.ENOSPC) })
	o.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { f.hang(explain(err)) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.hang(fmt.Errorf("a file %s: %v", database.PebbleCorrupt, info))
		},
		WriteStallBegin: func(pebble.WriteStallBeginInfo) {
			s.count.Add(1)
			s.since.Store(time.Now().UnixNano())
		},
		WALCreated:    func(pebble.WALCreateInfo) { l.rotate() },
		FlushEnd:      func(pebble.FlushInfo) { l.noteFlush() },
		WriteStallEnd: func() { s.nanoseconds.Add(time.Now().UnixNano() - s.since.Swap(0)) },
	}
	o.EventListener.EnsureDefaults(f)
}

// explain rewords an error of pebble for package database.
func explain(err error) error {
	if damage(err) && !strings.Contains(err.Error(), database.PebbleCorrupt) {
		return fmt.Errorf("a file %s: %w", database.PebbleCorrupt, err)
	}
	return err
}

// damage reports whether an error of pebble is that of a file whose bytes are not
// those that were written, or that is gone, or shorter than the manifest says.
func damage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "object size mismatch")
}
