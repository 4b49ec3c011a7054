package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followEvery is how often a growing output is looked at: often enough not to
// matter beside the intervals at which workloads tell of themselves.
const followEvery = 50 * time.Millisecond

// follower hands on what a process appends to a file.
type follower struct {
	enough chan struct{} // closed when the taker has had enough
	err    error         // once end returned

	path  string
	take  func([]byte) bool
	stop  chan struct{} // closed when the process ended
	ended chan struct{}
	file  *os.File
	asked bool
}

func startFollower(path string, take func([]byte) bool) *follower {
	f := &follower{
		enough: make(chan struct{}), path: path, take: take,
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go f.run()
	return f
}

func (f *follower) run() {
	defer close(f.ended)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for last := false; !last && f.err == nil; {
		select {
		case <-f.stop:
			last = true
		case <-tick.C:
		}
		f.err = f.look()
	}
	if f.file != nil {
		f.file.Close()
	}
}

// look hands on what is new.
func (f *follower) look() error {
	if f.file == nil {
		file, err := os.Open(f.path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // the process has not written yet, or never will: that is told by who reads the outputs
		}
		if err != nil {
			return fmt.Errorf("follow the output of a process: %w", err)
		}
		f.file = file
	}
	appended, err := io.ReadAll(f.file)
	if err != nil {
		return fmt.Errorf("follow %s: %w", f.path, err)
	}
	if len(appended) > 0 && f.take(appended) && !f.asked {
		f.asked = true
		close(f.enough)
	}
	return nil
}

// end waits until everything was handed on, after the process ended, and
// tells whether it was asked to.
func (f *follower) end() (asked bool) {
	close(f.stop)
	<-f.ended
	return f.asked
}
