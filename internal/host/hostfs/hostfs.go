// Package hostfs says where the files are that the kernel offers: every package that reads /proc or /sys takes
// Roots, so that recorded trees of files test it, and a container may look at its host through /host/proc.
//
// Hazards. Other roots change what is read from files, not what system calls answer.
package hostfs

import (
	"path/filepath"
	"strings"
)

// Roots are the directories below which the kernel's files are.
type Roots struct {
	Proc string // "/proc"
	Sys  string // "/sys"; control groups are mounted below it
}

// Default returns the roots of the host that this process runs on.
func Default() Roots { return Roots{Proc: "/proc", Sys: "/sys"} }

// InProc returns the path of a file below proc.
func (r Roots) InProc(elem ...string) string { return filepath.Join(r.Proc, filepath.Join(elem...)) }

// InSys returns the path of a file below sysfs.
func (r Roots) InSys(elem ...string) string { return filepath.Join(r.Sys, filepath.Join(elem...)) }

// Path returns where a path of the host is found from here: other roots take the place of /proc and /sys, as in the
// mount points that a recorded mountinfo names. Any other path stays what it is.
func (r Roots) Path(path string) string {
	if rest, ok := strings.CutPrefix(path, "/proc/"); ok {
		return r.InProc(rest)
	}
	if rest, ok := strings.CutPrefix(path, "/sys/"); ok {
		return r.InSys(rest)
	}
	return path
}
