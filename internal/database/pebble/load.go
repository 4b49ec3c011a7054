package pebble

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/units"
)

// loadingName is the directory of files that are not in the store yet. It exists until all records are loaded, and so
// marks an interrupted load.
const loadingName = "loading"

// loaders bounds how many files are written at a time: more do not help a device, and
// each holds a file's index in memory.
const loaders = 4

// Load lays out a dataset in an empty directory, or a new one, and returns once all
// of it is on the device. Records go in the order of their keys straight into files
// of the last level: nothing is logged, nothing is left to compact, and one dataset
// and layout give the same files, byte for byte. Only the manifest has the time.
func Load(ctx context.Context, dir string, d database.Dataset, p database.PebbleParams, log io.Writer) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := fresh(dir, d); err != nil {
		return err
	}
	loading := filepath.Join(dir, loadingName)
	if err := os.Mkdir(loading, 0o755); err != nil {
		return err
	}
	o := options(p)
	t := tables{dir: loading, dataset: d, options: o.MakeWriterOptions(levels-1, format.MaxTableFormat()),
		perFile: max(1, p.FileSize/(d.RecordBytes()+int64(database.KeyBytes)))}
	paths, err := t.writeAll(ctx)
	if err != nil {
		return err
	}
	if err := ingest(ctx, dir, p, paths, log); err != nil {
		return err
	}
	if err := os.Remove(loading); err != nil {
		return err
	}
	return marker{Format: database.PebbleFormat, Layout: database.PebbleLayout(p), Dataset: d}.write(dir)
}

// fresh makes the directory, and refuses one that has anything in it or too little
// room.
func fresh(dir string, d database.Dataset) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // of a file system that is all ours
			return fmt.Errorf("%s %s: it has %s", dir, database.PebbleNotEmpty, e.Name())
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("see how much room %s has: %w", dir, err)
	}
	free, need := int64(fs.Bavail)*fs.Bsize, d.Bytes()
	if free < need {
		return fmt.Errorf("%s: %s for %d records: they take %s, and %s has %s", dir, database.PebbleFull, d.Records,
			units.Bytes(uint64(need)), dir, units.Bytes(uint64(max(0, free))))
	}
	return nil
}

// tables writes records as files of the store.
type tables struct {
	dir     string
	dataset database.Dataset
	options sstable.WriterOptions
	perFile int64 // records of a file
}

// writeAll writes all files, some at a time, and returns them in order.
func (t *tables) writeAll(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	paths := make([]string, (t.dataset.Records+t.perFile-1)/t.perFile)
	next := make(chan int)
	var writers sync.WaitGroup
	for range min(loaders, runtime.GOMAXPROCS(0), len(paths)) {
		writers.Go(func() {
			for i := range next {
				paths[i] = filepath.Join(t.dir, fmt.Sprintf("%06d.sst", i))
				first := int64(i) * t.perFile
				if err := t.write(ctx, paths[i], first, min(first+t.perFile, t.dataset.Records)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < len(paths) && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	writers.Wait()
	return paths, context.Cause(ctx)
}

// write writes the records from first up to end, without it, and has them on the
// device when it returns.
func (t *tables) write(ctx context.Context, path string, first, end int64) (err error) {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), t.options)
	defer func() {
		if closing := w.Close(); err == nil { // the first error is the cause of the others
			err = closing
		}
	}()
	var key, value []byte
	for i := first; i < end; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		key, value = database.Key(key[:0], i), database.Value(value[:0], t.dataset, i)
		if err := w.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// ingest makes a store of files.
func ingest(ctx context.Context, dir string, p database.PebbleParams, paths []string, log io.Writer) error {
	f, o, l := newFatal(log), options(p), newLender(p)
	defer l.cache.Unref()
	listen(o, f, &stalls{}, l)
	done := make(chan error, 1)
	go func() {
		db, err := pebble.Open(dir, o)
		if err != nil {
			done <- err
			return
		}
		if err := db.Ingest(ctx, paths); err != nil {
			done <- err // the process ends: what is left of the store has no marker
			return
		}
		done <- db.Close()
	}()
	select {
	case err := <-done:
		return err
	case err := <-f.why:
		return err
	}
}
