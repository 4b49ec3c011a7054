package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/state/journal"
)

func init() { journal.Register("applied", func() journal.Change { return new(containerChange) }) }

// containerChange is one step of a plan that is applied.
type containerChange struct {
	Engine  Engine
	Project string
	Plan    string // its digest
	Do      string // create, limit, start, set aside
	Name    string
	ID      string // "" for one that is being made
	Token   string `json:",omitempty"` // label of the one that is being made
	Aside   string `json:",omitempty"` // name of the one that is set aside
	Running bool   `json:",omitempty"` // it ran before it was set aside
	Before  limits `json:",omitzero"`  // before they were changed
}

// limits are those that can be changed while a container stands.
type limits struct{ Memory, Swap, NanoCPUs, Pids int64 }

var (
	containerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,200}$`)
	containerID   = regexp.MustCompile(`^[0-9a-f]{12,64}$`)
	tokenShape    = regexp.MustCompile(`^[0-9a-f-]{36}$`)
)

// journalPrefix begins the names of journals of projects.
const journalPrefix = "apply-"

// What implements journal.Change.
func (c *containerChange) What() string {
	return fmt.Sprintf("%s container %s on engine %s", c.Do, c.Name, c.Engine.Name)
}

// Prepare implements journal.Change.
func (c *containerChange) Prepare() error { return nil }

// Check implements journal.Change.
func (c *containerChange) Check(s journal.Scope) error {
	problems := []error{
		s.OneOf("step of a plan", c.Do, create, limit, start, setAside),
		s.OneOf("journal of a project", s.Run(), journalPrefix+c.Project),
		s.Matches("project", c.Project, projectName),
		s.Matches("container's name", c.Name, containerName),
		s.Matches("engine's name", c.Engine.Name, plainName),
	}
	if err := checkHost(c.Engine.Host); err != nil {
		problems = append(problems, s.Foreign("%w", err))
	}
	if !strings.HasPrefix(c.Name, c.Project+"-") {
		problems = append(problems, s.Foreign("container %q is not named as one of project %s", c.Name, c.Project))
	}
	if c.Do == create {
		problems = append(problems, s.Matches("token", c.Token, tokenShape))
	} else {
		problems = append(problems, s.Matches("container's ID", c.ID, containerID))
	}
	return errors.Join(problems...)
}

// Undo implements journal.Change. A container that is gone, or that is not the project's any more, is left alone.
func (c *containerChange) Undo(ctx context.Context, _ string) error {
	e, err := c.Engine.connectAgain(ctx)
	if err != nil {
		return err
	}
	defer e.api.Close()
	if c.Do == create {
		return c.undoCreate(ctx, e)
	}
	found, err := e.inspect(ctx, c.ID, c.Project)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case c.Do == limit:
		return e.update(ctx, found.id, c.Before.resources())
	case c.Do == start && found.running:
		return e.stop(ctx, found.id)
	case c.Do == setAside:
		if found.name == c.Aside {
			if err := e.rename(ctx, found.id, c.Name); err != nil {
				return err
			}
		}
		if c.Running && !found.running {
			return e.start(ctx, found.id)
		}
	}
	return nil
}

// connectAgain connects to the engine that a step was made on, and sees that it is the same.
func (e Engine) connectAgain(ctx context.Context) (*connection, error) {
	c, err := e.connect()
	if err != nil {
		return nil, err
	}
	is, err := c.describe(ctx)
	if err == nil && is.Engine.ID != e.ID {
		err = fmt.Errorf("engine %s: the one at %s has another ID than when it was changed", e.Name, e.Host)
	}
	if err != nil {
		return nil, errors.Join(err, c.api.Close())
	}
	return c, nil
}

func (c *containerChange) undoCreate(ctx context.Context, e *connection) error {
	found, err := e.container(ctx, c.Name)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.Config == nil || found.Config.Labels[labelProject] != c.Project ||
		found.Config.Labels[labelToken] != c.Token {
		return nil // another one
	}
	return e.remove(ctx, found.ID)
}

func (l limits) resources() container.Resources {
	r := container.Resources{Memory: l.Memory, MemorySwap: l.Swap, NanoCPUs: l.NanoCPUs}
	if l.Pids != 0 {
		r.PidsLimit = &l.Pids
	}
	return r
}

func limitsOf(r container.Resources) limits {
	l := limits{Memory: r.Memory, Swap: r.MemorySwap, NanoCPUs: r.NanoCPUs}
	if r.PidsLimit != nil {
		l.Pids = *r.PidsLimit
	}
	return l
}

// stopLimit is the longest that a container may have to stop, and the engine to kill it then.
const stopLimit = (mostStopSeconds + 60) * time.Second

func (c *connection) stop(ctx context.Context, id string) error {
	return c.ask(ctx, "stop container "+id, stopLimit, func(ctx context.Context) error {
		_, err := c.api.ContainerStop(ctx, id, client.ContainerStopOptions{})
		return err
	})
}

func (c *connection) start(ctx context.Context, id string) error {
	return c.ask(ctx, "start container "+id, 0, func(ctx context.Context) error {
		_, err := c.api.ContainerStart(ctx, id, client.ContainerStartOptions{})
		return err
	})
}

func (c *connection) rename(ctx context.Context, id, name string) error {
	return c.ask(ctx, "rename container "+id, 0, func(ctx context.Context) error {
		_, err := c.api.ContainerRename(ctx, id, client.ContainerRenameOptions{NewName: name})
		return err
	})
}

func (c *connection) update(ctx context.Context, id string, to container.Resources) error {
	return c.ask(ctx, "limit container "+id, 0, func(ctx context.Context) error {
		_, err := c.api.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{Resources: &to})
		return err
	})
}

// remove removes a container, and none of its named volumes.
func (c *connection) remove(ctx context.Context, id string) error {
	return c.ask(ctx, "remove container "+id, 0, func(ctx context.Context) error {
		_, err := c.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true})
		if isNotFound(err) {
			return nil
		}
		return err
	})
}
