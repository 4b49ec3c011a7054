package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

func init() { journal.Register("loop", func() journal.Change { return new(loopChange) }) }

// loopChange is a loop device attached to a file that the run made.
type loopChange struct {
	Number  int
	Backing string
	Created bool // the run added the device node too
	// Device and Inode are of the backing file, which keeps them when it, or a directory above it, gets another name.
	// Both are 0 in journals of versions that knew the name alone.
	Device, Inode uint64
}

// What implements Change.
func (c *loopChange) What() string {
	return fmt.Sprintf("attach /dev/loop%d to %s", c.Number, c.Backing)
}

// Prepare implements Change.
func (c *loopChange) Prepare() error { return journal.RealPath(&c.Backing) }

// Check implements Change.
func (c *loopChange) Check(s journal.Scope) error {
	if c.Number < 0 {
		return s.Foreign("there is no loop device %d", c.Number)
	}
	return s.Owns(c.Backing)
}

// Undo implements Change.
func (c *loopChange) Undo(ctx context.Context, _ string) error {
	err := journal.Retry(ctx, func(context.Context) error { return c.detach() })
	if err != nil {
		return fmt.Errorf("%w: something still uses the device (see /sys/block/loop%d/holders and fuser -v /dev/loop%d)",
			err, c.Number, c.Number)
	}
	if !c.Created {
		return nil
	}
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer ctl.Close()
	for deadline := time.Now().Add(nodeLimit); ; {
		err := unix.IoctlSetInt(int(ctl.Fd()), unix.LOOP_CTL_REMOVE, c.Number)
		switch {
		case err == nil || errors.Is(err, unix.ENODEV):
			return nil
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("remove /dev/loop%d: %w", c.Number, err)
		case c.inUse() || time.Now().After(deadline) || journal.Pause(ctx, 20*time.Millisecond) != nil:
			return nil // another run uses the node by now, and may keep it
		}
	}
}

// nodeLimit bounds the wait for a busy node that only udev examines after a change.
const nodeLimit = 5 * time.Second

// inUse reports whether the device is attached to a file, of whomever.
func (c *loopChange) inUse() bool {
	_, err := os.Stat(filepath.Join("/sys/block", "loop"+strconv.Itoa(c.Number), "loop/backing_file"))
	return err == nil
}

// detach frees the device when it is attached to our file, and succeeds when
// it is not attached to it any more.
func (c *loopChange) detach() error {
	if !c.attached() {
		return nil
	}
	dev, err := os.OpenFile("/dev/loop"+strconv.Itoa(c.Number), os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0)
	dev.Close() // the kernel may detach only once the last user closes it
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detach /dev/loop%d: %w", c.Number, err)
	}
	if c.attached() {
		return fmt.Errorf("/dev/loop%d stays attached to %s", c.Number, c.Backing)
	}
	return nil
}

// attached reports whether the loop device still has the change's backing file.
func (c *loopChange) attached() bool {
	b, err := os.ReadFile(filepath.Join("/sys/block", "loop"+strconv.Itoa(c.Number), "loop/backing_file"))
	if err != nil {
		return false
	}
	if c.Inode == 0 {
		return strings.TrimSuffix(strings.TrimSpace(string(b)), " (deleted)") == c.Backing
	}
	dev, err := os.OpenFile("/dev/loop"+strconv.Itoa(c.Number), os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer dev.Close()
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	return err == nil && info.Device == c.Device && info.Inode == c.Inode
}
