package stack

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/units"
)

// coldLimit bounds the attempts to drop a file from the page cache.
var coldLimit = 10 * time.Second

// dropCache writes a file back, drops it from the page cache, and has the
// kernel say that nothing of it is left there.
func dropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if err := f.Sync(); err != nil {
			return fmt.Errorf("write %s back: %w", path, err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop %s from the page cache: %w", path, err)
		}
		left, err := cachedBytes(f)
		switch {
		case err != nil:
			return fmt.Errorf("see what the page cache holds of %s: %w", path, err)
		case left == 0:
			return nil
		case time.Since(start) > coldLimit:
			return fmt.Errorf(
				"the page cache still holds %s of %s after %s, so the trial would not start cold: something else uses that file or its loop device (fuser -v shows), or it lies in memory",
				units.Bytes(uint64(left)),
				path,
				coldLimit,
			)
		}
	}
}

// cachedBytes returns how many bytes of a file the page cache holds (mincore(2)).
func cachedBytes(f *os.File) (bytes int64, err error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	page := int64(os.Getpagesize())
	const window = 1 << 30 // mapped at a time
	resident := make([]byte, window/page)
	for offset := int64(0); offset < st.Size(); offset += window {
		length := min(window, st.Size()-offset)
		mapped, err := unix.Mmap(int(f.Fd()), offset, int(length), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, err
		}
		pages := resident[:(length+page-1)/page]
		err = mincore(mapped, pages)
		if err = errors.Join(err, unix.Munmap(mapped)); err != nil {
			return 0, err
		}
		for _, p := range pages {
			bytes += int64(p&1) * page
		}
	}
	return bytes, nil
}

// mincore marks the pages of a mapping that are in memory by their lowest bit.
func mincore(mapped, pages []byte) error {
	_, _, errno := unix.Syscall(
		unix.SYS_MINCORE,
		uintptr(unsafe.Pointer(&mapped[0])),
		uintptr(len(mapped)),
		uintptr(unsafe.Pointer(&pages[0])),
	)
	if errno != 0 {
		return errno
	}
	return nil
}

// checkCold returns an error if files in dir cannot be dropped from the page cache.
func checkCold(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("file system of %s: %w", dir, err)
	}
	if st.Type != unix.TMPFS_MAGIC && st.Type != unix.RAMFS_MAGIC {
		return nil
	}
	return problem.New(problem.Unsupported, "loop(cold) over a file in "+dir,
		"that directory lies in memory, and its files cannot be dropped from there",
		"name a directory on a disk with dir=")
}
