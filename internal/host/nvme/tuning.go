package nvme

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds that the kernel has for a connection (drivers/nvme/host/fabrics.h).
const (
	LeastQueueSize   = 16
	LargestQueueSize = 1024
)

// Tuning is how requests travel over a connection. What is 0 or false is left to the kernel: an I/O queue for each
// processor, of 128 entries, no queues that are polled, and no digests.
type Tuning struct {
	IOQueues     int // at most one for each processor of this host; more are cut without a word
	PollQueues   int // in addition, for requests that are polled: likewise
	QueueSize    int // entries of an I/O queue
	HeaderDigest bool
	DataDigest   bool // CRC-32C of the data, which both ends compute
}

// options returns the kernel's options (drivers/nvme/host/fabrics.c).
func (t Tuning) options() (o []string) {
	for _, n := range []struct {
		name  string
		value int
	}{{"nr_io_queues", t.IOQueues}, {"nr_poll_queues", t.PollQueues}, {"queue_size", t.QueueSize}} {
		if n.value > 0 {
			o = append(o, fmt.Sprintf("%s=%d", n.name, n.value))
		}
	}
	if t.HeaderDigest {
		o = append(o, "hdr_digest")
	}
	if t.DataDigest {
		o = append(o, "data_digest")
	}
	return o
}

// Differs returns how a controller differs from what was asked for; "" if it does not, as far as the kernel says.
func (t Tuning) Differs(c Controller) string {
	var differences []string
	if asked := t.IOQueues + t.PollQueues; t.IOQueues > 0 && c.Queues > 0 && c.Queues-1 != asked {
		differences = append(differences, fmt.Sprintf("%d I/O queues where %d were asked for", c.Queues-1, asked))
	}
	if t.QueueSize > 0 && c.QueueSize > 0 && c.QueueSize != t.QueueSize {
		differences = append(differences,
			fmt.Sprintf("queues of %d entries where %d were asked for", c.QueueSize, t.QueueSize))
	}
	return strings.Join(differences, ", and ")
}

// Fields of the Identify Controller data structure (NVM Express Base Specification 2.0, figure 275).
const (
	identifyOpcode     = 0x06
	identifyController = 0x01
	capsuleUnits       = 1792       // IOCCSZ: size of a command capsule, in units of 16 bytes
	capsuleUnit        = 16         //
	commandBytes       = 64         // of it are the command
	identifyBytes      = 4096       //
	adminCommand       = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD (include/uapi/linux/nvme_ioctl.h)
)

// InCapsuleData returns how many bytes of data a target takes in the same packet as a write's command. Larger writes
// wait for the target's permission first: one round trip more. The kernel asks the controller.
func (c Controller) InCapsuleData(dev string) (int64, error) {
	f, err := os.Open(dev + "/" + c.Name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data := make([]byte, identifyBytes)
	command := struct { // struct nvme_passthru_cmd
		opcode, flags                            uint8
		_                                        uint16
		nsid, cdw2, cdw3                         uint32
		metadata, addr                           uint64
		metadataLen, dataLen                     uint32
		cdw10, cdw11, cdw12, cdw13, cdw14, cdw15 uint32
		timeoutMS, result                        uint32
	}{opcode: identifyOpcode, dataLen: identifyBytes, cdw10: identifyController}
	var pin runtime.Pinner
	pin.Pin(&data[0])
	defer pin.Unpin()
	command.addr = uint64(uintptr(unsafe.Pointer(&data[0])))
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), adminCommand, uintptr(unsafe.Pointer(&command)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return 0, fmt.Errorf("identify %s: %w", c.Name, errno)
	}
	if status != 0 {
		return 0, fmt.Errorf("identify %s: the controller answers with status %#x", c.Name, status)
	}
	return inCapsuleData(data), nil
}

// inCapsuleData reads it from the Identify Controller data structure; 0 for a local controller, which has no capsules.
func inCapsuleData(identify []byte) int64 {
	return max(0, int64(binary.LittleEndian.Uint32(identify[capsuleUnits:]))*capsuleUnit-commandBytes)
}
