package journal

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/hosttest"
)

// udev looks at a device that changed, for a moment: a node that the run added goes
// all the same. One that another run attached by then is theirs.
func TestANodeThatIsBusyForAMomentIsRemoved(t *testing.T) {
	hosttest.Exclusive(t)
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	const number = 199
	device, sys := fmt.Sprintf("/dev/loop%d", number), fmt.Sprintf("/sys/block/loop%d", number)
	if err := unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_ADD, number); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, number) })
	looked, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { looked.Close() })
	if err := (&Loop{Number: number, Backing: "/nowhere", Created: true}).undo(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sys); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", device, err)
	}
}
