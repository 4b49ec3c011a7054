package pebble

import (
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A store that was just opened holds little memory: its block cache fills as it serves,
// and its heap grows to twice of that, over many seconds in which it takes page cache
// away from itself and from its neighbours. What is measured then is no rate that lasts.
// So a server holds as much as it will from the beginning: a placeholder stands for the
// part of the block cache that is not used yet.
type placeholder struct {
	chunks [][]byte
	stop   chan struct{}
	done   sync.WaitGroup
}

const (
	chunk     = 256 << 10
	giveBack  = 50 * time.Millisecond // between two looks at how far the cache is
	page      = 4 << 10
	fullShare = 0.85 // of the cache, from which it counts as full
)

// hold makes a placeholder for a cache of so many bytes, or for all data where that is
// less, and has the heap be as large as it will get to be between two collections.
func hold(db *pebble.DB, cache int64) *placeholder {
	p := &placeholder{stop: make(chan struct{})}
	cache = min(cache, int64(db.Metrics().DiskSpaceUsage()))
	for range cache / chunk {
		p.chunks = append(p.chunks, allocate(chunk))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for at := m.HeapAlloc; at+chunk < m.NextGC; at += chunk {
		allocate(chunk) // and dropped
	}
	p.done.Go(func() { p.follow(db, cache) })
	return p
}

// allocate returns memory whose pages the kernel has allocated.
func allocate(bytes int) []byte {
	b := make([]byte, bytes)
	for i := 0; i < bytes; i += page {
		b[i] = 1
	}
	return b
}

// follow releases memory as the cache grows, until it is full.
func (p *placeholder) follow(db *pebble.DB, cache int64) {
	tick := time.NewTicker(giveBack)
	defer tick.Stop()
	for len(p.chunks) > 0 {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		used := db.Metrics().BlockCache.Size
		if float64(used) >= fullShare*float64(cache) {
			used = cache
		}
		keep := int(max(0, cache-used) / chunk)
		if keep < len(p.chunks) {
			clear(p.chunks[keep:])
			p.chunks = p.chunks[:keep]
		}
	}
}

// end waits until no goroutine uses the store any more.
func (p *placeholder) end() {
	close(p.stop)
	p.done.Wait()
}
