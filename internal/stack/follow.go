package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followEvery is the interval at which a growing output is read: short compared with the intervals at which workloads
// report.
const followEvery = 50 * time.Millisecond

// follower passes on the bytes that a process appends to a file.
type follower struct {
	enough chan struct{} // closed when take has returned true
	err    error         // once end returned

	files *os.Root // that the process writes to
	name  string
	take  func([]byte) bool
	stop  chan struct{} // closed when the process ended
	ended chan struct{}
	file  *os.File
	asked bool
}

func startFollower(files *os.Root, name string, take func([]byte) bool) *follower {
	f := &follower{
		enough: make(chan struct{}), files: files, name: name, take: take,
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
		f.err = f.poll()
	}
	if f.file != nil {
		f.file.Close()
	}
}

// poll passes on new bytes.
func (f *follower) poll() error {
	if f.file == nil {
		file, err := openOutput(f.files, f.name)
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
		return fmt.Errorf("follow %s: %w", f.name, err)
	}
	if len(appended) > 0 && f.take(appended) && !f.asked {
		f.asked = true
		close(f.enough)
	}
	return nil
}

// end waits until all output has been passed on, after the process ended. It reports whether take asked the process
// to end.
func (f *follower) end() (asked bool) {
	close(f.stop)
	<-f.ended
	return f.asked
}
