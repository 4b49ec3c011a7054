package cgroup

import (
	"errors"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// Hosts as they were met: what /proc/self/cgroup says, and what is mounted.
func TestWhereAProcessIsCharged(t *testing.T) {
	const both = `
30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 24 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
33 24 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
`
	for _, c := range []struct {
		name, cgroup, mounts    string
		charged, timed, problem string
	}{
		{
			name: "version 2", cgroup: "0::/user.slice/user-0.slice/session-3.scope\n",
			mounts:  "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate",
			charged: "/sys/fs/cgroup /user.slice/user-0.slice/session-3.scope v2",
			timed:   "/sys/fs/cgroup /user.slice/user-0.slice/session-3.scope v2",
		},
		{
			name: "both, as systemd mounts them",
			cgroup: "5:blkio:/user.slice\n4:cpu,cpuacct:/user.slice/a:b\n3:cpuset:/\n" +
				"1:name=systemd:/user.slice/x\n0::/user.slice/x\n",
			mounts: both, charged: "/sys/fs/cgroup/blkio /user.slice v1", timed: "/sys/fs/cgroup/cpu,cpuacct /user.slice/a:b v1",
		},
		{
			name:   "version 1 without block I/O",
			cgroup: "4:cpu,cpuacct:/\n0::/x\n", mounts: both,
			charged: "/sys/fs/cgroup/unified /x v2", timed: "/sys/fs/cgroup/cpu,cpuacct / v1",
		},
		{
			name:   "a container that sees its own part of version 1",
			cgroup: "5:blkio:/docker/0123\n4:cpu,cpuacct:/docker/0123\n",
			mounts: `
31 24 0:27 /docker/0123 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 24 0:28 /docker/0123 /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
`,
			charged: "/sys/fs/cgroup/blkio / v1", timed: "/sys/fs/cgroup/cpu,cpuacct / v1",
		},
		{
			name:   "a container that sees another's part",
			cgroup: "5:blkio:/docker/0123\n", mounts: "32 24 0:28 /docker/4567 /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio",
			problem: "is not mounted at /sys/fs/cgroup",
		},
		{
			name: "moved out of its namespace", cgroup: "0::/../../system.slice\n",
			mounts: "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", problem: "outside",
		},
		{
			name: "mounted where nobody would look", cgroup: "5:blkio:/\n",
			mounts: "32 24 0:28 / /cgroups/blkio rw - cgroup cgroup rw,blkio", problem: "not mounted at /sys/fs/cgroup",
		},
		{name: "none", cgroup: "", problem: "no cgroups"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(strings.TrimPrefix(c.mounts, "\n")), nil)
			if err != nil {
				t.Fatal(err)
			}
			charged, err := findHierarchy(c.cgroup, mounts, blkio)
			timed, errTimed := findHierarchy(c.cgroup, mounts, cpuacct)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%v, want %q", err, c.problem)
				}
				return
			}
			if err := errors.Join(err, errTimed); err != nil {
				t.Fatal(err)
			}
			if got := tell(charged); got != c.charged {
				t.Errorf("block I/O: %s, want %s", got, c.charged)
			}
			if got := tell(timed); got != c.timed {
				t.Errorf("processor time: %s, want %s", got, c.timed)
			}
		})
	}
}

func tell(h hierarchy) string {
	version := " v1"
	if h.unified {
		version = " v2"
	}
	return h.mount + " " + h.group + version
}
