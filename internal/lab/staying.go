package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
)

// controlFile is the socket of a lab that stays. Connecting to it ends the lab.
const controlFile = "control.sock"

// NotUpError is returned where no lab is up.
type NotUpError struct{}

// Is reports whether target is problem.Invalid: there is no lab to enter.
func (NotUpError) Is(target error) bool { return target == problem.Invalid }

func (NotUpError) Error() string {
	return "no lab is up: plimsoll lab up brings one up, and plimsoll lab run needs none"
}

// Stay is the process of a lab that stays up. It starts the machines and calls ready. It ends the machines when Down
// asks for it, when ctx ends, and when a machine ends by itself.
func Stay(ctx context.Context, o Options, ready func(*Lab)) error {
	l, err := Start(ctx, o, upName)
	if errors.Is(err, os.ErrExist) {
		return errors.New("a lab is up already: plimsoll lab shell goes into it, plimsoll lab down ends it")
	}
	if err != nil {
		return err
	}
	defer l.Close()
	requested, err := l.control()
	if err != nil {
		return err
	}
	ready(l)
	select {
	case <-requested:
	case <-ctx.Done():
	case <-l.Ended():
		return errors.New(l.Why())
	}
	return l.Close()
}

// control listens for requests to end the lab.
func (l *Lab) control() (<-chan struct{}, error) {
	dir, err := os.OpenFile(l.Dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	listener, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), controlFile))
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // its directory is removed as a whole
	requested := make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_ = conn.Close() // nothing is said on it
		}
		_ = listener.Close() // once is enough
		close(requested)
	}()
	return requested, nil
}

// Up returns the directory of a machine of the lab that stays, or a NotUpError.
func Up(ctx context.Context, dir, name string) (string, error) {
	if err := Sweep(ctx, dir); err != nil {
		return "", err
	}
	up := filepath.Join(dir, "vms", upName)
	if _, err := os.Stat(up); err != nil {
		return "", NotUpError{}
	}
	machine := filepath.Join(up, name)
	if _, err := os.Stat(machine); err != nil {
		return "", fmt.Errorf("the lab that is up has no machine %q: lab up makes more of them with --with-%s and --with-%s",
			name, Target, Client)
	}
	return machine, nil
}

// Down ends the lab that stays, and returns when it is gone.
func Down(ctx context.Context, dir string) error {
	if _, err := Up(ctx, dir, "."); err != nil {
		return err
	}
	up := filepath.Join(dir, "vms", upName)
	dirFD, err := os.OpenFile(up, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dirFD.Close()
	conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dirFD.Fd(), controlFile))
	if err != nil {
		return fmt.Errorf("show the lab in %s to end: %w (is it still starting?)", up, err)
	}
	_ = conn.Close() // nothing is said on it
	for {
		if _, err := os.Stat(up); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if _, err := os.Stat(filepath.Join(up, keptFile)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// waitFor waits until a file is there, or what makes it has ended.
func waitFor(ctx context.Context, name string, ended <-chan struct{}) error {
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return errors.New("it was not made")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
