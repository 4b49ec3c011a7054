package loader

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedCalls are system calls that no server needs: those of Docker's own profile that it refuses without
// capabilities. Keys are among them since a user's are in no namespace.
var refusedCalls = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME,
	unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_IO_URING_SETUP, unix.SYS_KCMP, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIVOT_ROOT,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PTRACE, unix.SYS_QUOTACTL, unix.SYS_REBOOT,
	unix.SYS_REQUEST_KEY, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG,
	unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
	unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// architectures maps the architecture to the one of its system calls in seccomp.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Where the kernel's struct seccomp_data has what is looked at: on little endian.
const (
	callAt         = 0
	architectureAt = 4
	firstArgument  = 16
)

// x32Calls is where the numbers of amd64's x32 system calls begin.
const x32Calls = 0x40000000

// filterCalls makes the kernel refuse system calls from now on, irrevocably, where it supports that.
func filterCalls() error {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil
	}
	filter := callFilter(architecture)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	if errors.Is(err, unix.EINVAL) {
		return nil // a kernel without seccomp: the rest holds all the same
	}
	if err != nil {
		return fmt.Errorf("set a filter: %w", err)
	}
	return nil
}

// callFilter is the filter as a program for the kernel.
func callFilter(architecture uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(how uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	fail := func(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	filters := []unix.SockFilter{
		load(architectureAt), jump(unix.BPF_JEQ, architecture, 1, 0), fail(unix.EPERM),
		load(callAt), jump(unix.BPF_JGE, x32Calls, 0, 1), fail(unix.EPERM),
		// Its flags are in memory, which no filter reads; libraries take clone where it is not there.
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), fail(unix.ENOSYS),
	}
	for _, call := range refusedCalls {
		filters = append(filters, jump(unix.BPF_JEQ, call, 0, 1), fail(unix.EPERM))
	}
	return append(filters,
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 3), load(firstArgument),
		jump(unix.BPF_JSET, newNamespaces, 0, 1), fail(unix.EPERM),
		end(unix.SECCOMP_RET_ALLOW))
}
