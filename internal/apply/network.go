package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

func init() { journal.Register("applied network", func() journal.Change { return new(networkChange) }) }

// makeNetwork is the step that makes a network on an engine.
const makeNetwork = "network"

// networkChange is a network that a plan makes on an engine.
type networkChange struct {
	Engine  Engine
	Project string
	Plan    string // its digest
	Name    string
	Token   string // label of the one that is being made
}

// What implements journal.Change.
func (c *networkChange) What() string {
	return fmt.Sprintf("make network %s on engine %s", c.Name, c.Engine.Name)
}

// Prepare implements journal.Change.
func (c *networkChange) Prepare() error { return nil }

var networkName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}\.[A-Za-z0-9][A-Za-z0-9_.-]{0,71}$`)

// Check implements journal.Change.
func (c *networkChange) Check(s journal.Scope) error {
	problems := []error{
		s.OneOf("journal of a project", s.Run(), journalPrefix+c.Project),
		s.Matches("project", c.Project, projectName),
		s.Matches("network's name", c.Name, networkName),
		s.Matches("engine's name", c.Engine.Name, plainName),
		s.Matches("token", c.Token, tokenShape),
	}
	if err := checkHost(c.Engine.Host); err != nil {
		problems = append(problems, s.Foreign("%w", err))
	}
	if !strings.HasPrefix(c.Name, c.Project+".") {
		problems = append(problems, s.Foreign("network %q is not named as one of project %s", c.Name, c.Project))
	}
	return errors.Join(problems...)
}

// Undo implements journal.Change. A network that is gone, or that another step made, is left alone.
func (c *networkChange) Undo(ctx context.Context, _ string) error {
	e, err := c.Engine.connectAgain(ctx)
	if err != nil {
		return err
	}
	defer e.api.Close()
	found, err := e.network(ctx, c.Name)
	if err != nil || found == nil || found.Labels[labelProject] != c.Project || found.Labels[labelToken] != c.Token {
		return err
	}
	return e.removeNetwork(ctx, found.ID)
}

// networkOf returns the name of a network of the project on each of its engines. Names of projects have no dot, so that
// no two projects share one.
func (t *Target) networkOf(a Attachment) string {
	name := t.Project + "." + a.Name
	if a.Internal {
		name += ".internal"
	}
	return name
}

// network returns a network of an engine; nil for none.
func (c *connection) network(ctx context.Context, name string) (found *network.Inspect, err error) {
	err = c.ask(ctx, "look for network "+name, 0, func(ctx context.Context) error {
		r, err := c.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
		if isNotFound(err) {
			return nil
		}
		found = &r.Network
		return err
	})
	return found, err
}

// ownNetworks returns the IDs of the project's networks on an engine, by their names.
func (c *connection) ownNetworks(ctx context.Context, project string) (map[string]string, error) {
	networks := map[string]string{}
	err := c.ask(ctx, "list networks", 0, func(ctx context.Context) error {
		listed, err := c.api.NetworkList(ctx, client.NetworkListOptions{
			Filters: make(client.Filters).Add("label", labelProject+"="+project)})
		for _, n := range listed.Items {
			// Answers of engines are checked: clean removes networks by these names.
			if n.Labels[labelProject] != project || !strings.HasPrefix(n.Name, project+".") {
				continue
			}
			if !networkName.MatchString(n.Name) || !containerID.MatchString(n.ID) {
				return fmt.Errorf("it has a network %q with the ID %q: these are no names", n.Name, n.ID)
			}
			networks[n.Name] = n.ID
		}
		return err
	})
	return networks, err
}

// notOwnNetwork returns a problem where an engine has a network of that name that is not the project's.
func (c *connection) notOwnNetwork(ctx context.Context, name, project string) error {
	found, err := c.network(ctx, name)
	if err != nil || found == nil || found.Labels[labelProject] == project {
		return err
	}
	return problem.New(problem.Protected, fmt.Sprintf("network %s on engine %s", name, c.Name),
		"it is there, and is not of project "+project, "name the project or the network otherwise")
}

// makeNetwork makes a network of the project on an engine.
func (s *scene) makeNetwork(ctx context.Context, j *journal.Journal, step Step) error {
	t, c := s.target, s.connections[step.engine]
	if err := c.notOwnNetwork(ctx, step.Name, t.Project); err != nil {
		return err
	}
	change := &networkChange{Engine: c.Engine, Project: t.Project, Plan: t.Digest, Name: step.Name,
		Token: uuid.NewString()}
	_, err := j.Do(ctx, change, func(string) error {
		return c.ask(ctx, "make network "+step.Name, 0, func(ctx context.Context) error {
			_, err := c.api.NetworkCreate(ctx, step.Name, client.NetworkCreateOptions{Driver: "bridge", Internal: step.internal,
				Labels: map[string]string{labelProject: t.Project, labelToken: change.Token}})
			return err
		})
	})
	return err
}

// removeNetwork removes a network, which an engine refuses while containers use it.
func (c *connection) removeNetwork(ctx context.Context, id string) error {
	return c.ask(ctx, "remove network "+id, 0, func(ctx context.Context) error {
		_, err := c.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		if isNotFound(err) {
			return nil
		}
		return err
	})
}

// networkSteps returns the steps that make networks that are needed, and those that remove the others.
func (s *scene) networkSteps() (made, removed []Step) {
	t := s.target
	needed := make([]map[string]bool, len(t.Engines))
	for i := range t.Services {
		for _, a := range t.Services[i].Networks {
			name := t.networkOf(a)
			for _, engine := range s.places(i) {
				if needed[engine] == nil {
					needed[engine] = map[string]bool{}
				}
				if _, stands := s.networks[engine][name]; !stands && !needed[engine][name] {
					made = append(made, Step{Do: makeNetwork, Name: name, Engine: t.Engines[engine].Name,
						Why: "containers there reach each other on it", engine: engine, internal: a.Internal})
				}
				needed[engine][name] = true
			}
		}
	}
	for engine, networks := range s.networks {
		for name, id := range networks {
			if !needed[engine][name] {
				removed = append(removed, Step{Do: remove, Name: name, Engine: t.Engines[engine].Name,
					Why: "no container of the plan uses this network", engine: engine, network: id})
			}
		}
	}
	return made, removed
}

// endpoint is how a container joins a network.
func endpoint(a Attachment) *network.EndpointSettings {
	return &network.EndpointSettings{Aliases: a.Aliases}
}

// join connects a container to those of its networks that it is not on yet: an engine makes it with the first alone.
func (s *scene) join(ctx context.Context, step Step, id string) error {
	c, service := s.connections[step.engine], &s.target.Services[step.service]
	if len(service.Networks) < 2 {
		return nil
	}
	found, err := c.container(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range service.Networks {
		name := s.target.networkOf(a)
		if found.NetworkSettings != nil && found.NetworkSettings.Networks[name] != nil {
			continue
		}
		err := c.ask(ctx, "connect container "+step.Name+" to network "+name, 0, func(ctx context.Context) error {
			_, err := c.api.NetworkConnect(ctx, name, client.NetworkConnectOptions{Container: id, EndpointConfig: endpoint(a)})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// placed returns a service as it is on an engine: the services that it reaches by ports have the addresses of their
// engines.
func (s *scene) placed(service, engine int) (*Service, problem.List) {
	t := s.target
	placed := t.Services[service]
	var problems problem.List
	hosts := placed.ExtraHosts[:len(placed.ExtraHosts):len(placed.ExtraHosts)]
	for _, name := range placed.Reaches {
		i := t.serviceIndex(name)
		if i < 0 {
			continue
		}
		for _, stands := range s.places(i) {
			if stands == engine {
				continue
			}
			e := t.Engines[stands]
			if e.Address == "" {
				problems = append(problems, problem.Problem{Kind: problem.Unsupported, What: fmt.Sprintf("service %s on engine "+
					"%s reaches %s on engine %s", placed.Name, t.Engines[engine].Name, name, e.Name),
					Why:    "that engine has no address",
					Remedy: "start it with dockerd --label " + addressLabel + "ADDRESS, and plan again"})
				continue
			}
			for _, alias := range t.Services[i].names() {
				hosts = append(hosts, alias+":"+e.Address)
			}
		}
	}
	placed.ExtraHosts = hosts
	return &placed, problems
}

// names returns the names by which others reach a service.
func (s *Service) names() []string {
	if len(s.Networks) == 0 {
		return []string{s.Name}
	}
	return s.Networks[0].Aliases
}
