package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"plimsoll/internal/database"
)

// lender keeps the block cache at its configured size. Pebble takes the memory of memtables away from the cache: with
// a cache smaller than a few of them, as the defaults are, the first writes would leave no cache at all. The lender
// adds the size of memtables before they are made, and reduces the cache to what they took soon after.
type lender struct {
	cache    *pebble.Cache
	memtable int64 // bytes of a full one

	settling sync.Mutex // held while the store is asked, so that it is not closed meanwhile

	mu      sync.Mutex // guards what follows: pebble calls the lender concurrently, of its goroutines
	db      *pebble.DB // once it is open
	lent    int64
	rotated int // number of times that a new memtable followed another
	trim    *time.Timer
}

func newLender(p database.PebbleParams) *lender {
	return &lender{cache: pebble.NewCache(p.Cache), memtable: p.Memtable}
}

// settleDelay is the time after a new memtable until the cache's size accounts for it.
const settleDelay = 50 * time.Millisecond

// maxMemtableBytes returns the most memory that memtables take: those in use, and one that is kept for reuse.
func (l *lender) maxMemtableBytes() int64 { return (database.PebbleMemtables + 1) * l.memtable }

// rotate is called when a new log was made, directly before a memtable is.
func (l *lender) rotate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil {
		return
	}
	l.rotated++
	l.lend(min(l.lent+l.memtable, l.maxMemtableBytes()))
	l.trim.Reset(settleDelay)
}

// noteFlush is called when the number of memtables may have fallen.
func (l *lender) noteFlush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db != nil {
		l.trim.Reset(settleDelay)
	}
}

// start starts the lender; close stops it before the store is closed.
func (l *lender) start(db *pebble.DB) {
	l.mu.Lock()
	l.db = db
	l.trim = time.AfterFunc(settleDelay, l.settle)
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
