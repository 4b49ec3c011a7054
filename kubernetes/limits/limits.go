// Package limits holds pods to the limits on devices that their annotations name: a plugin
// of NRI, the interface by which container runtimes tell others what they start.
//
// With cgroups of version 2, the runtime is asked for limits as it creates a container, so that the plugin needs no
// rights of its own. With version 1, they are set between a container's creation and its start: its control group is
// there, and nothing of it runs yet. Either way what the kernel holds is read back before the start. A container whose
// limits are not held does not start, as its neighbours were placed by them. What is limited is the whole disks that
// the container's volumes stand on, which the runtime names: an annotation names none. A volume of which nobody knows
// a disk cannot be limited, and is refused.
package limits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/containerd/nri/pkg/api"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/kubernetes/iofit"
)

// Plugin sets limits.
type Plugin struct {
	roots hostfs.Roots
	log   *slog.Logger
	limit func(pid int, l result.Limits, devices []string) (readBack result.Limits, err error)

	unified string // where cgroups of version 2 are mounted; "" where version 1 limits devices

	waits    waits
	measured measurement

	status
}

// New returns the plugin for the containers of this host.
func New(log *slog.Logger) *Plugin {
	p := &Plugin{roots: hostfs.Default(), log: log, limit: limit, waits: productionWaits}
	var st unix.Statfs_t
	if root := p.roots.InSys("fs/cgroup"); unix.Statfs(root, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
		p.unified = root
	}
	return p
}

// limit limits the control group that a process is in.
func limit(pid int, l result.Limits, devices []string) (result.Limits, error) {
	g, err := cgroup.Of(pid)
	if err != nil {
		return result.Limits{}, err
	}
	return g.LimitDevices(l, devices)
}

// Synchronize sets the limits of what runs already, where the kernel does not hold them. One that cannot be held is
// said, and runs on.
func (p *Plugin) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) (
	[]*api.ContainerUpdate, error,
) {
	p.forgetAll()
	updates := p.check(pods, containers)
	p.synchronized()
	return updates, nil
}

// check judges containers that the runtime lists, and returns what is to be set of those that run without their limits.
// The runtime waits for it, so that it waits for no file system.
func (p *Plugin) check(pods []*api.PodSandbox, containers []*api.Container) (updates []*api.ContainerUpdate) {
	sandboxes := map[string]*api.PodSandbox{}
	for _, pod := range pods {
		sandboxes[pod.GetId()] = pod
	}
	mounts := p.mounts()
	for _, c := range containers {
		pod := sandboxes[c.GetPodSandboxId()]
		if pod == nil || c.GetState() != api.ContainerState_CONTAINER_RUNNING {
			continue
		}
		p.count(mounts, pod, c)
		p.countUndeclared(mounts, pod, c)
		h, err := p.holding(mounts, pod, c)
		switch {
		case err != nil || h == nil:
		case p.unified == "" && p.holds(c.GetId()):
		case p.unified == "":
			err = p.set(h)
		case p.readBack(h) != nil: // it started while the plugin was away
			u := &api.ContainerUpdate{}
			u.SetContainerId(c.GetId())
			u.AddLinuxUnified("io.max", h.ioMax())
			updates = append(updates, u)
		}
		p.keep(pod, c, h, err)
		if err != nil {
			p.log.Error("A container that runs is not held to its limits", "pod", name(pod), "container", c.GetName(),
				"error", err)
		}
	}
	return updates
}

// CreateContainer refuses a container whose limits cannot be read or held, and with cgroups of version 2 has the
// runtime set them.
func (p *Plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) (
	*api.ContainerAdjustment, []*api.ContainerUpdate, error,
) {
	if p.unified == "" {
		_, err := wanted(pod)
		return nil, nil, p.refuse(err)
	}
	h, err := p.holding(p.mounts(), pod, c)
	if err != nil || h == nil {
		return nil, nil, p.refuse(err)
	}
	a := &api.ContainerAdjustment{}
	a.AddLinuxUnified("io.max", h.ioMax())
	return a, nil, nil
}

// StartContainer refuses a container whose limits the kernel does not hold, and with cgroups of version 1 sets them
// first.
func (p *Plugin) StartContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) error {
	mounts := p.mounts()
	h, err := p.holding(mounts, pod, c)
	switch {
	case err != nil:
	case h == nil && pod.GetAnnotations()[iofit.LimitAnnotation] != "": // such as a sidecar
		p.log.Info("The container has no volume on a device, so it gets no limits", "pod", name(pod), "container",
			c.GetName())
	case h == nil:
	case p.unified != "":
		err = p.readBack(h)
	default:
		err = p.set(h)
	}
	if err == nil {
		p.keep(pod, c, h, nil)
		p.count(mounts, pod, c)
		p.countUndeclared(mounts, pod, c)
	}
	return p.refuse(err)
}

// RemoveContainer forgets a container that is gone.
func (p *Plugin) RemoveContainer(_ context.Context, _ *api.PodSandbox, c *api.Container) error {
	p.forget(c.GetId())
	return nil
}

// StopContainer forgets a container that is about to end.
func (p *Plugin) StopContainer(_ context.Context, _ *api.PodSandbox, c *api.Container) ([]*api.ContainerUpdate, error) {
	p.forget(c.GetId())
	return nil, nil
}

// wanted returns the limits on devices that a pod's annotation said when it was bound.
func wanted(pod *api.PodSandbox) (result.Limits, error) {
	notes, err := iofit.Admitted(pod.GetAnnotations())
	if err != nil {
		return result.Limits{}, refusal{unreadable, fmt.Errorf("pod %s: %w", name(pod), err)}
	}
	l, err := iofit.ParseLimits(notes[iofit.LimitAnnotation])
	if err != nil {
		return l, refusal{unreadable, fmt.Errorf("annotation %s of pod %s: %w", iofit.LimitAnnotation, name(pod), err)}
	}
	return result.Limits{Read: l.Read, Write: l.Write}, nil // CPU and memory are the kubelet's
}

func name(pod *api.PodSandbox) string { return pod.GetNamespace() + "/" + pod.GetName() }

// holding is a container and the limits that it is to be held to.
type holding struct {
	subject string // "container mysql of pod shop/db"
	limits  result.Limits
	devices []string // MAJ:MIN
	pid     int
	group   string // directory of its cgroup; "" with version 1
}

// holding returns what a container is to be held to; nil where there is nothing.
func (p *Plugin) holding(mounts blockdev.Mounts, pod *api.PodSandbox, c *api.Container) (*holding, error) {
	l, err := wanted(pod)
	if err != nil || l.None() {
		return nil, err
	}
	h := &holding{subject: fmt.Sprintf("container %s of pod %s", c.GetName(), name(pod)), limits: l, pid: int(c.GetPid())}
	if h.devices, err = p.devices(mounts, pod, c); err != nil {
		return nil, refusal{unknownDevice, fmt.Errorf("%s: %w", h.subject, err)}
	}
	if len(h.devices) == 0 {
		return nil, nil
	}
	if p.unified != "" {
		h.group = filepath.Join(p.unified, groupPath(c.GetLinux().GetCgroupsPath()))
	}
	return h, nil
}

// ioMax returns the limits as io.max has them.
func (h *holding) ioMax() string {
	var lines []string
	for _, d := range h.devices {
		lines = append(lines, cgroup.IOMax(d, h.limits.Read, h.limits.Write))
	}
	return strings.Join(lines, "\n")
}

// groupPath returns the path of a container's cgroup, as runtimes name it: a path, or what systemd makes of
// SLICE:PREFIX:NAME, with a slice below those whose names it begins with.
func groupPath(cgroupsPath string) string {
	f := strings.Split(cgroupsPath, ":")
	if len(f) != 3 {
		return cgroupsPath
	}
	dir, slice := "/", strings.TrimSuffix(f[0], ".slice")
	for i, c := range slice {
		if c == '-' {
			dir = filepath.Join(dir, slice[:i]+".slice")
		}
	}
	return filepath.Join(dir, slice+".slice", f[1]+"-"+f[2]+".scope")
}

// readBack returns what the kernel does not hold of a container's limits.
func (p *Plugin) readBack(h *holding) error {
	held, err := cgroup.LimitsAt(h.group)
	if err != nil {
		return refusal{notHeld, fmt.Errorf("%s: what limits it cannot be read back: %w", h.subject, err)}
	}
	for _, d := range h.devices {
		if is := held[d]; is.Read != h.limits.Read || is.Write != h.limits.Write {
			return refusal{notHeld, fmt.Errorf("%s: limits on %s are not held: io.max of %s is %q there, and not %q",
				h.subject, d, h.group, cgroup.IOMax(d, is.Read, is.Write), cgroup.IOMax(d, h.limits.Read, h.limits.Write))}
		}
	}
	return nil
}

// set sets the limits of a container with cgroups of version 1.
func (p *Plugin) set(h *holding) error {
	if h.pid == 0 {
		return refusal{notHeld, fmt.Errorf("%s: the runtime does not say which process it is (containerd 2 does)", h.subject)}
	}
	held, err := p.limit(h.pid, h.limits, h.devices)
	if err != nil {
		return refusal{notHeld, fmt.Errorf("%s: limits on %s are not held: %w", h.subject,
			strings.Join(h.devices, ", "), err)}
	}
	p.log.Info("Limits are held", "of", h.subject, "devices", h.devices, "read", held.Read, "write", held.Write)
	return nil
}

// noData are mounts of nobody's data, by where the kubelet and containerd keep them for a pod. It may have its volumes
// wherever it likes in its containers, and call a directory of the node like these, but does not choose its uid and id.
var noData = regexp.MustCompile(`/pods/([^/]+)/(?:etc-hosts$|containers/|volumes/kubernetes\.io~(?:configmap|secret|` +
	`projected|downward-api)/)|/io\.containerd\.grpc\.v1\.cri/sandboxes/([^/]+)/(?:hostname|resolv\.conf|hosts|shm)$`)

// isNoData reports whether what is mounted into a pod is nobody's data.
func isNoData(pod *api.PodSandbox, source string) bool {
	of := noData.FindStringSubmatch(source)
	return of != nil && (of[1] != "" && of[1] == pod.GetUid() || of[2] != "" && of[2] == pod.GetId())
}

// inMemory are the types of file systems that have nothing on a disk.
var inMemory = []string{"tmpfs", "ramfs", "devtmpfs", "sysfs", "proc", "cgroup", "cgroup2", "hugetlbfs", "bpf",
	"tracefs", "debugfs", "securityfs"}

// mounts returns the mounts as they are now. What cannot be read has no device, and the next call reads it again.
func (p *Plugin) mounts() blockdev.Mounts {
	mounts, err := blockdev.ReadMounts(p.roots)
	if err != nil {
		p.log.Error("The mounts of the node cannot be read", "error", err)
	}
	return mounts
}

// deviceBelow returns the MAJ:MIN of the device that a path stands on, or is; "" for what is in memory alone. The
// runtime has followed symbolic links of sources. Of file systems none is asked but that of device nodes, which is in
// memory: others may hang, and the runtime waits.
func (p *Plugin) deviceBelow(mounts blockdev.Mounts, path string) (majMin string, _ error) {
	m := mounts.At(path)
	if m == nil {
		return "", errors.New("no mount is known there")
	}
	node := func(path string) string {
		var st unix.Stat_t
		if at := mounts.At(path); at == nil || at.Mountpoint != "/dev" || !slices.Contains(inMemory, at.FSType) ||
			unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
			return ""
		}
		return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
	if slices.Contains(inMemory, m.FSType) {
		return node(path), nil
	}
	majMin = fmt.Sprintf("%d:%d", m.Major, m.Minor)
	if _, err := os.Lstat(p.roots.InSys("dev/block", majMin)); err == nil {
		return majMin, nil
	}
	if majMin = node(m.Source); majMin != "" { // btrfs gives its files a device number of their own
		return majMin, nil
	}
	return "", fmt.Errorf("it is on no block device of the node (%s, mounted at %s), so it cannot be limited there",
		m.FSType, m.Mountpoint)
}

// devices returns the MAJ:MIN of the whole disks that a container's volumes stand on, and of those that it was given.
func (p *Plugin) devices(mounts blockdev.Mounts, pod *api.PodSandbox, c *api.Container) (disks []string, err error) {
	add := func(majMin, source string) error {
		disk, err := blockdev.WholeDisk(p.roots, result.Device{MajMin: majMin, Name: source})
		if err == nil && !slices.Contains(disks, disk.MajMin) {
			disks = append(disks, disk.MajMin)
		}
		return err
	}
	var problems []error
	for _, m := range c.GetMounts() {
		if !filepath.IsAbs(m.GetSource()) || m.GetType() != "bind" || isNoData(pod, m.GetSource()) {
			continue
		}
		majMin, err := p.deviceBelow(mounts, m.GetSource())
		if err == nil && majMin != "" {
			err = add(majMin, m.GetSource())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("the device below %s (volume at %s) is not known: %w", m.GetSource(),
				m.GetDestination(), err))
		}
	}
	for _, d := range c.GetLinux().GetDevices() {
		if d.GetType() == "b" {
			if err := add(fmt.Sprintf("%d:%d", d.GetMajor(), d.GetMinor()), d.GetPath()); err != nil {
				problems = append(problems, fmt.Errorf("device %s: %w", d.GetPath(), err))
			}
		}
	}
	slices.Sort(disks)
	return disks, errors.Join(problems...)
}
