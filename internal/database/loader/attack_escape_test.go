package loader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/image"
	"plimsoll/internal/testkit/hosttest"
)

// hostUser is a user of this host, whose UID a hostile image names.
const hostUser = 54321

// sharedKey is that of a memory segment of hers.
const sharedKey = 0x504c494d

// reach lists what a hostile program of an image could access.
type reach struct {
	UID       int
	Processes []string // of the host's: those that /proc has
	Secrets   []string // what it read, by which way
	Open      []string // files that it was given
	Groups    []int
	Status    map[string]string // what the kernel says of it
	Calls     []string          // that it could make
}

// attack is the hostile program: it tries what the UID of the host's user, and files left open, might allow,
// and prints what it reached. Its argument is the path of a secret on the host.
func attack(args []string) {
	r := reach{UID: os.Getuid(), Status: map[string]string{}}
	r.Groups, _ = os.Getgroups()
	self := fmt.Sprint(os.Getpid())
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" && e.Name() != self {
			r.Processes = append(r.Processes, e.Name())
		}
	}
	up := strings.Repeat("../", 20)
	ways, _ := filepath.Glob("/proc/[0-9]*/root")
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	ways = append(append(ways, dirs...), "/", up)
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		to, _ := os.Readlink(file)
		fd, _ := strconv.Atoi(filepath.Base(file))
		if fd > 2 && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") && to != "" {
			r.Open = append(r.Open, to)
		}
		ways = append(ways, file, file+"/"+up)
	}
	for _, way := range ways {
		if text, err := os.ReadFile(way + args[0]); err == nil {
			r.Secrets = append(r.Secrets, way+": "+string(text))
		}
	}
	if id, _, errno := unix.Syscall(unix.SYS_SHMGET, sharedKey, 4096, 0); errno == 0 {
		r.Secrets = append(r.Secrets, fmt.Sprint("shared memory ", id))
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		r.Status[name] = value
	}
	r.Calls = callsMade()
	_ = json.NewEncoder(os.Stdout).Encode(r)
	os.Exit(7)
}

// callsMade returns which of the kernel's calls that lead to its less trodden parts are let through. Each has
// arguments that the kernel would refuse in another way.
func callsMade() (all []string) {
	bad := uintptr(unsafe.Pointer(nil))
	for _, call := range []struct {
		name   string
		number uintptr
		args   [3]uintptr
	}{
		{"keyctl", unix.SYS_KEYCTL, [3]uintptr{unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0}}, // the user's keyring
		{"unshare", unix.SYS_UNSHARE, [3]uintptr{unix.CLONE_FS, 0, 0}},
		{"bpf", unix.SYS_BPF, [3]uintptr{9999, bad, 0}},
		{"ptrace", unix.SYS_PTRACE, [3]uintptr{unix.PTRACE_TRACEME, 0, 0}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [3]uintptr{1, bad, 0}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [3]uintptr{bad, 0, 0}},
		{"clone of a user namespace", unix.SYS_CLONE, [3]uintptr{unix.CLONE_NEWUSER | unix.CLONE_THREAD, 0, 0}},
	} {
		if _, _, errno := unix.RawSyscall(call.number, call.args[0], call.args[1], call.args[2]); errno != unix.EPERM {
			all = append(all, fmt.Sprintf("%s (%v)", call.name, errno))
		}
	}
	return all
}

// hostile is a loader's configuration whose image has the hostile program, in the place of env.
func hostile(t *testing.T, output *bytes.Buffer, argv ...string) Config {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "image/usr/bin/env")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "scratch"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Config{Root: filepath.Join(dir, "image"), Dir: filepath.Join(dir, "data"),
		Scratch: filepath.Join(dir, "scratch"),
		Account: image.Account{UID: hostUser, GID: hostUser}, Log: output,
		Plan: database.LoadPlan{Client: "postgresql", At: database.Address{Socket: "server/socket"},
			Dataset: dataset, Ends: "TERM", Make: [][]string{argv}, Serve: []string{"serve"}}}
}

// A program of an image that says it is a user of this host reaches nothing of hers, although she has a process, a
// memory segment and a private file here, and plimsoll was started with a directory of the host open.
func TestAttackImageProgramIsAHostUser(t *testing.T) {
	hosttest.Exclusive(t)
	dir, err := os.MkdirTemp("/var/tmp", "plimsoll-attack-") // a path that others may go through
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("PRIVATE"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, dir} {
		if err := os.Chown(path, hostUser, hostUser); err != nil {
			t.Fatal(err)
		}
	}
	hers := exec.Command("sleep", "600")
	hers.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: hostUser, Gid: hostUser}}
	if err := hers.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hers.Process.Kill(); _ = hers.Wait() })
	shareMemory(t)
	left, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // not closed by exec
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(left) })

	output := &bytes.Buffer{}
	runErr := Run(t.Context(), hostile(t, output, secret))
	var r reach
	if err := json.Unmarshal(output.Bytes(), &r); err != nil {
		t.Fatalf("it says %q, and ends with %v", output, runErr)
	}
	if r.UID != hostUser || len(r.Groups) > 0 {
		t.Errorf("it runs as user %d in groups %v", r.UID, r.Groups)
	}
	if len(r.Processes) > 0 || len(r.Secrets) > 0 || len(r.Open) > 0 {
		t.Errorf("it sees processes %v, reads %q, has open %q", r.Processes, r.Secrets, r.Open)
	}
	for name, want := range map[string]string{"CapInh": "0000000000000000", "CapPrm": "0000000000000000",
		"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1"} {
		if r.Status[name] != want {
			t.Errorf("%s is %q and not %s", name, r.Status[name], want)
		}
	}
	if _, err := os.Stat("/proc/sys/kernel/seccomp"); err != nil {
		t.Skip("this kernel has no filters of system calls")
	}
	if r.Status["Seccomp"] != "2" || len(r.Calls) > 0 {
		t.Errorf("seccomp is %q, and it may call %q", r.Status["Seccomp"], r.Calls)
	}
}

// shareMemory makes a memory segment that the host's user may use.
func shareMemory(t *testing.T) {
	t.Helper()
	id, _, errno := unix.Syscall(unix.SYS_SHMGET, sharedKey, 4096, 0o666|unix.IPC_CREAT|unix.IPC_EXCL)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
}

// The filter refuses each of its calls, lets others through, and knows no other architecture.
func TestCallFilter(t *testing.T) {
	filter := callFilter(unix.AUDIT_ARCH_X86_64)
	const allowed, refused, missing = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM),
		unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	for _, c := range []struct {
		name                            string
		architecture, call, flags, want uint32
	}{
		{"read", unix.AUDIT_ARCH_X86_64, unix.SYS_READ, 0, allowed},
		{"a thread", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, allowed},
		{"namespaces", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, unix.CLONE_NEWUSER, refused},
		{"clone3", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE3, 0, missing},
		{"x32", unix.AUDIT_ARCH_X86_64, x32Calls | unix.SYS_READ, 0, refused},
		{"another architecture", unix.AUDIT_ARCH_I386, unix.SYS_READ, 0, refused},
	} {
		if got := verdict(filter, c.architecture, c.call, c.flags); got != c.want {
			t.Errorf("%s: %#x and not %#x", c.name, got, c.want)
		}
	}
	for _, call := range refusedCalls {
		if got := verdict(filter, unix.AUDIT_ARCH_X86_64, call, 0); got != refused {
			t.Errorf("call %d: %#x", call, got)
		}
	}
	if len(filter) > unix.BPF_MAXINSNS {
		t.Errorf("it has %d instructions, more than the kernel takes", len(filter))
	}
}

// verdict follows a filter as the kernel does.
func verdict(filter []unix.SockFilter, architecture, call, flags uint32) uint32 {
	var a uint32
	for pc := 0; ; pc++ {
		i := filter[pc]
		next := uint8(0)
		choose := func(yes bool) {
			if next = i.Jf; yes {
				next = i.Jt
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = map[uint32]uint32{callAt: call, architectureAt: architecture, firstArgument: flags}[i.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			choose(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			choose(a >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			choose(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		}
		pc += int(next)
	}
}
