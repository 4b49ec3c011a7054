package container

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The profile for io_uring permits it, and refuses what Docker's refuses.
func TestProfileForIOURing(t *testing.T) {
	text, err := ringProfile()
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		DefaultAction string
		Syscalls      []struct {
			Names    []string
			Action   string
			Includes struct{ Caps []string }
		}
	}
	if err := json.Unmarshal([]byte(text), &profile); err != nil {
		t.Fatal(err)
	}
	permitted := func(name string) bool { // to a container without capabilities
		for _, s := range profile.Syscalls {
			if s.Action == "SCMP_ACT_ALLOW" && len(s.Includes.Caps) == 0 && slices.Contains(s.Names, name) {
				return true
			}
		}
		return false
	}
	if profile.DefaultAction != "SCMP_ACT_ERRNO" || !permitted("read") {
		t.Errorf("it is not Docker's: %s", profile.DefaultAction)
	}
	for _, name := range ringCalls {
		if !permitted(name) {
			t.Errorf("%s is refused", name)
		}
	}
	for _, name := range []string{"keyctl", "bpf", "mount", "userfaultfd", "kexec_load", "open_by_handle_at"} {
		if permitted(name) {
			t.Errorf("%s is permitted", name)
		}
	}
}

// Engines take the profile, and hold containers to it.
func TestContainerWithIOURing(t *testing.T) {
	b := newBench(t)
	_, c := b.mustRun(t, "overlay2", ContainerConfig{WorkingDir: "/data", Ring: true})
	for _, argv := range [][]string{
		{"sh", "-c", "while read name value; do [ $name = Seccomp: ] && exit $((value - 2)); done < /proc/self/status; " +
			"exit 9"},
		{"fio", "--name=x", "--filename=/data/x", "--size=1m", "--rw=randread", "--ioengine=io_uring"},
	} {
		exit, err := c.Exec(t.Context(), argv, "")
		if err != nil || exit.Code != 0 {
			t.Errorf("%s: %v, %+v", strings.Join(argv, " "), err, exit)
		}
	}
}
