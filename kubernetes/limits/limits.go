// Package limits holds pods to the limits on devices that their annotations name: a plugin
// of NRI, the interface by which container runtimes tell others what they start.
//
// Limits are set between a container's creation and its start: its control group is there,
// nothing of it runs yet, and what the kernel holds can be read back. A container whose
// limits are not held does not start, as its neighbours were placed by them. What is
// limited is the whole disks that the container's volumes stand on, which the runtime
// names: an annotation names none.
package limits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"plimsoll/internal/blockdev"
	"plimsoll/internal/cgroup"
	"plimsoll/internal/hostfs"
	"plimsoll/internal/result"
	"plimsoll/kubernetes/iofit"
)

// Plugin sets limits.
type Plugin struct {
	roots hostfs.Roots
	log   *slog.Logger
	limit func(pid int, l result.Limits, devices []string) (readBack result.Limits, err error)
}

// New returns the plugin for the containers of this host.
func New(log *slog.Logger) *Plugin {
	return &Plugin{roots: hostfs.Default(), log: log, limit: limit}
}

// limit limits the control group that a process is in.
func limit(pid int, l result.Limits, devices []string) (result.Limits, error) {
	g, err := cgroup.Of(pid)
	if err != nil {
		return result.Limits{}, err
	}
	return g.LimitDevices(l, devices)
}

// pause is between two attempts to reach a runtime that restarts.
const pause = time.Second

// Run answers the runtime at a socket, /var/run/nri/nri.sock where none is named, until the
// context is done. It comes back where the runtime restarts.
func (p *Plugin) Run(ctx context.Context, socket string) error {
	closed := make(chan struct{}, 1) // whoever wrote, it is read once
	options := []stub.Option{stub.WithPluginName("plimsoll"), stub.WithPluginIdx("50"), stub.WithOnClose(func() {
		select {
		case closed <- struct{}{}:
		default: // it is known
		}
	})}
	if socket != "" {
		options = append(options, stub.WithSocketPath(socket))
	}
	for ctx.Err() == nil {
		s, err := stub.New(p, options...)
		if err != nil {
			return err
		}
		if err = s.Start(ctx); err != nil {
			p.log.Warn("The runtime is not reached, and is tried again", "error", err)
		} else {
			select {
			case <-closed:
				p.log.Warn("The runtime has gone, and is waited for")
			case <-ctx.Done():
			}
			s.Stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// Synchronize sets the limits of what runs already. One that cannot be held is said, and runs on.
func (p *Plugin) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) (
	[]*api.ContainerUpdate, error,
) {
	for _, c := range containers {
		i := slices.IndexFunc(pods, func(o *api.PodSandbox) bool { return o.GetId() == c.GetPodSandboxId() })
		if i < 0 || c.GetState() != api.ContainerState_CONTAINER_RUNNING {
			continue
		}
		if err := p.set(pods[i], c); err != nil {
			p.log.Error("A container that runs is not held to its limits", "pod", name(pods[i]), "container", c.GetName(),
				"error", err)
		}
	}
	return nil, nil
}

// CreateContainer refuses a container whose pod says limits that cannot be read.
func (*Plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, _ *api.Container) (
	*api.ContainerAdjustment, []*api.ContainerUpdate, error,
) {
	_, err := wanted(pod)
	return nil, nil, err
}

// StartContainer sets the limits of a container that is about to start, and refuses one whose limits are not held.
func (p *Plugin) StartContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) error {
	return p.set(pod, c)
}

// wanted returns the limits on devices that a pod's annotation says.
func wanted(pod *api.PodSandbox) (result.Limits, error) {
	l, err := iofit.ParseLimits(pod.GetAnnotations()[iofit.LimitAnnotation])
	if err != nil {
		return l, fmt.Errorf("annotation %s of pod %s: %w", iofit.LimitAnnotation, name(pod), err)
	}
	return result.Limits{Read: l.Read, Write: l.Write}, nil // CPU and memory are the kubelet's
}

func name(pod *api.PodSandbox) string { return pod.GetNamespace() + "/" + pod.GetName() }

func (p *Plugin) set(pod *api.PodSandbox, c *api.Container) error {
	l, err := wanted(pod)
	if err != nil || l.None() {
		return err
	}
	devices, err := p.devices(c)
	if err != nil {
		return fmt.Errorf("container %s of pod %s: %w", c.GetName(), name(pod), err)
	}
	if len(devices) == 0 { // such as a sidecar
		p.log.Info("No volume of the container stands on a device, and nothing is limited", "pod", name(pod), "container",
			c.GetName())
		return nil
	}
	if c.GetPid() == 0 {
		return fmt.Errorf("container %s of pod %s: the runtime does not say which process it is (containerd 2 does)",
			c.GetName(), name(pod))
	}
	held, err := p.limit(int(c.GetPid()), l, devices)
	if err != nil {
		return fmt.Errorf("container %s of pod %s: limits on %s are not held: %w", c.GetName(), name(pod),
			strings.Join(devices, ", "), err)
	}
	p.log.Info("Limits are held", "pod", name(pod), "container", c.GetName(), "devices", devices, "read", held.Read,
		"write", held.Write)
	return nil
}

// noData are mounts of nobody's data, by where the kubelet and containerd keep them: a pod may have its volumes
// wherever it likes in its containers, and does not choose these.
var noData = regexp.MustCompile(`/pods/[^/]+/(etc-hosts$|containers/|volumes/kubernetes\.io~(configmap|secret|projected|` +
	`downward-api)/)|/io\.containerd\.grpc\.v1\.cri/sandboxes/[^/]+/(hostname|resolv\.conf|hosts|shm)$`)

// devices returns the MAJ:MIN of the whole disks that a container's volumes stand on, and of those that it was given.
func (p *Plugin) devices(c *api.Container) (all []string, err error) {
	add := func(majMin, of string) error {
		disk, err := blockdev.WholeDisk(p.roots, result.Device{MajMin: majMin, Name: of})
		if err == nil && !slices.Contains(all, disk.MajMin) {
			all = append(all, disk.MajMin)
		}
		return err
	}
	var problems []error
	for _, m := range c.GetMounts() {
		if !filepath.IsAbs(m.GetSource()) || m.GetType() != "bind" || noData.MatchString(m.GetSource()) {
			continue
		}
		chain, err := blockdev.Chain(p.roots, m.GetSource())
		if err == nil && len(chain) > 0 && chain[0].MajMin != "" {
			err = add(chain[0].MajMin, chain[0].Name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("which device %s (volume at %s) stands on is not known: %w", m.GetSource(),
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
	slices.Sort(all)
	return all, errors.Join(problems...)
}
