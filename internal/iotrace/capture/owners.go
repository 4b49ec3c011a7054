package capture

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/iotrace"
)

// cgroups maps ids of cgroups to owners, in the hierarchy of the block I/O controller, to which bios are charged.
type cgroups struct {
	root    string // where the hierarchy is mounted; "" for nowhere
	unified bool   // cgroup v2
	paths   map[uint64]string

	containers map[uint64]string
}

func newCgroups() *cgroups {
	c := &cgroups{unified: true, paths: map[uint64]string{}, containers: map[uint64]string{}}
	lines, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(lines)) {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && f[1] == "blkio" {
			c.unified = false
		}
	}
	mounts, _ := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		if c.unified {
			return m.FSType != "cgroup2", false
		}
		return m.FSType != "cgroup" || !strings.Contains(","+m.VFSOptions+",", ",blkio,"), false
	})
	if len(mounts) > 0 {
		c.root = mounts[0].Mountpoint
	}
	return c
}

// learn looks up cgroups that are not known yet. It must run while they exist: removed ones stay unknown.
func (c *cgroups) learn(ids map[uint64]bool) {
	missing := 0
	for id := range ids {
		if _, ok := c.paths[id]; !ok && id != 0 {
			missing++
		}
	}
	if missing == 0 || c.root == "" {
		return
	}
	// What cannot be read is left out: a cgroup may end at any moment.
	_ = filepath.WalkDir(c.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil //nolint:nilerr // see above
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && ids[stat.Ino] {
			rest := strings.TrimPrefix(path, c.root)
			if rest == "" {
				rest = "/"
			}
			c.paths[stat.Ino], c.containers[stat.Ino] = rest, containerName(rest)
		}
		return nil
	})
}

// containerID matches the cgroup that an engine makes for a container.
var containerID = regexp.MustCompile(`(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)`)

// containerName returns the name of the container that a cgroup belongs to, or the start of its id where the engine's
// names cannot be read.
func containerName(path string) string {
	m := containerID.FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join("/var/lib/docker/containers", m[1], "config.v2.json"))
	var config struct{ Name string }
	if err == nil && json.Unmarshal(text, &config) == nil && config.Name != "" {
		return strings.TrimPrefix(config.Name, "/")
	}
	return m[1][:12]
}

// owner returns the owner of a key.
func (c *cgroups) owner(k ownerKey, call bool) iotrace.Owner {
	command, _, _ := bytes.Cut(k.Comm[:], []byte{0}) // behind it older kernels leave what was there before
	return iotrace.Owner{
		Cgroup: k.Cgroup, Path: c.paths[k.Cgroup], Container: c.containers[k.Cgroup], PID: k.PID,
		Command: string(command), Call: call, Kernel: k.Kernel != 0,
	}
}

// ownerless is the owner of requests that began with no bio: flushes of the block layer, a driver's requests, and
// requests that began before the recording.
var ownerless = iotrace.Owner{Kernel: true, Command: "block layer"}
