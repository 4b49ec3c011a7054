package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Gate starts several steps at the same moment, regardless of how long each takes to start. A step's process first
// reads its Gate file, a FIFO that is opened once all processes wait for it.
type Gate struct {
	mu     sync.Mutex // guards waited
	waited int        // for so many processes
	open   chan struct{}
}

// NewGate returns a gate for so many steps.
func NewGate(steps int) *Gate { return &Gate{waited: steps, open: make(chan struct{})} }

// ticket returns what notes that a process is at the gate, or that it never will be;
// once, however often it is called. Of a nil gate it does nothing.
func (g *Gate) ticket() (arrive func()) {
	var once sync.Once
	return func() {
		if g == nil {
			return
		}
		once.Do(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.waited--
			if g.waited == 0 {
				close(g.open)
			}
		})
	}
}

// gateStep is the polling interval for a process at its FIFO.
const gateStep = 2 * time.Millisecond

// hold makes a FIFO of a step's file and hands its content over once the gate opens.
// end is called when the process has ended: it leaves the file as it would have been
// without a gate.
func (g *Gate) hold(
	ctx context.Context, arrive func(), files *os.Root, name string, content []byte,
) (end func() error, err error) {
	dir, err := files.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	err = unix.Mkfifoat(int(dir.Fd()), name, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make %s, which holds a process back until all are there: %w", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- g.pass(ctx, arrive, files, name, content) }()
	return func() error {
		cancel()
		err := <-done
		return errors.Join(err, files.Remove(name), files.WriteFile(name, content, 0o644))
	}, nil
}

// pass waits for the process, and then for all others.
func (g *Gate) pass(ctx context.Context, arrive func(), files *os.Root, name string, content []byte) error {
	defer arrive() // nobody waits for one that never came
	var fifo *os.File
	for fifo == nil {
		opened, err := files.OpenFile(name, os.O_WRONLY|unix.O_NONBLOCK, 0)
		switch {
		case err == nil:
			fifo = opened
		case !errors.Is(err, unix.ENXIO) && !errors.Is(err, unix.EINTR): // ENXIO: no process reads it yet
			return fmt.Errorf("open %s: %w", name, err)
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(gateStep):
			}
		}
	}
	defer fifo.Close()
	arrive()
	select {
	case <-ctx.Done():
		return nil
	case <-g.open:
	}
	_, err := fifo.Write(content)
	if errors.Is(err, unix.EPIPE) {
		return nil // it ended, and says why
	}
	return err
}
