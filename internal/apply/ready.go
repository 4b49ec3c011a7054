package apply

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/problem"
)

// lookEvery is the time between two looks at a container that another one waits for.
const lookEvery = 200 * time.Millisecond

// await waits until a service's dependencies are as it needs them. It ends when they are, when they cannot become so,
// or with the context: an engine's healthcheck has an end of its own.
func (s *scene) await(ctx context.Context, service *Service) error {
	for _, d := range service.DependsOn {
		i := s.target.serviceIndex(d.Service)
		if i < 0 || d.Condition == types.ServiceConditionStarted {
			continue // steps are in the order of dependencies
		}
		for number, engine := range s.places(i) {
			name := s.target.name(d.Service, number+1)
			c := s.connections[engine]
			for {
				ready, err := c.isReady(ctx, name, s.target.Project, d.Condition)
				if err != nil {
					return fmt.Errorf("service %s waits for container %s on engine %s: %w", service.Name, name, c.Name, err)
				}
				if ready {
					break
				}
				select {
				case <-ctx.Done():
					return fmt.Errorf("service %s waits for container %s on engine %s: %w", service.Name, name, c.Name,
						context.Cause(ctx))
				case <-time.After(lookEvery):
				}
			}
		}
	}
	return nil
}

// isReady reports whether a container meets a condition. The error is for one that cannot.
func (c *connection) isReady(ctx context.Context, name, project, condition string) (bool, error) {
	found, err := c.container(ctx, name)
	if err != nil {
		return false, err
	}
	if found.State == nil || found.Config == nil || found.Config.Labels[labelProject] != project {
		return false, errGone
	}
	ended := found.State.Status == container.StateExited || found.State.Status == container.StateDead
	failed := func(why string) (bool, error) {
		return false, problem.New(problem.Unsupported, "it "+why, "", "docker --context "+c.Name+" logs "+name)
	}
	if condition == types.ServiceConditionCompletedSuccessfully {
		if ended && found.State.ExitCode != 0 {
			return failed(fmt.Sprintf("ended with exit code %d", found.State.ExitCode))
		}
		return ended, nil
	}
	switch {
	case ended:
		return failed("does not run")
	case found.State.Health == nil || found.State.Health.Status == container.NoHealthcheck:
		return false, problem.New(problem.Invalid, "it must become healthy, and has no healthcheck", "",
			"write healthcheck:, or the condition service_started")
	case found.State.Health.Status == container.Unhealthy:
		return failed("is unhealthy")
	}
	return found.State.Health.Status == container.Healthy, nil
}

// copyFiles copies the files of a service into a container that does not run. It does so before each start: a container
// whose making was interrupted has none of them.
func (s *scene) copyFiles(ctx context.Context, step Step, id string) error {
	c, service := s.connections[step.engine], &s.target.Services[step.service]
	if len(service.Files) == 0 {
		return nil
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range service.Files {
		header := &tar.Header{Name: strings.TrimPrefix(f.Target, "/"), Mode: int64(f.Mode), Uid: f.UID, Gid: f.GID,
			Size: int64(len(f.Content))}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.Content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.ask(ctx, "copy secrets and configs into container "+step.Name, 0, func(ctx context.Context) error {
		_, err := c.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: &archive,
			CopyUIDGID: true})
		return err
	})
}

// completed reports whether a container that ends by itself has ended well.
func completed(service *Service, state *container.State) bool {
	return service.Once && state != nil && state.Status == container.StateExited && state.ExitCode == 0
}

// startedOnce returns the error of a look at a container; nil for one that ends by itself, and has ended well since.
func (c *connection) startedOnce(ctx context.Context, service *Service, id string, cause error) error {
	if !service.Once {
		return cause
	}
	found, err := c.container(ctx, id)
	if err != nil {
		return errors.Join(cause, err)
	}
	if completed(service, found.State) {
		return nil
	}
	return cause
}
