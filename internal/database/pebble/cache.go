package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"plimsoll/internal/database"
)

// lender keeps the block cache as large as it was asked to be. Pebble takes the
// memory of memtables away from it: with a cache smaller than a few of them, as the
// defaults are, the first writes would leave no cache at all. The lender gives back
// what memtables take, before they do, and trims it to what they took soon after.
type lender struct {
	cache    *pebble.Cache
	memtable int64 // bytes of a full one

	settling sync.Mutex // held while the store is asked, so that it is not closed meanwhile

	mu      sync.Mutex
	db      *pebble.DB // once it is open
	lent    int64
	rotated int // how often a new memtable followed another
	trim    *time.Timer
}

func newLender(p database.PebbleParams) *lender {
	return &lender{cache: pebble.NewCache(p.Cache), memtable: p.Memtable}
}

// settled is how long after a new memtable it has been taken account of.
const settled = 50 * time.Millisecond

// most is what memtables take at most: those in use, and one that is kept for later.
func (l *lender) most() int64 { return (database.PebbleMemtables + 1) * l.memtable }

// rotate is called when a new log was made, directly before a memtable is.
func (l *lender) rotate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil {
		return
	}
	l.rotated++
	l.lend(min(l.lent+l.memtable, l.most()))
	l.trim.Reset(settled)
}

// flushed is called when memtables may have become fewer.
func (l *lender) flushed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db != nil {
		l.trim.Reset(settled)
	}
}

// opened has the lender begin; close ends it before the store is closed.
func (l *lender) opened(db *pebble.DB) {
	l.mu.Lock()
	l.db = db
	l.trim = time.AfterFunc(settled, l.settle)
	l.mu.Unlock()
	l.settle()
}

func (l *lender) close() {
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.db = nil
	l.trim.Stop()
}

// settle lends what memtables take, unless another one is just being made.
func (l *lender) settle() {
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	db, rotated := l.db, l.rotated
	l.mu.Unlock() // pebble calls rotate with locks that Metrics takes
	if db == nil {
		return
	}
	m := db.Metrics()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rotated == rotated {
		l.lend(int64(m.MemTable.Size + m.MemTable.ZombieSize))
	}
}

// lend makes the cache larger by so many bytes than it was made.
func (l *lender) lend(bytes int64) {
	if more := int(bytes - l.lent); more != 0 {
		l.cache.Reserve(-more) // what it returns would take it back, as the next lend does
	}
	l.lent = bytes
}
