package pebble

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// facts are a server's statistics from its start to its end, as one line of JSON. Bytes are those requested from the
// file system.
type facts struct {
	Seconds     float64          `json:"seconds"` // that it served
	Connections int64            `json:"connections"`
	Operations  map[string]int64 `json:"operations"` // answered, well or not
	BlockCache  struct {
		Bytes  int64 `json:"bytes"` // in it at the end
		Hits   int64 `json:"hits"`
		Misses int64 `json:"misses"`
		// HitRate is the share of hits; none where nothing was asked for.
		HitRate *float64 `json:"hit_rate,omitempty"`
	} `json:"block_cache"`
	Stalls struct {
		Count   int64   `json:"count"`
		Seconds float64 `json:"seconds"`
	} `json:"stalls"`
	Compactions struct {
		Count        int64   `json:"count"`
		Seconds      float64 `json:"seconds"`
		BytesRead    uint64  `json:"bytes_read"`
		BytesWritten uint64  `json:"bytes_written"`
		// DebtBytes estimates the bytes that remain to be compacted.
		DebtBytes uint64 `json:"debt_bytes"`
	} `json:"compactions"`
	Flushes struct {
		Count        int64  `json:"count"`
		BytesWritten uint64 `json:"bytes_written"`
	} `json:"flushes"`
	Log struct {
		// BytesIn counts the bytes of the records; BytesWritten includes the log's overhead.
		BytesIn      uint64 `json:"bytes_in"`
		BytesWritten uint64 `json:"bytes_written"`
	} `json:"log"`
	BytesWritten uint64 `json:"bytes_written"` // by the log, flushes and compactions
	// WriteAmplification is BytesWritten for each byte of Log.BytesIn; none where
	// nothing was written.
	WriteAmplification *float64 `json:"write_amplification,omitempty"`
	ReadAmplification  int      `json:"read_amplification"` // files that a read may have to look into, at the end
	DiskBytes          uint64   `json:"disk_bytes"`         // of all files, at the end
}

// counters count operations, by their number in the protocol.
type counters [opNames]atomic.Int64

const opNames = 5

// gather returns facts from pebble's metrics.
func gather(m *pebble.Metrics, served time.Duration, connections int64, ops *counters, s *stalls) facts {
	var f facts
	f.Seconds = served.Seconds()
	f.Connections = connections
	f.Operations = map[string]int64{}
	for i, name := range [opNames]string{1: "read", 2: "scan", 3: "update", 4: "insert"} {
		if n := ops[i].Load(); n > 0 {
			f.Operations[name] = n
		}
	}
	f.BlockCache.Bytes = m.BlockCache.Size
	f.BlockCache.Hits, f.BlockCache.Misses = m.BlockCache.Hits, m.BlockCache.Misses
	f.BlockCache.HitRate = ratio(f.BlockCache.Hits, f.BlockCache.Hits+f.BlockCache.Misses)
	f.Stalls.Count, f.Stalls.Seconds = s.count.Load(), time.Duration(s.nanoseconds.Load()).Seconds()
	f.Compactions.Count, f.Compactions.Seconds = m.Compact.Count, m.Compact.Duration.Seconds()
	f.Compactions.DebtBytes = m.Compact.EstimatedDebt
	f.Flushes.Count = m.Flush.Count
	for i := range m.Levels {
		f.Flushes.BytesWritten += m.Levels[i].TableBytesFlushed
		f.Compactions.BytesRead += m.Levels[i].TableBytesRead
		f.Compactions.BytesWritten += m.Levels[i].TableBytesCompacted
	}
	f.Log.BytesIn, f.Log.BytesWritten = m.WAL.BytesIn, m.WAL.BytesWritten
	f.BytesWritten = f.Log.BytesWritten + f.Flushes.BytesWritten + f.Compactions.BytesWritten
	f.WriteAmplification = ratio(int64(f.BytesWritten), int64(f.Log.BytesIn))
	f.ReadAmplification = m.ReadAmp()
	f.DiskBytes = m.DiskSpaceUsage()
	return f
}

func ratio(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	r := float64(part) / float64(whole)
	return &r
}

// write leaves the facts in a file; none where it has no name.
func (f facts) write(name string) error {
	if name == "" {
		return nil
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = writeSynced(name, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write what the server did to %s: %w", name, err)
	}
	return nil
}
