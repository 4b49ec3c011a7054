package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/problem"
)

// Labels of containers that are Plimsoll's.
const (
	labelProject = labelPrefix + "project"
	labelService = labelPrefix + "service"
	labelNumber  = labelPrefix + "number"
	labelSpec    = labelPrefix + "spec"  // of the service that the container was made from
	labelToken   = labelPrefix + "token" // of the step that made it
)

// asideInfix is in the name of a container that another one replaces, until the plan is applied.
const asideInfix = "-aside-"

// Kinds of steps.
const (
	create   = "create"
	limit    = "limit"
	start    = "start"
	setAside = "set aside"
	remove   = "remove"
)

// Step is one change to an engine.
type Step struct {
	Do     string `json:"do"`
	Name   string `json:"container"`
	Engine string `json:"engine"`
	Why    string `json:"why,omitempty"`

	engine, service, number int
	stands                  *standing // that it changes; nil for what is to be made
	network                 string    // ID of the network that it removes
	internal                bool      // whether the network that it makes has no way out
}

// standing is a container of the project on an engine.
type standing struct {
	engine    int
	id, name  string
	service   string
	number    int
	spec      string
	running   bool
	state     *container.State
	aside     bool
	volumes   bool
	pid       int
	resources container.Resources
	held      held
}

// scene is what stands on the engines of a target.
type scene struct {
	target      *Target
	connections []*connection
	stands      []standing
	names       []map[string]bool   // of all containers of each engine that are not the project's
	networks    []map[string]string // IDs of the project's networks of each engine, by their names
}

// open connects to the engines, and sees that they are those of the plan.
func (t *Target) open(ctx context.Context) (_ *scene, err error) {
	s := &scene{target: t}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, e := range t.Engines {
		c, err := e.connect()
		if err != nil {
			return nil, err
		}
		s.connections = append(s.connections, c)
		is, err := c.describe(ctx)
		if err != nil {
			return nil, err
		}
		if is.Engine.ID != e.ID {
			return nil, problem.New(problem.Protected, "engine "+e.Name, fmt.Sprintf("the one at %s has the ID %q, and the "+
				"plan was made for %q", e.Host, is.Engine.ID, e.ID), "make the plan again, if this is the engine that is meant")
		}
	}
	return s, s.look(ctx)
}

func (s *scene) close() {
	for _, c := range s.connections {
		_ = c.api.Close() // nothing is written there
	}
}

// look asks each engine for the project's containers, and for the names of others.
func (s *scene) look(ctx context.Context) error {
	s.stands, s.names, s.networks = nil, nil, nil
	for i, c := range s.connections {
		names := map[string]bool{}
		var listed client.ContainerListResult
		err := c.ask(ctx, "list containers", 0, func(ctx context.Context) (err error) {
			listed, err = c.api.ContainerList(ctx, client.ContainerListOptions{All: true})
			return err
		})
		if err != nil {
			return err
		}
		for _, item := range listed.Items {
			if item.Labels[labelProject] != s.target.Project {
				for _, name := range item.Names {
					names[strings.TrimPrefix(name, "/")] = true
				}
				continue
			}
			found, err := c.inspect(ctx, item.ID, s.target.Project)
			if errors.Is(err, errGone) {
				continue
			}
			if err != nil {
				return err
			}
			found.engine = i
			i := s.target.serviceIndex(found.service)
			if i >= 0 && found.running {
				found.held, err = c.readHeld(found.id, found.pid, s.target.Services[i].Limits.Device)
				if err != nil {
					return err
				}
			}
			s.stands = append(s.stands, *found)
		}
		s.names = append(s.names, names)
		networks, err := c.ownNetworks(ctx, s.target.Project)
		if err != nil {
			return err
		}
		s.networks = append(s.networks, networks)
	}
	return nil
}

// errGone is of a container that is not there, or not the project's.
var errGone = errors.New("there is no such container of the project")

// inspect returns a container of the project, by its ID or name.
func (c *connection) inspect(ctx context.Context, id, project string) (*standing, error) {
	found, err := c.container(ctx, id)
	if err != nil {
		return nil, err
	}
	if found.Config == nil || found.State == nil || found.HostConfig == nil ||
		found.Config.Labels[labelProject] != project {
		return nil, errGone
	}
	s := &standing{
		id:        found.ID,
		name:      strings.TrimPrefix(found.Name, "/"),
		service:   found.Config.Labels[labelService],
		spec:      found.Config.Labels[labelSpec],
		running:   found.State.Running,
		state:     found.State,
		pid:       found.State.Pid,
		volumes:   len(found.Mounts) > 0,
		resources: found.HostConfig.Resources,
	}
	s.number, _ = strconv.Atoi(found.Config.Labels[labelNumber])
	s.aside = strings.Contains(s.name, asideInfix)
	if !plainName.MatchString(s.service) || !containerName.MatchString(s.name) || !containerID.MatchString(s.id) {
		return nil, fmt.Errorf("engine %s has a container %q of service %q: these are no names", c.Name, s.name, s.service)
	}
	return s, nil
}

func (c *connection) container(ctx context.Context, id string) (found container.InspectResponse, err error) {
	err = c.ask(ctx, "inspect container "+id, 0, func(ctx context.Context) error {
		r, err := c.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		found = r.Container
		if isNotFound(err) {
			return errGone
		}
		return err
	})
	return found, err
}

// name returns the name of a container.
func (t *Target) name(service string, number int) string {
	return fmt.Sprintf("%s-%s-%d", t.Project, service, number)
}

// steps returns what makes the target of what stands, and the problems that no step solves.
func (s *scene) steps() (steps []Step, problems problem.List) {
	t := s.target
	wrong := func(kind problem.Kind, subject, why, remedy string) {
		problems = append(problems, problem.Problem{Kind: kind, What: subject, Why: why, Remedy: remedy})
	}
	step := func(do, name, why string, engine int, stands *standing) Step {
		return Step{Do: do, Name: name, Engine: t.Engines[engine].Name, Why: why, engine: engine, stands: stands}
	}
	kept := map[*standing]bool{}
	var come, removed []Step
	for i := range t.Services {
		service := &t.Services[i]
		for number, engine := range s.places(i) {
			number++
			name := t.name(service.Name, number)
			if s.names[engine][name] {
				wrong(problem.Protected, fmt.Sprintf("container %s on engine %s", name, t.Engines[engine].Name),
					"a container of another project has its name", "rename it, or name the project otherwise")
			}
			made := func(why string) {
				for _, do := range []string{create, start} {
					add := step(do, name, why, engine, nil)
					add.service, add.number = i, number
					come = append(come, add)
				}
			}
			found := s.find(service.Name, number, engine)
			placed, unreached := s.placed(i, engine)
			problems = append(problems, unreached...)
			switch {
			case found == nil:
				for j := range s.stands {
					if o := &s.stands[j]; !o.aside && o.service == service.Name && o.number == number &&
						len(service.Volumes) > 0 {
						wrong(problem.Protected, fmt.Sprintf("container %s on engine %s", name, t.Engines[o.engine].Name),
							"the plan has it on engine "+t.Engines[engine].Name+", where its volumes are not",
							"add the label plimsoll.on: "+t.Engines[o.engine].Name+" and plan again, or move its data yourself")
					}
				}
				made("it is in the plan")
			case found.spec != placed.spec():
				kept[found] = true
				come = append(come, step(setAside, name, "its service has changed", engine, found))
				made("its service has changed")
			default:
				kept[found] = true
				want := resources(service.Limits)
				kernel, io := found.held.differs(service.Limits)
				if why := ioDiffers(found.resources, want); why != "" || io {
					why = cmp.Or(why, kernel)
					// An engine changes these for no container that stands.
					come = append(come, step(setAside, name, why, engine, found))
					made(why)
					continue
				}
				if why := cmp.Or(differs(found.resources, want), kernel); why != "" {
					add := step(limit, name, why, engine, found)
					add.service, add.number = i, number
					come = append(come, add)
				}
				if !found.running && !completed(service, found.state) {
					add := step(start, name, "it does not run", engine, found)
					add.service, add.number = i, number
					come = append(come, add)
				}
			}
		}
	}
	for i := range s.stands {
		o := &s.stands[i]
		switch {
		case o.aside:
			removed = append(removed, step(remove, o.name, "another one has replaced it", o.engine, o))
		case !kept[o]:
			why := "it is not in the plan"
			if t.places != nil && t.name(o.service, o.number) == o.name {
				why = "the plan places it on another engine"
			}
			steps = append(steps, step(setAside, o.name, why, o.engine, o))
		}
	}
	made, unused := s.networkSteps()
	steps = slices.Concat(steps, made, come)
	for _, a := range steps {
		if a.Do == setAside {
			removed = append(removed, step(remove, t.aside(a.Name), a.Why, a.engine, a.stands))
		}
	}
	return slices.Concat(steps, removed, unused), problems
}

// serviceIndex returns the place of a service in the target; -1 for none.
func (t *Target) serviceIndex(name string) int {
	return slices.IndexFunc(t.Services, func(s Service) bool { return s.Name == name })
}

// aside returns the name under which a container waits to be removed.
func (t *Target) aside(name string) string { return name + asideInfix + t.Digest[:8] }

// find returns the container of a service with a number on an engine; nil for none.
func (s *scene) find(service string, number, engine int) *standing {
	for i := range s.stands {
		o := &s.stands[i]
		if !o.aside && o.service == service && o.number == number && o.engine == engine {
			return o
		}
	}
	return nil
}

// places returns the engine of each container of a service, by its number from 1. Those that stand stay where they
// are, as far as the plan has a place there.
func (s *scene) places(service int) []int {
	if s.target.places != nil {
		return s.target.places[service]
	}
	left := slices.Clone(s.target.counts[service])
	places := make([]int, s.target.Services[service].Replicas)
	for i := range places {
		places[i] = -1
		for engine, n := range left {
			if n > 0 && s.find(s.target.Services[service].Name, i+1, engine) != nil {
				places[i] = engine
				left[engine]--
				break
			}
		}
	}
	for i := range places {
		if places[i] < 0 {
			places[i] = slices.IndexFunc(left, func(n int) bool { return n > 0 })
			left[places[i]]--
		}
	}
	return places
}
