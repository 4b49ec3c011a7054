package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
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
	if err := (&loopChange{Number: number, Backing: "/nowhere", Created: true}).Undo(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sys); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", device, err)
	}
}

func TestUndoTouchesOnlyDevicesOfItsOwn(t *testing.T) {
	t.Run("a loop device on another file", func(t *testing.T) {
		hosttest.Exclusive(t)
		file := filepath.Join(t.TempDir(), "theirs.img")
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		device := hosttest.Loop(t, file)
		var number int
		if _, err := fmt.Sscanf(device, "/dev/loop%d", &number); err != nil {
			t.Fatal(err)
		}
		ours := &loopChange{Number: number, Backing: filepath.Join(t.TempDir(), "ours.img")}
		if err := ours.Undo(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if !(&loopChange{Number: number, Backing: file}).attached() {
			t.Error("their loop device was detached")
		}
	})
	t.Run("a file system with another UUID", func(t *testing.T) {
		disk := filepath.Join(t.TempDir(), "disk.img")
		if err := os.WriteFile(disk, make([]byte, 8<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		const theirs = "11111111-2222-3333-4444-555555555555"
		if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-U", theirs, disk).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		signature := func() bool { return exec.Command("blkid", "-p", disk).Run() == nil }
		if err := (&mkfsChange{Device: disk, Type: "ext4", UUID: "99999999-2222-3333-4444-555555555555"}).Undo(t.Context(), ""); err != nil || !signature() {
			t.Fatalf("their file system was wiped (%v)", err)
		}
		if err := (&mkfsChange{Device: disk, Type: "ext4", UUID: theirs}).Undo(t.Context(), ""); err != nil || signature() {
			t.Fatalf("our file system stays (%v)", err)
		}
	})
}
