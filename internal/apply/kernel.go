package apply

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/cgroup"
)

// noLimit is less than what version 1 of cgroups holds where memory has no limit.
const noLimit = 1 << 62

// held is what the kernel of this host holds a container to.
type held struct {
	known  bool
	limits Limits // without Pids and Device
}

// readHeld reads the cgroups of a container. They are not known where its engine is on another host, or in a
// virtual machine that a socket of this one leads to: its process is not one of this host then. Nor are they of a
// process that has ended, which its engine may hear of later: its groups go at any time.
func (e Engine) readHeld(id string, pid int, device string) (held, error) {
	h, err := e.readGroups(id, pid, device)
	if (h.known || err != nil) && ended(pid) {
		return held{}, nil
	}
	return h, err
}

// ended reports whether a process of this host has ended, also where nothing has waited for it yet.
func ended(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	return bytes.HasPrefix(state, []byte("Z")) || bytes.HasPrefix(state, []byte("X"))
}

// readGroups is readHeld of a process that runs.
func (e Engine) readGroups(id string, pid int, device string) (held, error) {
	if pid <= 0 || !strings.HasPrefix(e.Host, "unix://") {
		return held{}, nil
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !bytes.Contains(groups, []byte(id)) {
		return held{}, nil // another host's, or it has ended
	}
	g, err := cgroup.Of(pid)
	if err != nil {
		return held{}, fmt.Errorf("engine %s: cgroups of container %s: %w", e.Name, id, err)
	}
	var devices []string
	if device != "" {
		var st unix.Stat_t
		if err := unix.Stat(device, &st); err != nil {
			return held{}, fmt.Errorf("engine %s: device %s, which container %s is limited on: %w", e.Name, device, id, err)
		}
		devices = []string{fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))}
	}
	l, err := g.Limits(devices)
	if err != nil {
		return held{}, fmt.Errorf("engine %s: limits of container %s: %w", e.Name, id, err)
	}
	return held{true, Limits{NanoCPUs: int64(l.CPUs * 1e9), MemoryBytes: l.MemoryBytes,
		ReadBytes: l.Read.BytesPerSecond, WriteBytes: l.Write.BytesPerSecond,
		ReadRequests: l.Read.OperationsPerSecond, WriteRequests: l.Write.OperationsPerSecond}}, nil
}

// differs says which planned limit the kernel does not hold; "" for none. io is whether it is one of I/O.
func (h held) differs(want Limits) (why string, io bool) {
	if !h.known {
		return "", false
	}
	has := h.limits
	for _, l := range []struct {
		resource   string
		held, want float64
		io         bool
	}{
		{"bytes read a second", float64(has.ReadBytes), float64(want.ReadBytes), true},
		{"bytes written a second", float64(has.WriteBytes), float64(want.WriteBytes), true},
		{"reads a second", float64(has.ReadRequests), float64(want.ReadRequests), true},
		{"writes a second", float64(has.WriteRequests), float64(want.WriteRequests), true},
		{"CPUs", float64(has.NanoCPUs) / 1e9, float64(want.NanoCPUs) / 1e9, false},
		{"memory", float64(has.MemoryBytes), float64(want.MemoryBytes), false},
	} {
		// Kernels round memory to pages, and time of processors to microseconds. What the plan does not limit may have
		// the limits of a group above.
		if l.want == 0 || math.Abs(l.held-l.want) <= 0.01*l.want {
			continue
		}
		text := "none"
		if l.held > 0 && l.held < noLimit {
			text = number(l.held)
		}
		return fmt.Sprintf("limit of %s: the kernel holds %s, and %s is planned", l.resource, text, number(l.want)), l.io
	}
	return "", false
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
