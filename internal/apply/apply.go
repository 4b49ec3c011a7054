package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

func isNotFound(err error) bool { return errdefs.IsNotFound(err) }

// Steps returns what Apply would do.
func Steps(ctx context.Context, t *Target) ([]Step, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.plan(ctx)
}

// plan returns the steps, where all of them can be made.
func (s *scene) plan(ctx context.Context) ([]Step, error) {
	steps, all := s.steps()
	asked := map[[2]string]bool{}
	for _, step := range steps {
		if step.Do != create {
			continue
		}
		image := s.target.Services[step.service].Image
		if asked[[2]string{step.Engine, image}] {
			continue
		}
		asked[[2]string{step.Engine, image}] = true
		c := s.connections[step.engine]
		err := c.ask(ctx, "look for image "+image, 0, func(ctx context.Context) error {
			_, err := c.api.ImageInspect(ctx, image)
			return err
		})
		if isNotFound(err) {
			all = append(all, problem.Problem{Kind: problem.Unsupported, What: fmt.Sprintf("image %s on engine %s", image,
				step.Engine), Why: "the engine does not have it", Remedy: "docker --context " + step.Engine + " pull " + image})
		} else if err != nil {
			return nil, err
		}
	}
	return steps, all.Err()
}

// Apply makes the target true. report is called before each step. The journal below the state directory has each step
// until all are made: Undo, or clean, takes them back, and Apply goes on with them.
func Apply(ctx context.Context, t *Target, state string, report func(Step)) (err error) {
	j, err := journal.Create(state, journalPrefix+t.Project)
	if errors.Is(err, journal.ErrLive) {
		return problem.New(problem.Protected, "project "+t.Project, "another apply is at work on it", "wait for it").
			CausedBy(err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := t.owns(j); err != nil {
		return err
	}
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	steps, err := s.plan(ctx)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if step.Do == remove {
			continue
		}
		report(step)
		if err := s.make(ctx, j, step); err != nil {
			return err
		}
	}
	// From here on nothing is taken back: what was replaced goes.
	if err := j.Commit(); err != nil {
		return err
	}
	for _, step := range steps {
		if step.Do != remove {
			continue
		}
		report(step)
		c := s.connections[step.engine]
		found, err := c.inspect(ctx, step.stands.id, t.Project)
		if errors.Is(err, errGone) {
			continue
		}
		if err == nil && !found.aside {
			err = fmt.Errorf("container %s on engine %s was renamed meanwhile: it is not removed", step.Name, step.Engine)
		}
		if err == nil {
			err = c.remove(ctx, found.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// owns returns an error where the journal has steps of another plan.
func (t *Target) owns(j *journal.Journal) error {
	for _, e := range j.Pending() {
		if c, ok := e.Change.(*containerChange); ok && c.Plan != t.Digest {
			return problem.New(problem.Protected, "project "+t.Project, "another plan of it was applied in part",
				"apply that one to its end, or take it back: plimsoll apply --undo with it")
		}
	}
	return nil
}

// Undo takes back what an Apply of the target that did not end has made, and returns how many steps.
func Undo(ctx context.Context, t *Target, state string, report func(what string, err error)) (undone int, err error) {
	j, err := journal.Open(state, journalPrefix+t.Project)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := t.owns(j); err != nil {
		return 0, errors.Join(err, j.Close())
	}
	undone = len(j.Pending())
	return undone, errors.Join(j.UndoAll(ctx, report), j.Close())
}

// make makes one step.
func (s *scene) make(ctx context.Context, j *journal.Journal, step Step) error {
	t, c := s.target, s.connections[step.engine]
	change := &containerChange{Engine: c.Engine, Project: t.Project, Plan: t.Digest, Do: step.Do, Name: step.Name}
	if step.Do == start && step.stands == nil {
		// Removing it undoes this, too.
		found, err := c.inspect(ctx, step.Name, t.Project)
		if err != nil {
			return fmt.Errorf("engine %s: container %s: %w", step.Engine, step.Name, err)
		}
		return s.start(ctx, step, found.id)
	}
	if step.Do == create {
		change.Token = uuid.NewString()
		_, err := j.Do(ctx, change, func(string) error { return s.create(ctx, step, change) })
		return err
	}
	// It is asked for again: what was seen before may be another one's by now.
	found, err := c.inspect(ctx, step.stands.id, t.Project)
	if err != nil {
		return fmt.Errorf("engine %s: container %s: %w", step.Engine, step.Name, err)
	}
	if found.name != step.Name {
		return fmt.Errorf("engine %s: container %s is called %s by now", step.Engine, step.Name, found.name)
	}
	change.ID, change.Running, change.Before = found.id, found.running, limitsOf(found.resources)
	if step.Do == setAside {
		change.Aside = t.aside(step.Name)
	}
	_, err = j.Do(ctx, change, func(string) error {
		switch step.Do {
		case start:
			return s.start(ctx, step, found.id)
		case setAside:
			if err := c.stop(ctx, found.id); err != nil {
				return err
			}
			return c.rename(ctx, found.id, change.Aside)
		}
		want := resources(t.Services[step.service].Limits)
		if err := c.update(ctx, found.id, limitsOf(want).resources()); err != nil {
			return err
		}
		return c.readBack(ctx, found.id, t, want)
	})
	return err
}

// create makes a container with its limits, and reads both back.
func (s *scene) create(ctx context.Context, step Step, change *containerChange) error {
	c := s.connections[step.engine]
	service := &s.target.Services[step.service]
	options, err := s.target.creation(service, step.number, change.Token)
	if err != nil {
		return err
	}
	err = c.ask(ctx, "create container "+step.Name, 0, func(ctx context.Context) error {
		made, err := c.api.ContainerCreate(ctx, options)
		change.ID = made.ID
		return err
	})
	if err != nil {
		return err
	}
	return c.readBack(ctx, change.ID, s.target, resources(service.Limits))
}

// readBack sees that a container has the limits that were asked for.
func (c *connection) readBack(ctx context.Context, id string, t *Target, want container.Resources) error {
	found, err := c.inspect(ctx, id, t.Project)
	if err != nil {
		return fmt.Errorf("engine %s: the container that it made: %w", c.Name, err)
	}
	return c.notLimited(found.name, differs(found.resources, want))
}

// notLimited is an error for a reason why a container has other limits than planned; nil for "".
func (c *connection) notLimited(container, why string) error {
	if why == "" {
		return nil
	}
	return problem.New(problem.Unsupported, fmt.Sprintf("limits of container %s on engine %s", container, c.Name), why,
		"see what the host's cgroups lack: docker --context "+c.Name+" info")
}

// start starts a container and sees that it runs, and that this host's kernel has its limits.
func (s *scene) start(ctx context.Context, step Step, id string) error {
	c := s.connections[step.engine]
	if err := c.start(ctx, id); err != nil {
		return err
	}
	found, err := c.container(ctx, id)
	if err != nil {
		return err
	}
	if found.State == nil || !found.State.Running {
		code := 0
		if found.State != nil {
			code = found.State.ExitCode
		}
		return fmt.Errorf("engine %s: container %s ended at once, with exit code %d: docker --context %s logs %s",
			c.Name, step.Name, code, c.Name, step.Name)
	}
	limits := s.target.Services[step.service].Limits
	kernel, err := c.readHeld(found.ID, found.State.Pid, limits.Device)
	if err != nil {
		return err
	}
	why, _ := kernel.differs(limits)
	return c.notLimited(step.Name, why)
}

// creation returns what the engine is asked to make.
func (t *Target) creation(s *Service, number int, token string) (client.ContainerCreateOptions, error) {
	labels := map[string]string{labelProject: t.Project, labelService: s.Name, labelNumber: strconv.Itoa(number),
		labelSpec: s.spec(), labelToken: token}
	for key, value := range s.Labels {
		labels[key] = value
	}
	made := &container.Config{Image: s.Image, Entrypoint: s.Entrypoint, Cmd: s.Command, User: s.User,
		WorkingDir: s.WorkingDir, Hostname: s.Hostname, StopSignal: s.StopSignal, Labels: labels}
	if s.StopSeconds > 0 {
		made.StopTimeout = &s.StopSeconds
	}
	for key, value := range s.Environment {
		made.Env = append(made.Env, key+"="+value)
	}
	slices.Sort(made.Env)
	host := &container.HostConfig{Resources: resources(s.Limits), Init: &s.Init, ReadonlyRootfs: s.ReadOnly,
		CapDrop: s.CapDrop, NetworkMode: container.NetworkMode(s.Network)}
	if s.Restart != "" {
		name, most, err := restart(s.Restart)
		if err != nil {
			return client.ContainerCreateOptions{}, err
		}
		host.RestartPolicy = container.RestartPolicy{Name: name, MaximumRetryCount: most}
	}
	for _, path := range s.Tmpfs {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeTmpfs, Target: path})
	}
	for _, v := range s.Volumes {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Target: v.Target, ReadOnly: v.ReadOnly,
			Source: fmt.Sprintf("%s_%s-%d", t.Project, v.Name, number)})
	}
	for _, p := range s.Ports {
		port, ok := network.PortFrom(p.Target, network.IPProtocol(p.Protocol))
		if !ok {
			return client.ContainerCreateOptions{}, fmt.Errorf("port %d/%s is none", p.Target, p.Protocol)
		}
		if made.ExposedPorts == nil {
			made.ExposedPorts, host.PortBindings = network.PortSet{}, network.PortMap{}
		}
		binding := network.PortBinding{}
		if p.Host != "" {
			at, err := netip.ParseAddr(p.Host)
			if err != nil {
				return client.ContainerCreateOptions{}, err
			}
			binding.HostIP = at
		}
		if p.Published > 0 {
			binding.HostPort = strconv.Itoa(int(p.Published))
		}
		made.ExposedPorts[port] = struct{}{}
		host.PortBindings[port] = append(host.PortBindings[port], binding)
	}
	return client.ContainerCreateOptions{Name: t.name(s.Name, number), Config: made, HostConfig: host}, nil
}

// resources are limits as an engine has them. There is no swap on top of the memory.
func resources(l Limits) container.Resources {
	r := container.Resources{Memory: l.MemoryBytes, MemorySwap: l.MemoryBytes, NanoCPUs: l.NanoCPUs}
	if l.Pids > 0 {
		r.PidsLimit = &l.Pids
	}
	throttle := func(rate int64) []*blkiodev.ThrottleDevice {
		if rate == 0 {
			return nil
		}
		return []*blkiodev.ThrottleDevice{{Path: l.Device, Rate: uint64(rate)}}
	}
	r.BlkioDeviceReadBps, r.BlkioDeviceWriteBps = throttle(l.ReadBytes), throttle(l.WriteBytes)
	r.BlkioDeviceReadIOps, r.BlkioDeviceWriteIOps = throttle(l.ReadRequests), throttle(l.WriteRequests)
	return r
}

// differs says which limit is another one than was asked for; "" for none.
func differs(have, want container.Resources) string {
	was, is := limitsOf(have), limitsOf(want)
	return cmp.Or(unlike("memory", was.Memory, is.Memory), unlike("swap", was.Swap, is.Swap),
		unlike("CPUs", float64(was.NanoCPUs)/1e9, float64(is.NanoCPUs)/1e9),
		unlike("pids", max(was.Pids, 0), is.Pids), ioDiffers(have, want))
}

// ioDiffers is differs for the limits of I/O.
func ioDiffers(have, want container.Resources) string {
	text := func(all []*blkiodev.ThrottleDevice) (text string) {
		for _, t := range all {
			if t != nil {
				text += fmt.Sprintf("%s:%d ", t.Path, t.Rate)
			}
		}
		return cmp.Or(strings.TrimSpace(text), "none")
	}
	return cmp.Or(unlike("read bandwidth", text(have.BlkioDeviceReadBps), text(want.BlkioDeviceReadBps)),
		unlike("write bandwidth", text(have.BlkioDeviceWriteBps), text(want.BlkioDeviceWriteBps)),
		unlike("reads a second", text(have.BlkioDeviceReadIOps), text(want.BlkioDeviceReadIOps)),
		unlike("writes a second", text(have.BlkioDeviceWriteIOps), text(want.BlkioDeviceWriteIOps)))
}

func unlike[T comparable](limit string, have, want T) string {
	if have == want {
		return ""
	}
	return fmt.Sprintf("limit of %s: the engine has %v, and %v is planned", limit, have, want)
}

// restart reads a restart policy, which check has seen.
func restart(text string) (name container.RestartPolicyMode, most int, err error) {
	before, after, counted := strings.Cut(text, ":")
	if counted {
		most, err = strconv.Atoi(after)
	}
	return container.RestartPolicyMode(before), most, err
}
