package loadgen

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper sleeps for one goroutine.
type sleeper interface {
	// sleep returns after d, or at once when the sleeper is or was woken.
	sleep(d time.Duration)
	// wake ends the sleep of now, and all that come. It may be called by anyone.
	wake()
	close()
}

// kernelTimer is the sleeper of loads; tests have one on a clock of their own.
type kernelTimer struct {
	fd    int
	timer *os.File
}

func newKernelTimer() (sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	return &kernelTimer{fd: fd, timer: os.NewFile(uintptr(fd), "timer")}, nil
}

func (s *kernelTimer) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if unix.TimerfdSettime(s.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil) != nil {
		time.Sleep(d) // which is late, and better than not at all
		return
	}
	var expired [8]byte
	_, _ = s.timer.Read(expired[:]) // fails when it is woken
}

func (s *kernelTimer) wake() { _ = s.timer.SetReadDeadline(time.Unix(1, 0)) }

func (s *kernelTimer) close() { _ = s.timer.Close() }
