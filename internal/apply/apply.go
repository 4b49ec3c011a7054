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
	"time"

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

// plan returns the steps. The error has every problem that keeps a step from being made.
func (s *scene) plan(ctx context.Context) ([]Step, error) {
	steps, problems := s.steps()
	asked := map[[2]string]bool{}
	for _, step := range steps {
		if step.Do == makeNetwork {
			err := s.connections[step.engine].notOwnNetwork(ctx, step.Name, s.target.Project)
			if wrong := problem.Of(err); wrong != nil {
				problems = append(problems, *wrong)
			} else if err != nil {
				return nil, err
			}
		}
		if step.Do != create {
			continue
		}
		image := s.target.Services[step.service].Image
		if asked[[2]string{step.Engine, image}] {
			continue
		}
		asked[[2]string{step.Engine, image}] = true
		connection := s.connections[step.engine]
		err := connection.ask(ctx, "look for image "+image, 0, func(ctx context.Context) error {
			_, err := connection.api.ImageInspect(ctx, image)
			return err
		})
		if isNotFound(err) {
			problems = append(problems, problem.Problem{Kind: problem.Unsupported,
				What: fmt.Sprintf("image %s on engine %s", image, step.Engine),
				Why:  "the engine does not have it", Remedy: "docker --context " + step.Engine + " pull " + image})
		} else if err != nil {
			return nil, err
		}
	}
	return steps, problems.Err()
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
		if step.network != "" {
			if err := c.removeNetwork(ctx, step.network); err != nil {
				return err
			}
			continue
		}
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
		plan := t.Digest
		switch c := e.Change.(type) {
		case *containerChange:
			plan = c.Plan
		case *networkChange:
			plan = c.Plan
		}
		if plan != t.Digest {
			return problem.New(problem.Protected, "project "+t.Project, "another plan of this project was applied in part",
				"finish that apply, or take it back: plimsoll apply --undo with it")
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
	if step.Do == makeNetwork {
		return s.makeNetwork(ctx, j, step)
	}
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
	service, wrong := s.placed(step.service, step.engine)
	if len(wrong) > 0 {
		return wrong
	}
	options, err := s.target.creation(service, step.number, change.Token)
	if err != nil {
		return err
	}
	for _, v := range service.Volumes {
		if err := c.ownVolume(ctx, s.target.volume(v.Name, step.number), s.target.Project); err != nil {
			return err
		}
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
	c, service := s.connections[step.engine], &s.target.Services[step.service]
	if err := s.await(ctx, service); err != nil {
		return err
	}
	if err := s.join(ctx, step, id); err != nil {
		return err
	}
	if err := s.copyFiles(ctx, step, id); err != nil {
		return err
	}
	if err := c.start(ctx, id); err != nil {
		return err
	}
	found, err := c.container(ctx, id)
	if err != nil || completed(service, found.State) {
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
	kernel, err := c.readHeld(found.ID, found.State.Pid, service.Limits.Device)
	if err != nil {
		return c.startedOnce(ctx, service, id, err)
	}
	why, _ := kernel.differs(service.Limits)
	return c.startedOnce(ctx, service, id, c.notLimited(step.Name, why))
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
		CapDrop: s.CapDrop, NetworkMode: container.NetworkMode(s.Network), ExtraHosts: s.ExtraHosts, ShmSize: s.ShmBytes,
		Sysctls: s.Sysctls}
	s.furnish(made, host)
	if s.Restart != "" {
		name, most, err := restart(s.Restart)
		if err != nil {
			return client.ContainerCreateOptions{}, err
		}
		host.RestartPolicy = container.RestartPolicy{Name: name, MaximumRetryCount: most}
	}
	for _, v := range s.Volumes {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Target: v.Target, ReadOnly: v.ReadOnly,
			Source: t.volume(v.Name, number)})
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
	options := client.ContainerCreateOptions{Name: t.name(s.Name, number), Config: made, HostConfig: host}
	if len(s.Networks) > 0 {
		name := t.networkOf(s.Networks[0])
		host.NetworkMode = container.NetworkMode(name)
		options.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			name: endpoint(s.Networks[0])}}
	}
	return options, nil
}

// furnish sets what gives a container no rights and no limits of the plan.
func (s *Service) furnish(made *container.Config, host *container.HostConfig) {
	made.Tty, made.OpenStdin = s.Terminal, s.Stdin
	if h := s.Healthcheck; h != nil {
		duration := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
		made.Healthcheck = &container.HealthConfig{Test: h.Test, Interval: duration(h.Interval),
			Timeout: duration(h.Timeout), StartPeriod: duration(h.StartPeriod), StartInterval: duration(h.StartInterval),
			Retries: h.Retries}
	}
	if s.NoNewPrivileges {
		host.SecurityOpt = []string{"no-new-privileges"}
	}
	if s.Logging != nil {
		host.LogConfig = container.LogConfig{Type: s.Logging.Driver, Config: s.Logging.Options}
	}
	host.CPUShares = s.CPUShares
	for _, u := range s.Ulimits {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: u.Name, Soft: u.Soft, Hard: u.Hard})
	}
	for _, t := range s.Tmpfs {
		if host.Tmpfs == nil {
			host.Tmpfs = map[string]string{}
		}
		path, options, _ := strings.Cut(t, ":")
		host.Tmpfs[path] = options
	}
}

// resources are limits as an engine has them. Without a limit of both there is no swap on top of the memory.
func resources(l Limits) container.Resources {
	r := container.Resources{Memory: l.MemoryBytes, MemorySwap: cmp.Or(l.SwapBytes, l.MemoryBytes), NanoCPUs: l.NanoCPUs}
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
	text := func(devices []*blkiodev.ThrottleDevice) (text string) {
		for _, t := range devices {
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
func restart(text string) (name container.RestartPolicyMode, retries int, err error) {
	before, after, counted := strings.Cut(text, ":")
	if counted {
		retries, err = strconv.Atoi(after)
	}
	return container.RestartPolicyMode(before), retries, err
}
