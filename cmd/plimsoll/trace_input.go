package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/inputfile"
)

// openInput opens a file of a capture: a regular file, or a named pipe, whose
// writer is waited for until ctx ends. Devices have no end, and are refused.
func openInput(ctx context.Context, name string) (*os.File, io.Reader, error) {
	f, err := inputfile.Open(name)
	if err == nil {
		return f, f, nil
	}
	var other *inputfile.NotRegular
	if !errors.As(err, &other) || other.Mode&fs.ModeNamedPipe == 0 {
		return nil, nil, err
	}
	f, err = os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeNamedPipe == 0 {
		err = fmt.Errorf("%s: it became %s while it was opened", name, inputfile.Kind(info.Mode()))
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, &patientPipe{ctx: ctx, file: f, ends: ctx.Err}, nil
}

// standardInputReader returns a reader of standard input. Ctrl-C also ends the writing program, whose last output is
// still read; a writer that lives on without output is not waited for.
func standardInputReader(ctx context.Context) (io.Reader, error) {
	info, err := os.Stdin.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return os.Stdin, nil
	case mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0, isTerminal(os.Stdin):
	default:
		return nil, fmt.Errorf("standard input: it is %s, which is not read: a pipe or a file is needed",
			inputfile.Kind(mode))
	}
	return &patientPipe{ctx: ctx, file: os.Stdin, grace: lastWords, most: lastSpeech,
		ends: func() error { return io.EOF }}, nil
}

// lastWords is how long a writer that was interrupted is waited for when it says
// nothing, and lastSpeech how long it is listened to.
const (
	lastWords  = 3 * time.Second
	lastSpeech = 10 * time.Second
)

// untilInterrupted reads until ctx ends.
type untilInterrupted struct {
	ctx  context.Context
	from io.Reader
}

func (r *untilInterrupted) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(into)
}

// patientPipe waits for a pipe's input. After ctx has ended, each wait is limited to grace, and all to most; then it
// returns the error of ends.
type patientPipe struct {
	ctx         context.Context
	file        *os.File
	grace, most time.Duration
	ends        func() error

	ended time.Time // when the end of ctx was noticed
}

// pollInterval is how often a waiting pipe checks whether ctx has ended.
const pollInterval = 100 * time.Millisecond

func (r *patientPipe) Read(into []byte) (int, error) {
	var silent time.Time // since when, after ctx ended
	for {
		if r.ctx.Err() != nil {
			if r.ended.IsZero() {
				r.ended = time.Now()
			}
			if time.Since(r.ended) > r.most {
				return 0, r.ends()
			}
		}
		some, err := readable(r.file, pollInterval)
		if err != nil {
			return 0, err
		}
		if some {
			return r.file.Read(into)
		}
		switch {
		case r.ctx.Err() == nil:
		case silent.IsZero() && r.grace > 0:
			silent = time.Now()
		case time.Since(silent) >= r.grace:
			return 0, r.ends()
		}
	}
}

// readable waits for what can be read of a file, or for its end.
func readable(f *os.File, most time.Duration) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var n int
	var failed error
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, failed = unix.Poll(polled, int(most.Milliseconds()))
	})
	if errors.Is(failed, unix.EINTR) {
		return false, err
	}
	return n > 0, errors.Join(err, failed)
}
