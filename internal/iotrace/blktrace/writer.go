package blktrace

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	magic       = 0x65617400
	version7    = 7
	version8    = 8
	header7     = 48
	header8     = 64
	writeBuffer = 64 << 10
)

// FileName is the name of a CPU's file of a capture.
func FileName(capture string, cpu uint32) string { return fmt.Sprintf("%s.blktrace.%d", capture, cpu) }

// Writer writes a capture: each record to the file of its CPU. It is not for
// use by several goroutines at once.
type Writer struct {
	open func(cpu uint32) (io.Writer, error)
	cpus map[uint32]*cpuFile
	high uint32
}

type cpuFile struct {
	to       io.Writer
	buf      []byte
	sequence map[uint32]uint32 // by device
}

// NewWriter makes a Writer. It asks for the file of a CPU, named by FileName,
// when that CPU has its first record. The caller closes the files, after
// Flush.
func NewWriter(open func(cpu uint32) (io.Writer, error)) *Writer {
	return &Writer{open: open, cpus: map[uint32]*cpuFile{}}
}

// maxCPU bounds the number of files that Flush opens for a damaged CPU number. It is far above Linux's own limit.
const maxCPU = 1 << 14

func (w *Writer) cpu(n uint32) (*cpuFile, error) {
	if f := w.cpus[n]; f != nil {
		return f, nil
	}
	if n >= maxCPU {
		return nil, fmt.Errorf("a record names CPU %d, which is impossible", n)
	}
	to, err := w.open(n)
	if err != nil {
		return nil, err
	}
	f := &cpuFile{to: to, sequence: map[uint32]uint32{}}
	w.cpus[n] = f
	w.high = max(w.high, n)
	return f, nil
}

// Write adds a record. Those of one CPU should come in the order of time. An
// event without Sequence is given the next number of its device and CPU; a
// recorder that knows of lost events can leave a gap.
func (w *Writer) Write(r *Record) error {
	f, err := w.cpu(r.CPU)
	if err != nil {
		return err
	}
	action, pdu := r.Action&math.MaxUint32&^cgroupFlag, len(r.PDU)
	if r.Cgroup != 0 {
		action |= cgroupFlag
		pdu += 8
	}
	if pdu > math.MaxUint16 {
		return fmt.Errorf("a record's data of %d bytes is more than a capture can hold (65535)", pdu)
	}
	sequence := r.Sequence
	if !r.Action.IsNote() {
		if sequence == 0 {
			sequence = f.sequence[r.Device] + 1
		}
		f.sequence[r.Device] = sequence
	}
	le := binary.LittleEndian
	b := f.buf
	b = le.AppendUint32(b, magic|version7)
	b = le.AppendUint32(b, sequence)
	b = le.AppendUint64(b, r.Time)
	b = le.AppendUint64(b, r.Sector)
	b = le.AppendUint32(b, r.Bytes)
	b = le.AppendUint32(b, uint32(action))
	b = le.AppendUint32(b, r.PID)
	b = le.AppendUint32(b, r.Device)
	b = le.AppendUint32(b, r.CPU)
	b = le.AppendUint16(b, r.Error)
	b = le.AppendUint16(b, uint16(pdu))
	if r.Cgroup != 0 {
		b = le.AppendUint64(b, r.Cgroup)
	}
	b = append(b, r.PDU...)
	f.buf = b
	if len(f.buf) >= writeBuffer {
		return f.flush()
	}
	return nil
}

func (f *cpuFile) flush() error {
	_, err := f.to.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

// Flush writes buffered records, and creates empty files for CPUs below the highest one: blkparse stops at the first
// missing file.
func (w *Writer) Flush() error {
	if len(w.cpus) == 0 {
		return nil
	}
	for n := range w.high + 1 {
		f, err := w.cpu(n)
		if err != nil {
			return err
		}
		if err := f.flush(); err != nil {
			return err
		}
	}
	return nil
}
