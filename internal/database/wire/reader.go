package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Reader reads frames. After an error of the stream that is not its end, such as
// that of a deadline, it can be asked again: nothing that arrived is lost.
type Reader struct {
	stream     io.Reader
	buffer     []byte
	start, end int // of what has arrived and was not returned
}

// NewReader returns a reader of frames on a stream.
func NewReader(stream io.Reader) *Reader { return &Reader{stream: stream, buffer: make([]byte, 4<<10)} }

// Next returns the content of the next frame, valid until the next call. The error is io.EOF only where the stream
// ends between frames.
func (r *Reader) Next() ([]byte, error) {
	if err := r.fill(lengthBytes); err != nil {
		return nil, err
	}
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	return r.take(lengthBytes+n, lengthBytes)
}

// Preface returns the preface, which is valid until the next call.
func (r *Reader) Preface() ([]byte, error) { return r.take(PrefaceBytes, 0) }

// Ready reports whether a whole frame has arrived, or one that will never be taken:
// Next then does not wait.
func (r *Reader) Ready() bool {
	arrived := r.end - r.start
	if arrived < lengthBytes {
		return false
	}
	n, err := r.length()
	return err != nil || arrived >= lengthBytes+n
}

// length returns the length of the frame whose header has arrived.
func (r *Reader) length() (int, error) {
	n := binary.LittleEndian.Uint32(r.buffer[r.start:])
	if n > MaxFrame {
		return 0, fmt.Errorf("a frame of %d bytes: at most %d go", n, MaxFrame)
	}
	return int(n), nil
}

// take returns the next n bytes without the first skipped ones.
func (r *Reader) take(n, skipped int) ([]byte, error) {
	if err := r.fill(n); err != nil {
		return nil, err
	}
	taken := r.buffer[r.start+skipped : r.start+n : r.start+n]
	r.start += n
	return taken, nil
}

// fill waits until n bytes have arrived. The buffer only grows once it is full: what
// the other side merely announces takes no memory.
func (r *Reader) fill(n int) error {
	for r.end-r.start < n {
		if r.start+n > len(r.buffer) && r.start > 0 {
			r.end = copy(r.buffer, r.buffer[r.start:r.end])
			r.start = 0
		}
		if r.end == len(r.buffer) {
			r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		}
		got, err := r.stream.Read(r.buffer[r.end:])
		r.end += got
		if err == nil || r.end-r.start >= n {
			continue // an error of the stream comes again
		}
		if err == io.EOF && r.end > r.start {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}
