package container

import (
	"encoding/json"
	"fmt"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// ringCalls are the system calls of io_uring, which Docker's profile refuses from version 25 on.
var ringCalls = []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}

// ringProfile returns Docker's seccomp profile with the system calls of io_uring, as JSON that any engine takes. What
// else the profile refuses stays refused.
func ringProfile() (string, error) {
	profile := seccomp.DefaultProfile()
	profile.Syscalls = append(profile.Syscalls,
		&seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{Names: ringCalls, Action: specs.ActAllow}})
	text, err := json.Marshal(profile)
	if err != nil {
		return "", fmt.Errorf("seccomp profile for io_uring: %w", err)
	}
	return string(text), nil
}
