package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/workload/ycsb"
)

// files has the files of one thread: numbers from oldest up to before next, in the thread's own directory.
type files struct {
	plan         *ycsb.Files
	dir          *os.File
	fd           int // descriptor of dir
	oldest, next int
	content      []byte // of each
	buffer       []byte // what is read goes there
	created      int    // descriptor of a file that is not synced yet; -1 for none
	remove       bool   // the next change is an unlink
	overwritten  int    // files, from the oldest on
}

// openFiles opens the files that a thread of this number has.
func (t *thread) openFiles(number int) error {
	p := t.run.plan
	f, err := openFiles(p.Files, number, t.run.values)
	if err != nil {
		return err
	}
	t.files = f
	want := p.Files.Of(number, p.Threads)
	if f.next-f.oldest == want+1 { // the last load ended before it unlinked one; the newest may lack bytes
		f.next--
		err = f.unlink(f.next)
	}
	if have := f.next - f.oldest; err == nil && have != want {
		err = fmt.Errorf("%s has %d files, and is to have %d", f.dir.Name(), have, want)
	}
	return err
}

func openFiles(plan *ycsb.Files, thread int, content []byte) (*files, error) {
	dir, err := os.Open(filepath.Join(plan.Dir, strconv.Itoa(thread)))
	if err != nil {
		return nil, err
	}
	f := &files{plan: plan, dir: dir, fd: int(dir.Fd()), content: content, buffer: make([]byte, plan.Bytes), created: -1}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s has %q, which no load made", dir.Name(), name), dir.Close())
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return f, nil
	}
	f.oldest, f.next = slices.Min(numbers), slices.Max(numbers)+1
	if f.next-f.oldest != len(numbers) {
		return nil, errors.Join(fmt.Errorf("files of %s are missing", dir.Name()), dir.Close())
	}
	return f, nil
}

func (f *files) close() {
	if f.created >= 0 {
		_ = unix.Close(f.created)
	}
	_ = f.dir.Close()
}

// fillFiles creates the files of a plan, in place of those of an earlier one that was cut short.
func fillFiles(ctx context.Context, plan *ycsb.Plan) error {
	err := os.RemoveAll(plan.Files.Dir)
	if err != nil {
		return err
	}
	content := randomBytes(plan.Seed, plan.Files.Bytes)
	for thread := range plan.Threads {
		err := os.MkdirAll(filepath.Join(plan.Files.Dir, strconv.Itoa(thread)), 0o755)
		if err != nil {
			return err
		}
		f, err := openFiles(plan.Files, thread, content)
		if err != nil {
			return err
		}
		for range plan.Files.Of(thread, plan.Threads) {
			err = errors.Join(ctx.Err(), f.create(), f.finish())
			if err != nil {
				f.close()
				return err
			}
		}
		_, err = f.flush()
		f.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// churn does one operation after the other until its time is over, or there is nothing left to do.
func (t *thread) churn() {
	end := t.run.plan.Ramp + t.run.plan.Runtime
	for !t.run.stopping.Load() {
		start := t.run.now()
		if start >= end {
			return
		}
		kind := t.files.choose(t.random)
		if kind == "" {
			return
		}
		bytes, err := t.files.do(kind, t.random)
		took := t.run.now() - start
		if err != nil {
			// A file system that fails once answers nothing that is worth a rate.
			lost := fmt.Errorf("%s: %w", kind, err)
			if t.run.lost.CompareAndSwap(nil, &lost) {
				t.run.stop()
			}
			return
		}
		t.countFile(kind, bytes, took)
	}
}

func (t *thread) countFile(kind string, bytes int, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.did.kinds[slices.Index(ycsb.Names, kind)]
	k.count++
	k.bytes += uint64(bytes)
	k.total.record(took)
}

// choose returns the next operation; "" if all are overwrites and each file had one.
func (f *files) choose(random *rand.Rand) string {
	if f.created >= 0 {
		return ycsb.Fsync
	}
	share := random.Float64()
	switch {
	case share < f.plan.Lookups:
		if random.IntN(2) == 0 {
			return ycsb.Stat
		}
		return ycsb.Open
	case share < f.plan.Lookups+f.plan.Overwrites && f.overwritten < f.next-f.oldest:
		return ycsb.FirstWrite
	case f.plan.OnlyOverwrites():
		return ""
	case share < f.plan.Lookups+f.plan.Overwrites:
		return ycsb.Overwrite
	case f.remove:
		return ycsb.Unlink
	}
	return ycsb.Create
}

// do does one operation, and returns how many bytes were read or written.
func (f *files) do(kind string, random *rand.Rand) (bytes int, err error) {
	switch kind {
	case ycsb.Fsync:
		err := uninterrupted(func() error { return unix.Fsync(f.created) })
		return 0, errors.Join(err, f.finish())
	case ycsb.Stat:
		return 0, f.stat(f.randomName(random))
	case ycsb.Open:
		return f.read(f.randomName(random))
	case ycsb.FirstWrite, ycsb.Overwrite:
		number := f.oldest + f.overwritten%(f.next-f.oldest)
		f.overwritten++
		return f.overwrite(strconv.Itoa(number))
	case ycsb.Unlink:
		f.remove = false
		f.oldest++
		return 0, f.unlink(f.oldest - 1)
	}
	f.remove = true
	err = f.create()
	if err == nil && !f.plan.Fsync {
		err = f.finish()
	}
	return len(f.content), err
}

// randomName returns the name of an existing file.
func (f *files) randomName(random *rand.Rand) string {
	return strconv.Itoa(f.oldest + random.IntN(f.next-f.oldest))
}

// create makes a file and leaves it open.
func (f *files) create() error {
	fd, err := f.open(strconv.Itoa(f.next), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	f.created = fd
	for left := f.content; len(left) > 0; {
		n := 0
		err := uninterrupted(func() (err error) {
			n, err = unix.Write(fd, left)
			return err
		})
		if err != nil {
			return err
		}
		left = left[n:]
	}
	f.next++
	return nil
}

// finish closes the file that was created.
func (f *files) finish() error {
	if f.created < 0 {
		return nil
	}
	fd := f.created
	f.created = -1
	return unix.Close(fd)
}

func (f *files) open(name string, flags int) (fd int, err error) {
	err = uninterrupted(func() (err error) {
		fd, err = unix.Openat(f.fd, name, flags|unix.O_CLOEXEC, 0o644)
		return err
	})
	return fd, err
}

func (f *files) stat(name string) error {
	var st unix.Stat_t
	return uninterrupted(func() error { return unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
}

// read opens a file, reads all of it, and closes it.
func (f *files) read(name string) (bytes int, err error) {
	fd, err := f.open(name, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	for bytes < len(f.buffer) && err == nil {
		n := 0
		err = uninterrupted(func() (err error) {
			n, err = unix.Read(fd, f.buffer[bytes:])
			return err
		})
		if n == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		bytes += max(n, 0)
	}
	return bytes, errors.Join(err, unix.Close(fd))
}

// overwriteBytes are those of a block.
const overwriteBytes = 4096

// overwrite opens a file, writes its first bytes, and closes it. On an overlay, opening a file of a lower layer copies
// all of it to the writable one.
func (f *files) overwrite(name string) (bytes int, err error) {
	fd, err := f.open(name, unix.O_WRONLY)
	if err != nil {
		return 0, err
	}
	err = uninterrupted(func() (err error) {
		bytes, err = unix.Pwrite(fd, f.content[:min(overwriteBytes, len(f.content))], 0)
		return err
	})
	return max(bytes, 0), errors.Join(err, unix.Close(fd))
}

func (f *files) unlink(number int) error {
	return uninterrupted(func() error { return unix.Unlinkat(f.fd, strconv.Itoa(number), 0) })
}

// flush writes back what the file system has in memory, and returns how long that took.
func (f *files) flush() (seconds float64, err error) {
	began := time.Now()
	err = uninterrupted(func() error { return unix.Syncfs(f.fd) })
	return time.Since(began).Seconds(), err
}

// uninterrupted repeats a system call that a signal interrupted, as FUSE and network file systems have it.
func uninterrupted(call func() error) error {
	for {
		err := call()
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
