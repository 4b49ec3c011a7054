package devmapper

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of linux/dm-ioctl.h.
const (
	devRemove       = 0xc138fd04 // DM_DEV_REMOVE: _IOWR(0xfd, 4, struct dm_ioctl)
	tableStatus     = 0xc138fd0c // DM_TABLE_STATUS: _IOWR(0xfd, 12, struct dm_ioctl)
	flagStatusTable = 1 << 4     // DM_STATUS_TABLE_FLAG: the table, not its state
	flagBufferFull  = 1 << 8     // DM_BUFFER_FULL_FLAG: the answer did not fit
)

// header is struct dm_ioctl of linux/dm-ioctl.h.
type header struct {
	version     [3]uint32
	dataSize    uint32
	dataStart   uint32
	targetCount uint32
	openCount   int32
	flags       uint32
	eventNumber uint32
	_           uint32
	device      uint64
	name        [128]byte
	uuid        [129]byte
	_           [7]byte
}

// spec is struct dm_target_spec; its parameters follow as text.
type spec struct {
	start, length uint64
	status        int32
	next          uint32 // where the next one begins, from the first one on
	kind          [16]byte
}

const (
	headerBytes = uint32(unsafe.Sizeof(header{}))
	specBytes   = uint32(unsafe.Sizeof(spec{}))
)

// message is a request, and the kernel's answer to it in the same bytes.
type message struct{ words []uint64 } // aligned for what lies in it

func newMessage(size int, name string, number uint64) (*message, error) {
	m := &message{words: make([]uint64, size/8)}
	h := m.header()
	if len(name) >= len(h.name) {
		return nil, fmt.Errorf("%q is no name of a mapped device: it has more than %d characters", name, len(h.name)-1)
	}
	h.version = [3]uint32{4, 0, 0}
	h.dataSize, h.dataStart = uint32(size), headerBytes
	h.device = number
	copy(h.name[:], name)
	return m, nil
}

func (m *message) header() *header { return (*header)(unsafe.Pointer(&m.words[0])) }

func (m *message) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&m.words[0])), len(m.words)*8)
}

// targets decodes the answer to DM_TABLE_STATUS.
func (m *message) targets() ([]Target, error) {
	h, b := m.header(), m.bytes()
	if h.targetCount == 0 {
		return nil, fmt.Errorf("device mapper's table has no target")
	}
	var targets []Target
	for offset, left := h.dataStart, h.targetCount; left > 0; left-- {
		if offset < headerBytes || offset%8 != 0 || uint64(offset)+uint64(specBytes) > uint64(len(b)) {
			return nil, fmt.Errorf("device mapper's table: target %d is not in the answer", len(targets)+1)
		}
		s := (*spec)(unsafe.Pointer(&b[offset]))
		targets = append(targets, Target{
			Start: s.start, Length: s.length, Type: text(s.kind[:]), Params: text(b[offset+specBytes:]),
		})
		offset = h.dataStart + s.next
	}
	return targets, nil
}

func text(b []byte) string {
	t, _, _ := bytes.Cut(b, []byte{0})
	return string(t)
}

// encodeNumber is new_encode_dev of linux/kdev_t.h.
func encodeNumber(major, minor uint32) uint64 {
	return uint64(minor&0xff | major<<8 | (minor&^0xff)<<12)
}

// ask sends a message to the kernel.
type ask func(request uintptr, m *message) error

func control(request uintptr, m *message) error {
	f, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&m.words[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
