package finding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload/fio"
)

const (
	nodeExt4  = "ext4"
	nodeXFS   = "xfs"
	nodeBtrfs = "btrfs"
)

// manyJobs is how many jobs it takes at least to contend for a lock as the
// papers' 32 do: MSST'17 calls 16 parallel jobs a high load (section 5.5).
const manyJobs = 16

// fileSystemClaims are those of MSST'17, section 5.1.
var fileSystemClaims = []claimRule{
	{"fs-xfs-near-raw", "host-filesystems",
		"xfs lets many threads read and write a file in parallel, and has no central resource but its log",
		pairTest{
			loads:   []wanted{highLoad("RR", 1), highLoad("SR", 1), highLoad("SW", 1)},
			subject: func(_ *view, s *stack) bool { return hosts(s.line, nodeXFS) },
			against: deviceBelow,
		}.test},
	{"fs-xfs-rw-worse", "write-scaling",
		"writers of one file contend for an exclusive lock of xfs",
		pairTest{
			loads:   []wanted{highLoad("RW", 32)},
			subject: func(_ *view, s *stack) bool { return hosts(s.line, nodeXFS) },
			against: deviceBelow,
		}.test},
	{"fs-xfs-rw-cliff", "write-scaling",
		"writers of one file contend for an exclusive lock of xfs, the more the more there are; ext4 has finer locks",
		func(v *view, c claims.Claim) []claimCase {
			return curveTest{
				subject: func(s *stack) bool { return hosts(s.line, nodeXFS) },
				sweep:   jobsSweep,
				place:   c.Value.Low,
				falls:   true,
				beside: func(s *stack) line.Line {
					return with(s.line, 1, func(line.Node) line.Node { return line.Node{Name: nodeExt4} })
				},
			}.test(v, c)
		}},
	{"fs-ext4-rr-gap", "host-filesystems",
		"ext4 takes a mutex also to read",
		pairTest{
			loads:   []wanted{highLoad("RR", manyJobs)},
			subject: func(_ *view, s *stack) bool { return hosts(s.line, nodeExt4) && dioread(s) != "dioread_nolock" },
			against: deviceBelow,
			caveats: func(v *view, s *stack) []string {
				if dioread(s) == "" && v.nolockByDefault() {
					return []string{fmt.Sprintf("ext4 of Linux %s reads without that lock by default, the paper's of Linux 4.6 with it: mount=dioread_lock takes it again", v.run.Environment.Kernel)}
				}
				return nil
			},
		}.test},
	{"fs-ext4-dioread-nolock", "ext4-dioread",
		"dioread_nolock spares readers the mutex",
		pairTest{
			loads: []wanted{highLoad("RR", manyJobs)},
			subject: func(v *view, s *stack) bool {
				declared := func(s *stack) bool { return hosts(s.line, nodeExt4) && dioread(s) == "dioread_nolock" }
				locked := func(s *stack) bool { return hosts(s.line, nodeExt4) && dioread(s) == "dioread_lock" }
				if !slices.ContainsFunc(v.stacks, declared) && slices.ContainsFunc(v.stacks, locked) && v.nolockByDefault() {
					return hosts(s.line, nodeExt4) && dioread(s) == ""
				}
				return declared(s)
			},
			against: withLock,
		}.test},
}

// deviceBelow is the device that a file system stands on.
func deviceBelow(_ *view, s *stack) []line.Line { return []line.Line{below(s.line, 1)} }

// dioread is the option for direct reads that ext4 is mounted with on demand.
func dioread(s *stack) string {
	mount, _ := s.line.Nodes[1].Option("mount")
	for _, flag := range []string{"dioread_lock", "dioread_nolock"} {
		if slices.Contains(strings.Split(mount, ","), flag) {
			return flag
		}
	}
	return ""
}

// withLock is the stack with dioread_lock, and on kernels that take the lock
// by default also without either option.
func withLock(v *view, s *stack) []line.Line {
	mounted := func(flag string) line.Line {
		return with(s.line, 1, func(n line.Node) line.Node {
			mount, _ := n.Option("mount")
			flags := slices.DeleteFunc(strings.Split(mount, ","), func(f string) bool { return f == "" || strings.HasPrefix(f, "dioread_") })
			if flag != "" {
				flags = append(flags, flag)
			}
			n = withoutOption(n, "mount")
			if len(flags) > 0 {
				n.Options = append(n.Options, line.Option{Key: "mount", Value: strings.Join(flags, ",")})
			}
			return n
		})
	}
	lines := []line.Line{mounted("dioread_lock")}
	if !v.nolockByDefault() {
		lines = append(lines, mounted(""))
	}
	return lines
}

// nolockByDefault tells whether ext4 of the run's kernel has dioread_nolock
// when nothing is said, as since Linux 5.6. An unknown kernel is taken for one
// of today.
func (v *view) nolockByDefault() bool {
	parts := strings.FieldsFunc(v.run.Environment.Kernel, func(r rune) bool { return r < '0' || r > '9' })
	if len(parts) < 2 {
		return true
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	return errMajor != nil || errMinor != nil || major > 5 || major == 5 && minor >= 6
}

// jobsSweep varies the jobs of random writes.
var jobsSweep = sweep{
	of:    "RW over jobs",
	takes: func(l fio.Load) bool { return roleOf(l) == "RW" },
	x:     func(l fio.Load) float64 { return float64(l.Jobs) },
	rest:  func(l fio.Load) fio.Load { l.Jobs = 0; return l },
	unit:  1, unitName: "jobs", metric: metricIOPS,
	values: func(c *cell) []float64 { return c.iops },
}
