package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/state/journal"
)

// Bind is a path of the host that a container sees.
type Bind struct {
	Host     string // must exist
	Inside   string
	ReadOnly bool
}

// ContainerConfig describes a container to run.
type ContainerConfig struct {
	Name        string
	Image       Image // as Import returned it
	Binds       []Bind
	Devices     []string // block devices, by the same path inside
	WorkingDir  string   // made when the image has none
	Env         []string
	User        string // "" for root
	Ring        bool   // its seccomp profile is Docker's with io_uring, instead of the engine's own
	MemoryBytes int64  // limit, with no swap on top; 0 for none
	// CgroupParent is the path, from the root of each hierarchy, of a control group that the run made for this
	// container alone; "" for that of the engine.
	CgroupParent string
}

// Container is a container that idles until steps are executed in it.
type Container struct {
	Name string

	engine *Engine
	entry  *journal.Entry
	env    []string
	user   string
	parent string // path of the control group that it has its own in
	pid    int    // of its first process, on the host
	// network is the file of its network namespace, opened while that process was there.
	network *os.File
}

// Run journals and starts a container without a network.
func (e *Engine) Run(ctx context.Context, j *journal.Journal, cfg ContainerConfig) (*Container, error) {
	create, err := e.creation(cfg)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", cfg.Name, err)
	}
	c := &Container{Name: cfg.Name, engine: e, env: cfg.Env, user: cfg.User, parent: e.change.Cgroup}
	change := &containerChange{Socket: e.Socket, Name: cfg.Name}
	if cfg.CgroupParent != "" {
		c.parent, change.Cgroup = cfg.CgroupParent, cfg.CgroupParent
	}
	c.entry, err = j.Do(ctx, change, func(string) error {
		if _, err := e.api.ContainerCreate(ctx, create); err != nil {
			return fmt.Errorf("create container %s: %w", cfg.Name, e.down(err))
		}
		if _, err := e.api.ContainerStart(ctx, cfg.Name, client.ContainerStartOptions{}); err != nil {
			return fmt.Errorf("start container %s: %w", cfg.Name, e.down(err))
		}
		state, err := c.state(ctx)
		if err != nil {
			return err
		}
		if !state.Running {
			return fmt.Errorf("container %s ended at once with exit code %d: %s", cfg.Name, state.ExitCode, state.Error)
		}
		c.pid = state.Pid
		if err := c.openNetwork(); err != nil {
			return err
		}
		return e.change.keepSockets()
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// creation returns the options for the engine's API, or an error with all that is wrong with cfg.
func (e *Engine) creation(cfg ContainerConfig) (client.ContainerCreateOptions, error) {
	var errs []error
	host := &container.HostConfig{
		NetworkMode: "none",
		LogConfig:   container.LogConfig{Type: "none"},
		Resources:   container.Resources{Memory: cfg.MemoryBytes, MemorySwap: cfg.MemoryBytes},
	}
	for _, b := range slices.Concat(cfg.Image.binds, cfg.Binds) {
		if _, err := os.Stat(b.Host); err != nil {
			errs = append(errs, fmt.Errorf("bind: %w", err))
		}
		if !filepath.IsAbs(b.Host) || !filepath.IsAbs(b.Inside) {
			errs = append(errs, fmt.Errorf("bind %s at %s: both must be absolute paths", b.Host, b.Inside))
		}
		host.Mounts = append(host.Mounts,
			mount.Mount{Type: mount.TypeBind, Source: b.Host, Target: b.Inside, ReadOnly: b.ReadOnly})
	}
	for _, d := range cfg.Devices {
		if _, err := os.Stat(d); err != nil {
			errs = append(errs, fmt.Errorf("device: %w", err))
		}
		host.Devices = append(host.Devices,
			container.DeviceMapping{PathOnHost: d, PathInContainer: d, CgroupPermissions: "rw"})
	}
	if cfg.CgroupParent != "" {
		host.Resources.CgroupParent = "/" + cfg.CgroupParent
	}
	host.SecurityOpt = []string{"no-new-privileges"}
	if cfg.Ring {
		profile, err := ringProfile()
		errs = append(errs, err)
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+profile)
	}
	if cfg.User != "" {
		host.CapDrop = []string{"ALL"} // it has none, and is to get none
	}
	// An init reaps what steps leave behind; some packages of Docker lack it, and where an image has
	// /sbin in a directory of programs it is not seen.
	if _, err := exec.LookPath("docker-init"); err == nil && !cfg.Image.noInit {
		host.Init = new(true)
	}
	return client.ContainerCreateOptions{
		Name: cfg.Name,
		Config: &container.Config{
			Image:      cfg.Image.Ref,
			Hostname:   "localhost", // which is known where no other name is
			WorkingDir: cfg.WorkingDir,
			Env:        cfg.Env,
			User:       cfg.User,
			StopSignal: "SIGKILL",
		},
		HostConfig: host,
	}, errors.Join(errs...)
}

// Entries are the container's changes in the journal, oldest first.
func (c *Container) Entries() []*journal.Entry { return []*journal.Entry{c.entry} }

// Remove ends the container and removes its writable layer.
func (c *Container) Remove(ctx context.Context) error { return c.engine.journal.Undo(ctx, c.entry) }

// openNetwork gets hold of the container's network namespace. A number of a process alone may be
// another one's by the time it is used.
func (c *Container) openNetwork() error {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.pid))
	if err != nil {
		return fmt.Errorf("the network of container %s: %w", c.Name, err)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil || !strings.Contains(string(groups), "/"+c.parent+"/") {
		network.Close()
		return fmt.Errorf("the network of container %s: its first process has ended", c.Name)
	}
	c.network = network
	return nil
}

// Forget closes the container's network namespace. Call it once the container is gone.
func (c *Container) Forget() {
	if c.network != nil {
		c.network.Close()
		c.network = nil
	}
}

// Network returns the path of a file of the container's network namespace, for processes that this
// one starts. It has a loopback and nothing else, and stays what it is when the container ends.
func (c *Container) Network() (string, error) {
	if c.network == nil {
		return "", fmt.Errorf("the network of container %s is not known", c.Name)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), c.network.Fd()), nil
}

// ThinDevice returns the path of the block device that holds the container's writable layer, which the storage driver
// devicemapper makes.
func (c *Container) ThinDevice(ctx context.Context) (string, error) {
	in, err := c.engine.api.ContainerInspect(ctx, c.Name, client.ContainerInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("inspect container %s: %w", c.Name, c.engine.down(err))
	}
	if in.Container.GraphDriver == nil || in.Container.GraphDriver.Data["DeviceName"] == "" {
		return "", fmt.Errorf("inspect container %s: the engine names no thin device", c.Name)
	}
	return "/dev/mapper/" + in.Container.GraphDriver.Data["DeviceName"], nil
}

// PID is the host's number of the container's first process.
func (c *Container) PID() int { return c.pid }

// Inside returns the host's path of a file in the container, valid while the container runs.
func (c *Container) Inside(path string) string {
	return filepath.Join("/proc", strconv.Itoa(c.pid), "root", path)
}

func (c *Container) state(ctx context.Context) (container.State, error) {
	in, err := c.engine.api.ContainerInspect(ctx, c.Name, client.ContainerInspectOptions{})
	if err != nil {
		return container.State{}, fmt.Errorf("inspect container %s: %w", c.Name, c.engine.down(err))
	}
	if in.Container.State == nil {
		return container.State{}, fmt.Errorf("inspect container %s: the engine shows no state", c.Name)
	}
	return *in.Container.State, nil
}

// cgroupFiles returns the files in which the memory controller counts OOM kills, of cgroup v1 or v2. They must be
// looked up while the container runs.
func (c *Container) cgroupFiles() []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // ID:CONTROLLERS:PATH
		switch {
		case len(f) < 3:
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			out = append(out, filepath.Join("/sys/fs/cgroup/memory", f[2], "memory.oom_control"))
		case f[1] == "":
			out = append(out, filepath.Join("/sys/fs/cgroup", f[2], "memory.events"))
		}
	}
	return out
}
