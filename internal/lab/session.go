package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
)

// Streams are the input and outputs of a command in a guest.
type Streams struct {
	Stdin          io.Reader // nil: it is at its end at once
	Stdout, Stderr io.Writer
	Sizes          <-chan [2]uint16 // rows and columns, whenever they change; nil for never
}

// interruptGrace is how long an interrupted command may take to undo its changes.
const interruptGrace = 30 * time.Second

// Run runs a command in the machine of machineDir, and returns its exit status. It waits until the machine is up. When
// ctx ends, the command is interrupted as by Ctrl-C, and killed if it does not end then.
func Run(ctx context.Context, machineDir string, c Command, s Streams) (int, error) {
	conn, release, err := dial(machineDir)
	if err != nil {
		return 0, err
	}
	defer release()
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	if err := greet(ctx, conn, in); err != nil {
		return 0, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	w := &frames{w: conn}
	if err := w.send(frameRun, text); err != nil {
		return 0, lostError(err)
	}
	done := make(chan struct{})
	defer close(done)
	go feed(w, s.Stdin)
	if s.Sizes != nil {
		go resizes(w, s.Sizes, done)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = w.send(frameSignal, []byte{byte(unix.SIGINT)}) // reading fails if the machine is gone
		select {
		case <-done:
		case <-time.After(interruptGrace):
			_ = conn.Close() // the agent kills what it runs
		}
	})
	defer stop()
	return listen(ctx, in, s)
}

// greet begins a session, which waits for the agent.
func greet(ctx context.Context, conn net.Conn, in *bufio.Reader) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	nonce := make([]byte, nonceLength)
	_, _ = rand.Read(nonce) // never fails
	_, err := conn.Write(append([]byte(greeting), nonce...))
	if err == nil {
		err = find(in, nonce)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return lostError(err)
}

// lostError returns the error for a connection to a guest that broke.
func lostError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the virtual machine does not answer any more: %w", err)
}

// feed sends the command's input.
func feed(w *frames, r io.Reader) {
	b := make([]byte, 64<<10)
	for r != nil {
		n, err := r.Read(b)
		if n > 0 && w.send(frameStdin, b[:n]) != nil {
			return
		}
		if err != nil {
			break
		}
	}
	_ = w.send(frameStdin, nil) // listen tells when the machine is gone
}

func resizes(w *frames, sizes <-chan [2]uint16, done <-chan struct{}) {
	for {
		select {
		case size := <-sizes:
			payload := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, size[0]), size[1])
			if w.send(frameSize, payload) != nil {
				return
			}
		case <-done:
			return
		}
	}
}

// listen receives the command's output until it ends.
func listen(ctx context.Context, in *bufio.Reader, s Streams) (int, error) {
	var unwritten error // the first that the caller's writers gave
	for {
		kind, err := in.ReadByte()
		var payload []byte
		if err == nil {
			payload, err = readPayload(in)
		}
		if err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, lostError(err)
		}
		switch kind {
		case frameStdout:
			_, err = s.Stdout.Write(payload)
		case frameStderr:
			_, err = s.Stderr.Write(payload)
		case frameExit:
			var e exitStatus
			if err := json.Unmarshal(payload, &e); err != nil {
				return 0, fmt.Errorf("the lab's agent: %w", err)
			}
			if e.Error != "" {
				return e.Code, fmt.Errorf("in the lab: %s", e.Error)
			}
			if ctx.Err() != nil {
				return e.Code, context.Cause(ctx)
			}
			return e.Code, unwritten
		}
		if unwritten == nil {
			unwritten = err
		}
	}
}

// dial connects to a free port of a machine, through QEMU.
func dial(machineDir string) (net.Conn, func(), error) {
	// Paths of sockets have 107 bytes at most, and those of directories more.
	dir, err := os.OpenFile(machineDir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	for i := range ports {
		lock, err := lockFile(filepath.Join(machineDir, portFile(i)+".lock"))
		if errors.Is(err, filelock.ErrHeld) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), portFile(i)))
		if err != nil {
			lock.Close()
			return nil, nil, fmt.Errorf("reach the virtual machine: %w", err)
		}
		var once sync.Once
		return conn, func() { once.Do(func() { lock.Close() }) }, nil
	}
	return nil, nil, fmt.Errorf("%d commands run in the virtual machine already; wait until one ends", ports)
}
