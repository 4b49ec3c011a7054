package blktrace

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Record is one event.
type Record struct {
	Sequence uint32 // counts a device's events on a CPU; 0 for uncounted
	Time     uint64 // nanoseconds of the recording host's monotonic clock
	Sector   uint64 // of 512 bytes
	Bytes    uint32
	Action   Action // without the flag of a cgroup: see Cgroup
	PID      uint32
	Device   uint32 // major<<20 | minor
	CPU      uint32
	Error    uint16 // errno as the kernel stored it, see Errno
	Cgroup   uint64 // id of the cgroup that it was made for; 0 for not recorded

	// PDU is data of the action's own, without the cgroup's id. One that was
	// read is good until the next record of the same Reader.
	PDU []byte
}

// Action is the type of a record: an event in the low byte, categories from bit 16.
type Action uint64

// The events of a request or bio.
const (
	Queue       Action = 1
	BackMerge   Action = 2
	FrontMerge  Action = 3
	GetRequest  Action = 4
	Sleep       Action = 5 // waits for a request to be free
	Requeue     Action = 6
	Issue       Action = 7
	Complete    Action = 8
	Plug        Action = 9
	Unplug      Action = 10
	UnplugTimer Action = 11
	Insert      Action = 12
	Split       Action = 13
	Bounce      Action = 14
	Remap       Action = 15
	Abort       Action = 16
	DriverData  Action = 17
	ZonePlug    Action = 18
	ZoneUnplug  Action = 19

	cgroupFlag Action = 1 << 8
)

// The notes: events of a record in category CatNotify.
const (
	NoteProcess   Action = 0 // the PDU is the name of the process PID
	NoteTimestamp Action = 1 // the PDU is the wall clock: seconds, nanoseconds, 32 bits each
	NoteMessage   Action = 2 // the PDU is text
)

// The categories.
const (
	CatRead        Action = 1 << (16 + 0)
	CatWrite       Action = 1 << (16 + 1)
	CatFlush       Action = 1 << (16 + 2)
	CatSync        Action = 1 << (16 + 3)
	CatQueue       Action = 1 << (16 + 4)
	CatRequeue     Action = 1 << (16 + 5)
	CatIssue       Action = 1 << (16 + 6)
	CatComplete    Action = 1 << (16 + 7)
	CatFS          Action = 1 << (16 + 8)
	CatPassthrough Action = 1 << (16 + 9)
	CatNotify      Action = 1 << (16 + 10)
	CatAhead       Action = 1 << (16 + 11)
	CatMeta        Action = 1 << (16 + 12)
	CatDiscard     Action = 1 << (16 + 13)
	CatDriverData  Action = 1 << (16 + 14)
	CatFUA         Action = 1 << (16 + 15)

	// Of version 8 alone; a Writer leaves them out.
	CatZoneAppend   Action = 1 << (16 + 16)
	CatZoneReset    Action = 1 << (16 + 17)
	CatZoneResetAll Action = 1 << (16 + 18)
	CatZoneFinish   Action = 1 << (16 + 19)
	CatZoneOpen     Action = 1 << (16 + 20)
	CatZoneClose    Action = 1 << (16 + 21)
	CatWriteZeroes  Action = 1 << (16 + 22)
)

// Submit is the action by which our recorders say that a driver gave a request
// to its NVMe device: driver's data with the request's device, sector and
// bytes, and SubmitPDU. blkparse copies driver's data and prints nothing of
// it; btt skips it.
const (
	Submit    = DriverData | CatDriverData
	SubmitPDU = "plims:N\x00"
)

// NamePrefix begins a message (NoteMessage|CatNotify) that holds the kernel name of the record's device.
const NamePrefix = "plimsoll device "

// Event is the event without categories.
func (a Action) Event() Action { return a & 0xff }

// IsNote reports whether the record is a note, and not an event.
func (a Action) IsNote() bool { return a&CatNotify != 0 }

// IsSubmit reports whether the record is the submission of a request to its NVMe device.
func (r *Record) IsSubmit() bool {
	return r.Action.Event() == DriverData && string(r.PDU) == SubmitPDU
}

// Errno is the record's error as a positive errno; 0 for none.
func (r *Record) Errno() int32 {
	e := int32(int16(r.Error))
	return max(e, -e)
}

// RemappedFrom returns the device and sector that a Remap came from.
func (r *Record) RemappedFrom() (device uint32, sector uint64, ok bool) {
	if r.Action.Event() != Remap || len(r.PDU) < 16 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(r.PDU), binary.BigEndian.Uint64(r.PDU[8:]), true
}

// RemapPDU is the PDU of a Remap: from where, and to which device.
func RemapPDU(from, to uint32, sector uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, from)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, to), sector)
}

// Count is the number in the PDU of an Unplug (requests) or Split (the sector
// where the rest begins).
func (r *Record) Count() (uint64, bool) {
	if len(r.PDU) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(r.PDU), true
}

// CountPDU is the PDU of an Unplug or Split.
func CountPDU(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Text is the PDU of a note of a process or a message.
func (r *Record) Text() string {
	text, _, _ := strings.Cut(string(r.PDU), "\x00")
	return strings.ToValidUTF8(text, "?")
}

// DeviceNumber is a device as records hold it.
func DeviceNumber(major, minor uint32) uint32 { return major<<20 | minor&0xfffff }

// MajMin writes a record's device as "MAJ:MIN".
func MajMin(device uint32) string { return fmt.Sprintf("%d:%d", device>>20, device&0xfffff) }

// DeviceName returns the kernel name of the record's device, if the record is a recorder's message with it.
func (r *Record) DeviceName() (string, bool) {
	if r.Action.Event() != NoteMessage || !r.Action.IsNote() {
		return "", false
	}
	return strings.CutPrefix(r.Text(), NamePrefix)
}
