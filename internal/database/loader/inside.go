package loader

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/image"
)

// InsideCommand is the name of the hidden command that becomes a program of an image: this program is the first
// process of the namespaces that the image's program gets, and gives up there what that does not need.
const InsideCommand = "become-image-program"

// inside is the argument of Inside.
type inside struct {
	Root    string // where the root is that enter made
	Account image.Account
	Env     []string
	Argv    []string // for env of the image
}

// Inside becomes a program of an image, with the configuration that start wrote. It returns only when it fails.
//
// The program may be hostile, and its UID may be that of a user of this host. So it sees no process, no IPC object,
// no mount and no open file of the host, gains no privileges when it executes programs, and may call only a part of
// the kernel.
func Inside(text string) error {
	var p inside
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read which program to become: %w", err)
	}
	runtime.LockOSThread() // rights and filters are a thread's; exec ends the others
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"close the host's files", closeFiles},
		{"leave the host's root", func() error { return leave(p.Root) }},
		{"get no new rights", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"drop capabilities", dropBounding},
		{"become user " + p.Account.String(), p.becomeUser},
		{"end with plimsoll", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) }},
		{"filter system calls", filterCalls},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	const program = "/usr/bin/env"
	err := unix.Exec(program, append([]string{program}, p.Argv...), p.Env)
	return &os.PathError{Op: "start in the image", Path: program, Err: err}
}

// closeFiles makes exec close all files but the standard ones: a directory of the host would be a way out.
func closeFiles() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, file := range open {
		if fd, err := strconv.Atoi(file.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// leave makes a directory the root of this mount namespace, with a /proc of this PID namespace, and unmounts all
// that was above it.
func leave(root string) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", flags, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	// The old root lies over the new one now, in a namespace that no change of the host is in.
	err := unix.Unmount(".", unix.MNT_DETACH) //nolint:forbidigo // no undo
	return errors.Join(err, unix.Chdir("/"))
}

// dropBounding drops all capabilities that an execution could give back.
func dropBounding() error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && capability > unix.CAP_SYS_RESOURCE {
			return nil // the kernel has no more
		}
		if err != nil {
			return err
		}
	}
}

// becomeUser becomes the account, in no group but its own and without any capability.
func (p *inside) becomeUser() error {
	uid, gid := p.Account.UID, p.Account.GID
	none := [2]unix.CapUserData{}
	return errors.Join(syscall.Setgroups(nil), syscall.Setresgid(gid, gid, gid), syscall.Setresuid(uid, uid, uid),
		unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]))
}
