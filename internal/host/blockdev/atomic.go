package blockdev

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// AtomicWrites returns the units of a whole disk by its kernel name; known is false before Linux 6.11, which has no
// such files.
func AtomicWrites(roots hostfs.Roots, disk string) (u result.AtomicUnits, known bool) {
	for file, value := range map[string]*int64{"min": &u.Min, "max": &u.Max} {
		text, err := os.ReadFile(roots.InSys("class/block", disk, "queue/atomic_write_unit_"+file+"_bytes"))
		if err == nil {
			*value, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		}
		if err != nil || *value < 0 {
			return result.AtomicUnits{}, false
		}
	}
	return u, true
}

// FileAtomicWrites returns the units of files in a directory. It asks with a file that has no name, which the kernel
// removes as it is closed, and fails where the file system makes no such file. A kernel or a file system that does not
// answer (the mask of statx lacks STATX_WRITE_ATOMIC) promises nothing.
func FileAtomicWrites(dir string) (u result.AtomicUnits, err error) {
	fd, err := unix.Open(dir, unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return u, fmt.Errorf("make a file without a name in %s: %w", dir, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_WRITE_ATOMIC, &st); err != nil {
		return u, fmt.Errorf("statx of a file in %s: %w", dir, err)
	}
	if st.Mask&unix.STATX_WRITE_ATOMIC == 0 {
		return u, nil
	}
	return result.AtomicUnits{Min: int64(st.Atomic_write_unit_min), Max: int64(st.Atomic_write_unit_max)}, nil
}
