package pebble

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"plimsoll/internal/database"
)

// A server holds what its cache will from the beginning, and gives that back as the cache
// fills; where the data is less than the cache, as much as the data.
func TestAServerHoldsItsMemoryFromTheBeginning(t *testing.T) {
	params := database.PebbleDefaults()
	dir := filepath.Join(t.TempDir(), "data")
	dataset := database.Dataset{Records: 40_000, Fields: 4, FieldBytes: 250, Seed: 3}
	if err := Load(t.Context(), dir, dataset, params, t.Output()); err != nil {
		t.Fatal(err)
	}
	o := options(params)
	o.Cache, o.Logger = pebble.NewCache(params.Cache), newFatal(t.Output())
	defer o.Cache.Unref()
	db, err := pebble.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	runtime.GC()
	before := inUse()
	p := hold(db, params.Cache)
	if grown := int64(inUse() - before); grown < params.Cache {
		t.Errorf("it holds %d bytes more, and its cache will %d", grown, params.Cache)
	}
	iterator, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for iterator.First(); iterator.Valid(); iterator.Next() { // more than the cache has room for
		if _, err := iterator.ValueAndErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := iterator.Close(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { p.done.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(5 * time.Minute):
		t.Errorf("the placeholder is still there, and the cache has %d bytes", db.Metrics().BlockCache.Size)
	}
	p.end()

	huge := hold(db, 1<<40)
	if most := int64(db.Metrics().DiskSpaceUsage()); int64(len(huge.chunks))*chunk > most {
		t.Errorf("it holds %d bytes for data of %d", len(huge.chunks)*chunk, most)
	}
	huge.end()
}
