package lab

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The wire between a host and a guest's agent is a virtio-serial port: a
// stream of bytes without connections, from which both ends may vanish. A
// session begins with greeting and a nonce from the host, which the agent
// gives back; what comes before it belongs to a session that is over.
const (
	greeting    = "PLIMSOLL"
	nonceLength = 16
	portName    = "plimsoll.lab."
)

// Kinds of frames. None is the first byte of the greeting, so that an agent
// notices a new session within an old one.
const (
	frameRun    = 'r' // host: JSON of a Command; the first frame of a session, and once
	frameStdin  = 'i' // host: input of the command; empty at its end
	frameSize   = 'w' // host: rows and columns of its terminal
	frameSignal = 's' // host: one byte, the number of a signal
	frameStdout = 'o' // guest
	frameStderr = 'e' // guest
	frameExit   = 'x' // guest: JSON of an ending; the last frame
)

// maxFrame is the most that a frame holds.
const maxFrame = 1 << 20

// Command is a command to run in a guest.
type Command struct {
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"` // beside the guest's own
	TTY  bool     `json:"tty,omitempty"` // on a terminal of the guest's
	Rows uint16   `json:"rows,omitempty"`
	Cols uint16   `json:"cols,omitempty"`
}

// exitStatus is how a command ended.
type exitStatus struct {
	Code  int    `json:"code"`            // exit status; 128 and its number for a signal, as shells say it
	Error string `json:"error,omitempty"` // why it could not be started
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	b := make([]byte, 5, 5+len(payload))
	b[0] = kind
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

// readPayload reads what follows the kind of a frame.
func readPayload(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes, and at most %d are allowed", n, maxFrame)
	}
	payload := make([]byte, n)
	_, err := io.ReadFull(r, payload)
	return payload, err
}

// find reads up to and including the mark.
func find(r io.ByteReader, mark []byte) error {
	window := make([]byte, 0, len(mark))
	for {
		c, err := r.ReadByte()
		if err != nil {
			return err
		}
		if len(window) == len(mark) {
			window = append(window[:0], window[1:]...)
		}
		if window = append(window, c); string(window) == string(mark) {
			return nil
		}
	}
}
