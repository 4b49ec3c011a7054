package sudouser

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Drop changes this process, for good, to the user behind sudo, or to root without capabilities where there is none.
// It does nothing if the process is not root. Open files stay open.
func Drop() error {
	if os.Geteuid() != 0 {
		return nil
	}
	var atDeathOfParent int32
	_ = unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&atDeathOfParent)), 0, 0, 0)
	// Where this is built with cgo, one call cannot be made on all threads. Users are changed there, too.
	allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	if u, ok := Caller(); ok {
		if err := u.become(); err != nil {
			return fmt.Errorf("go on as user %d: %w", u.UID, err)
		}
	} else {
		head, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none[0])), 0)
	}
	// The kernel forgot it with the user.
	allThreads(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(atDeathOfParent), 0)
	return nil
}

// become changes the process's user and groups to u.
func (u User) become() error {
	if err := syscall.Setgroups(u.Groups()); err != nil {
		return err
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return err
	}
	return syscall.Setresuid(u.UID, u.UID, u.UID)
}

func allThreads(call, a, b, c uintptr) { _, _, _ = syscall.AllThreadsSyscall(call, a, b, c) }
