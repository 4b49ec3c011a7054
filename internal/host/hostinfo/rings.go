package hostinfo

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/host/version"
	"plimsoll/internal/units"
)

// postgresqlRings is the number of rings that PostgreSQL 18 makes for 300 connections: one for each process that may
// read.
const postgresqlRings = 342

// A ring of 64 requests, as PostgreSQL makes it, has two pages. Other files of a server are sockets, logs and tables.
const (
	ringBytes  = 2 * 4096
	otherFiles = 64
)

// ringsUncounted is the first kernel that counts the memory of rings against the control group instead of memlock.
var ringsUncounted = version.Version{Major: 5, Minor: 12}

// Rings reports whether a server in a container can make so many rings: containers of a private engine have the limits
// of programs that this process starts.
func (h *Host) Rings(rings int) Item {
	i := Item{Name: "limits of io_uring in containers", OK: Yes}
	limits := h.calls.limits()
	files, filesText := softLimit(limits, "Max open files")
	locked, lockedText := softLimit(limits, "Max locked memory")
	kernel := version.Parse(readTrimmed(h.Roots.Proc, "sys/kernel/osrelease"))
	counted := !kernel.AtLeast(ringsUncounted)
	needBytes := int64(rings) * ringBytes
	if locked >= 0 {
		lockedText = units.FormatSize(locked)
	}
	memlock := "memlock " + lockedText
	if !counted {
		memlock += ", which has not counted rings since Linux " + ringsUncounted.String()
	}
	i.Value = fmt.Sprintf("%d rings, open files %s, %s", rings, filesText, memlock)
	switch {
	case limits == "":
		i.OK, i.Value = Unknown, ""
		i.Why, i.Remedy = "the limits of programs cannot be read", "install coreutils, and mount /proc"
	case files >= 0 && files < int64(rings+otherFiles):
		i.OK = No
		i.Why = fmt.Sprintf("each of %d rings is an open file, and %s are permitted", rings, filesText)
		i.Remedy = fmt.Sprintf("ulimit -n %d before plimsoll; --ulimit nofile=%[1]d for containers of yours; or fewer "+
			"connections", roundFiles(rings+otherFiles))
	case counted && locked >= 0 && locked < needBytes:
		i.OK = No
		i.Why = fmt.Sprintf("before Linux %s, rings count against memlock: %d need %s, and %s is permitted",
			ringsUncounted, rings, units.FormatSize(needBytes), lockedText)
		i.Remedy = fmt.Sprintf("ulimit -l %d before plimsoll; --ulimit memlock=%d for containers of yours; or a newer "+
			"kernel", needBytes>>10, needBytes)
	}
	return i
}

// roundFiles returns the next power of two.
func roundFiles(n int) int {
	size := 1024
	for size < n {
		size *= 2
	}
	return size
}

// softLimit returns a soft limit from the text of /proc/PID/limits, and the text itself; -1 for one that is not there,
// or unlimited.
func softLimit(limits, name string) (limit int64, text string) {
	for line := range strings.Lines(limits) {
		rest, found := strings.CutPrefix(line, name)
		if !found {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			break
		}
		if limit, err := strconv.ParseInt(fields[0], 10, 64); err == nil && limit >= 0 {
			return limit, fields[0]
		}
		return -1, "unlimited"
	}
	return -1, "unknown"
}
