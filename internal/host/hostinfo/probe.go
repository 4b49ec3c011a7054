package hostinfo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
	"plimsoll/internal/state/activeruns"
)

// thisKernel queries the kernel that runs this process.
type thisKernel struct{}

// ioURing makes the smallest ring there is and closes it.
func (thisKernel) ioURing() error {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	runtime.KeepAlive(&params)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// bpf makes an array of one element and closes it.
func (thisKernel) bpf() error {
	attr := struct {
		mapType, keySize, valueSize, maxEntries, flags uint32
		_                                              [108]byte
	}{mapType: unix.BPF_MAP_TYPE_ARRAY, keySize: 4, valueSize: 4, maxEntries: 1}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// freeBytes returns the free space at the nearest existing parent of dir.
func (thisKernel) freeBytes(dir string) (uint64, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if os.IsNotExist(err) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		return st.Bavail * uint64(st.Bsize), err
	}
}

func (thisKernel) atomicWrites(dir string) (result.AtomicUnits, error) {
	return blockdev.FileAtomicWrites(dir)
}

// limits asks a program: Go raises the limit of open files for its process, and gives programs the earlier one.
func (thisKernel) limits() string {
	ctx, cancel := context.WithTimeout(context.Background(), programTimeout)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "cat", "/proc/self/limits").Output() // unreadable: nothing is known
	return string(out)
}

// runs lists those of plimsoll that are under way.
func (thisKernel) runs() (ids []string) {
	for _, r := range activeruns.Others("") {
		ids = append(ids, r.ID)
	}
	return ids
}
