package stack

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// extent is a piece of a file that lies in one piece on the disk, in bytes
// (Documentation/filesystems/fiemap.rst).
type extent struct{ logical, physical, length uint64 }

// clip returns the part of e between start and end.
func (e extent) clip(start, end uint64) extent {
	if e.logical < start {
		cut := start - e.logical
		e = extent{start, e.physical + cut, e.length - cut}
	}
	e.length = min(e.length, end-e.logical)
	return e
}

// The ioctl FS_IOC_FIEMAP of linux/fiemap.h.
const (
	fiemapIoctl      = 0xc020660b
	fiemapSync       = 0x1
	fiemapLast       = 0x1
	fiemapUnwritten  = 0x800
	fiemapHeadBytes  = 32
	fiemapExtentSize = 56
	fiemapExtents    = 512 // asked for at a time
)

// extentsOf returns the extents of a part of a file on its disk; nil when the file system does not report them.
// Unwritten parts are left out, since the file system may still allocate them elsewhere.
func extentsOf(f *os.File, offset, bytes int64) ([]extent, error) {
	var extents []extent
	start, end := uint64(offset), uint64(offset+bytes)
	for next := start; next < end; {
		found, err := mapExtents(int(f.Fd()), next, end-next)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("ask where %s lies on its disk: %w", f.Name(), err)
		case len(found) == 0:
			return extents, nil
		}
		for _, e := range found {
			next = max(next, e.extent.logical+e.extent.length)
			if e.flags&fiemapUnwritten == 0 {
				extents = append(extents, e.extent.clip(start, end))
			}
			if e.flags&fiemapLast != 0 {
				return extents, nil
			}
		}
	}
	return extents, nil
}

type mappedExtent struct {
	extent extent
	flags  uint32
}

func mapExtents(fd int, start, length uint64) ([]mappedExtent, error) {
	// Words, so that the kernel's structures are aligned.
	buffer := make([]uint64, (fiemapHeadBytes+fiemapExtents*fiemapExtentSize)/8)
	head := (*struct {
		start, length       uint64
		flags, mapped, room uint32
		reserved            uint32
	})(unsafe.Pointer(&buffer[0]))
	head.start, head.length, head.flags, head.room = start, length, fiemapSync, fiemapExtents
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fiemapIoctl, uintptr(unsafe.Pointer(&buffer[0])))
	if errno != 0 {
		return nil, errno
	}
	out := make([]mappedExtent, min(head.mapped, fiemapExtents))
	for i := range out {
		e := buffer[(fiemapHeadBytes+i*fiemapExtentSize)/8:]
		// logical, physical, length, two reserved words, flags
		out[i] = mappedExtent{extent{e[0], e[1], e[2]}, uint32(e[5])}
	}
	return out, nil
}
