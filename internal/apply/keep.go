package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
)

// mostKept is how many engines are kept: nothing takes over where the host that keeps them fails.
const mostKept = 8

// Keeping is how a plan is kept.
type Keeping struct {
	Rules    Rules
	Interval time.Duration
	Log      string             // file of the decisions
	Limits   map[string]float64 // of p99 in seconds, by service

	// P99s watches the engines' hosts for the interval, and returns p99s of block I/O in seconds by IDs of containers.
	P99s func(ctx context.Context, engines []Engine, interval time.Duration) (map[string]float64, error)
	// Room returns the p99 that a model predicts of a service's containers on an engine with so many containers of
	// each service, or why these do not all fit there.
	Room func(engine string, counts map[string]int, service string) (p99 float64, full string)

	Made    func(Step)
	Decided func([]Decision)

	now func() time.Time // nil for the clock
}

// Keep makes the target true and keeps it so, until the context ends: what differs is made again, and a container
// whose limit is broken is moved. A decision is in the log before it is made true, so that the next Keep with the log
// finishes it.
func Keep(ctx context.Context, t *Target, state string, k Keeping) (err error) {
	if len(t.Engines) > mostKept {
		return problem.New(problem.Unsupported, fmt.Sprintf("a plan of %d engines", len(t.Engines)), fmt.Sprintf(
			"--watch keeps at most %d: if this host fails, no other host takes over", mostKept),
			"use Kubernetes: docs/tutorials/3-kubernetes-first-pod.md")
	}
	for _, e := range t.Engines {
		if strings.HasPrefix(e.Host, "tcp://") {
			return problem.New(problem.Unsupported, "engine "+e.Name+" at "+e.Host, "over TLS it cannot be seen what its "+
				"containers' requests wait for: --watch looks at the host itself",
				"use a context of ssh://root@HOST, and plan again")
		}
	}
	if len(k.Limits) == 0 {
		return problem.New(problem.Invalid, "project "+t.Project, "no service has a limit of p99 that could be kept",
			"add the label plimsoll.p99-limit, and plan again")
	}
	places, err := t.standingPlaces(ctx)
	if err != nil {
		return err
	}
	log, err := openDecisions(k.Log, t.Digest, k.Rules, places)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.file.Close()) }()
	for {
		kept, err := t.withPlaces(log.places)
		if err != nil {
			return fmt.Errorf("log %s: %w", k.Log, err)
		}
		if err := Apply(ctx, kept, state, k.Made); err != nil {
			return err
		}
		p99s, err := k.P99s(ctx, t.Engines, k.Interval)
		if ctx.Err() != nil {
			return nil // it was interrupted where nothing was under way
		}
		if err != nil {
			return err
		}
		look, err := kept.observe(ctx, k, p99s)
		if err != nil {
			return err
		}
		decided, err := log.decide(look)
		if err != nil {
			return fmt.Errorf("log %s: %w", k.Log, err)
		}
		k.Decided(decided)
	}
}

// standingPlaces returns the name of the engine of each container: where it stands, as far as the plan has it there.
func (t *Target) standingPlaces(ctx context.Context) (map[string]string, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	places := map[string]string{}
	for i, service := range t.Services {
		for n, engine := range s.places(i) {
			places[t.name(service.Name, n+1)] = t.Engines[engine].Name
		}
	}
	return places, nil
}

// withPlaces returns the target with its containers on the named engines. A journal takes it for the same plan: an
// apply of the plan takes the containers over.
func (t *Target) withPlaces(places map[string]string) (*Target, error) {
	kept := *t
	kept.places = nil
	for _, service := range t.Services {
		var engines []int
		for n := range service.Replicas {
			name := t.name(service.Name, n+1)
			e := slices.IndexFunc(t.Engines, func(e Engine) bool { return e.Name == places[name] })
			if e < 0 {
				return nil, fmt.Errorf("container %s is on engine %q, which the plan does not have", name, places[name])
			}
			engines = append(engines, e)
		}
		kept.places = append(kept.places, engines)
	}
	return &kept, nil
}

// observe returns a look at the containers of services that have limits.
func (t *Target) observe(ctx context.Context, k Keeping, p99s map[string]float64) (Look, error) {
	s, err := t.open(ctx)
	if err != nil {
		return Look{}, err
	}
	defer s.close()
	l := Look{Time: time.Now()}
	if k.now != nil {
		l.Time = k.now()
	}
	for i, service := range t.Services {
		limit := k.Limits[service.Name]
		if limit == 0 {
			continue
		}
		for n, engine := range t.places[i] {
			o := Observed{Name: t.name(service.Name, n+1), Engine: t.Engines[engine].Name, Limit: limit}
			if stands := s.find(service.Name, n+1, engine); stands != nil {
				o.P99, o.Volumes = p99s[stands.id], stands.volumes
			}
			if o.P99 > margin*limit {
				o.Rooms = t.rooms(k, i, engine)
			}
			l.Containers = append(l.Containers, o)
		}
	}
	slices.SortFunc(l.Containers, func(a, b Observed) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// rooms returns the rooms of a service on all engines but one.
func (t *Target) rooms(k Keeping, service, from int) (rooms []Room) {
	for e, engine := range t.Engines {
		if e == from {
			continue
		}
		counts := map[string]int{t.Services[service].Name: 1}
		for i, s := range t.Services {
			for _, place := range t.places[i] {
				if place == e {
					counts[s.Name]++
				}
			}
		}
		r := Room{Engine: engine.Name}
		if len(t.Services[service].Networks) > 0 {
			r.Full = "it reaches others here by their names"
			rooms = append(rooms, r)
			continue
		}
		r.P99, r.Full = k.Room(engine.Name, counts, t.Services[service].Name)
		rooms = append(rooms, r)
	}
	return rooms
}
