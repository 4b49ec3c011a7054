package hosttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Loop attaches a loop device to a file until the test ends, with what more is
// given to losetup, and returns its path. A device that the kernel had to add,
// because all others are in use or it has none to begin with, is removed again.
func Loop(t testing.TB, file string, options ...string) (device string) {
	t.Helper()
	present := loops(t)
	device = losetup(t, append(options, "--find", "--show", file)...)
	t.Cleanup(func() {
		if attachedTo(device, file) {
			losetup(t, "--detach", device)
		}
		if !present[device] {
			remove(t, device)
		}
	})
	return device
}

// Quiet keeps udev from reading a device until the test ends: it looks for what is
// on a device when that appears, and whenever somebody who could write to it closes
// it. A test that counts what the device did has to ask for it. Whoever holds the
// lock of a device is left alone: see systemd's "Locking Block Device Access".
func Quiet(t testing.TB, device string) {
	t.Helper()
	if _, err := os.Stat("/run/udev/control"); err == nil {
		if out, err := exec.Command("udevadm", "settle").CombinedOutput(); err != nil {
			t.Fatalf("udevadm settle: %v: %s", err, out)
		}
	}
	f, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

func losetup(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("losetup", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// loops returns all loop devices, in use or not.
func loops(t testing.TB) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("/sys/block/loop*")
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]bool{}
	for _, path := range paths {
		devices["/dev/"+filepath.Base(path)] = true
	}
	return devices
}

// attachedTo reports whether a loop device is attached to a file: the test may
// have detached it, and another program attached it to something of its own.
func attachedTo(device, file string) bool {
	backing, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	return err == nil && strings.TrimSuffix(strings.TrimSpace(string(backing)), " (deleted)") == file
}

// remove has the kernel forget a loop device. One that another program goes on
// using stays.
func remove(t testing.TB, device string) {
	t.Helper()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer control.Close()
	number, err := strconv.Atoi(strings.TrimPrefix(device, "/dev/loop"))
	if err != nil {
		t.Error(err)
		return
	}
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, number)
		if err == nil || errors.Is(err, unix.ENODEV) {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			t.Logf("%s stays: %v", device, err)
			return
		}
	}
}
