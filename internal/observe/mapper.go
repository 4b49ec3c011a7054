package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thin pool carries no I/O: its thin devices send theirs on to the device
// that holds its data, and the pool's own counters stay at zero (the kernel's
// drivers/md/dm-thin.c, thin_bio_map). So a chain goes from a thin device to
// that data device, and leaves out the pool and what holds its metadata.

// poolData gives the MAJ:MIN of the device that holds a thin pool's data; ""
// for what is no thin pool. dir is the device's in sysfs.
func poolData(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "dm/name")); err != nil {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return ""
	}
	target, params, err := mapperTable(strings.TrimSpace(string(b)))
	if err != nil {
		return "" // only root may ask: then the pool counts as any other device
	}
	// "METADATA DATA ...", each MAJ:MIN
	f := strings.Fields(params)
	if target != "thin-pool" || len(f) < 2 {
		return ""
	}
	return f[1]
}

// Numbers of linux/dm-ioctl.h.
const (
	dmTableStatus = 0xc138fd0c // _IOWR(0xfd, 12, struct dm_ioctl)
	dmStatusTable = 1 << 4     // DM_STATUS_TABLE_FLAG
	dmBufferBytes = 16 << 10
)

// dmIoctl is struct dm_ioctl of linux/dm-ioctl.h.
type dmIoctl struct {
	version     [3]uint32
	dataSize    uint32
	dataStart   uint32
	targetCount uint32
	openCount   int32
	flags       uint32
	eventNr     uint32
	_           uint32
	dev         uint64
	name        [128]byte
	uuid        [129]byte
	_           [7]byte
}

// dmTargetSpec is struct dm_target_spec; its parameters follow as text.
type dmTargetSpec struct {
	start, length uint64
	status        int32
	next          uint32
	targetType    [16]byte
}

// mapperTable asks device mapper for the first target of a device, and for its
// parameters.
func mapperTable(majmin string) (target, params string, err error) {
	var major, minor uint32
	if _, err := fmt.Sscanf(majmin, "%d:%d", &major, &minor); err != nil {
		return "", "", fmt.Errorf("device number %q: %w", majmin, err)
	}
	control, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if err != nil {
		return "", "", err
	}
	defer control.Close()
	// Aligned for the structures that lie in it.
	words := make([]uint64, dmBufferBytes/8)
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), dmBufferBytes)
	request := (*dmIoctl)(unsafe.Pointer(&words[0]))
	request.version = [3]uint32{4, 0, 0}
	request.dataSize, request.dataStart = dmBufferBytes, uint32(unsafe.Sizeof(*request))
	request.flags = dmStatusTable
	// new_encode_dev of linux/kdev_t.h
	request.dev = uint64(minor&0xff | major<<8 | (minor&^0xff)<<12)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, control.Fd(), dmTableStatus, uintptr(unsafe.Pointer(request))); errno != 0 {
		return "", "", fmt.Errorf("device mapper's table of %s: %w", majmin, errno)
	}
	at := request.dataStart
	specBytes := uint32(unsafe.Sizeof(dmTargetSpec{}))
	if request.targetCount == 0 || at%8 != 0 || at+specBytes > dmBufferBytes {
		return "", "", fmt.Errorf("device mapper's table of %s: it has no target", majmin)
	}
	spec := (*dmTargetSpec)(unsafe.Pointer(&buffer[at]))
	return cString(spec.targetType[:]), cString(buffer[at+specBytes:]), nil
}

func cString(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}
