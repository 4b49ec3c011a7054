package capture

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"plimsoll/internal/iotrace"
)

// stream reads the ring buffer and passes on its events.
type stream struct {
	reader  *ringbuf.Reader
	done    chan error
	records atomic.Uint64 // records
}

// monotonic is the clock of the programs, in nanoseconds.
func monotonic() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // every Linux has it
	}
	return uint64(t.Nano())
}

func (r *bpfRecorder) startStream() error {
	reader, err := ringbuf.NewReader(r.coll.Maps["ring"])
	if err != nil {
		return fmt.Errorf("open the ring buffer: %w", err)
	}
	s := &stream{reader: reader, done: make(chan error, 1)}
	r.stream = s
	take := takeAs(s, r.takeRequest)
	if r.options.Events != nil {
		_, drivers := r.coll.Programs["nvme_setup"]
		events := &eventSorter{devices: r.devices, to: r.options.Events, named: map[uint32][16]byte{}, drivers: drivers}
		take = takeAs(s, events.take)
		go func() {
			err := s.read(take)
			events.flush()
			s.done <- err
		}()
		return nil
	}
	go func() { s.done <- s.read(take) }()
	return nil
}

// read hands records on until the buffer is flushed.
func (s *stream) read(take func([]byte) error) error {
	var record ringbuf.Record
	for {
		err := s.reader.ReadInto(&record)
		switch {
		case errors.Is(err, ringbuf.ErrFlushed), errors.Is(err, ringbuf.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("read the ring buffer: %w", err)
		}
		if err := take(record.RawSample); err != nil {
			return err
		}
	}
}

// takeAs reads a record of the programs' own type where it lies.
func takeAs[T any](s *stream, take func(*T)) func([]byte) error {
	return func(raw []byte) error {
		var size T
		if want := int(unsafe.Sizeof(size)); len(raw) < want {
			return fmt.Errorf("the ring buffer gave %d bytes, and not %d", len(raw), want)
		}
		s.records.Add(1)
		take((*T)(unsafe.Pointer(&raw[0])))
		return nil
	}
}

// endStream ends the stream after it has emptied the buffer.
func (r *bpfRecorder) endStream() error {
	if r.stream == nil || r.stream.done == nil {
		return nil
	}
	err := r.stream.reader.Flush()
	if err == nil {
		err = <-r.stream.done
	}
	r.stream.done = nil
	return errors.Join(err, r.stream.reader.Close())
}

func (r *bpfRecorder) takeRequest(in *requestRecord) {
	since := func(ns uint64) int64 {
		if ns == 0 {
			return -1
		}
		return int64(ns - r.zero)
	}
	out := iotrace.IO{
		Device: r.devices[in.Dev].name, Op: iotrace.Op(in.Op), Sector: in.Sector, Bytes: uint64(in.Bytes), CPU: in.CPU,
		Q: since(in.Q), G: since(in.G), I: since(in.I), M: -1, D: since(in.D), N: since(in.N), C: since(in.C),
		Merged: uint32(in.Merged), Requeued: uint32(in.Requeued), Error: errno(in.Error),
	}
	if in.Owner != 0 && !r.knows(in.Owner) {
		_ = r.newOwners() // it stays unknown
	}
	out.Owner = r.owner(in.Owner, in.Call != 0)
	r.options.Requests(&out)
}

func (r *bpfRecorder) knows(owner uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.owners[owner]
	return ok
}

// errno returns the errno of a completion. Linux 5.16 and later store the block status, which has its own numbers.
func errno(code int32) int32 {
	switch code {
	case 0:
		return 0
	case 1: // BLK_STS_NOTSUPP
		return int32(unix.EOPNOTSUPP)
	case 2: // BLK_STS_TIMEOUT
		return int32(unix.ETIMEDOUT)
	case 3: // BLK_STS_NOSPC
		return int32(unix.ENOSPC)
	}
	if code < 0 {
		return -code
	}
	return int32(unix.EIO)
}
