package apply

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// Deployment is what apply needs beside a plan to make it true. It is a part of the plan's file.
type Deployment struct {
	Project  string           `json:"project"`
	Compose  result.InputFile `json:"compose"`
	Engines  []Engine         `json:"engines"`
	Services []Service        `json:"services"` // in the order in which they are started
	Groups   []Group          `json:"groups,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
}

// Target is how many containers of each service are to stand on each engine.
type Target struct {
	Deployment
	Digest string // of all of it

	counts [][]int // by service and engine
	places [][]int // engine of each container, by service and number from 0; nil for any that fit the counts
}

// ReadPlan reads the file of a plan that was made of a Compose file. Its values are checked like those of a Compose
// file: files can be edited, and come from other people.
func ReadPlan(text []byte) (*Target, error) {
	var doc struct {
		Kind string
		Plan struct {
			Hosts []struct {
				Hosts      []string
				Containers []struct {
					Containers string
					Count      int
				}
			}
		}
		Deployment *Deployment
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, problem.New(
			problem.Invalid,
			"this is no plan",
			err.Error(),
			"plimsoll plan --output plan.json writes one",
		)
	}
	if doc.Kind != "plimsoll plan" || doc.Deployment == nil {
		return nil, problem.New(problem.Invalid, "this is no plan of a Compose file", "",
			"make one: plimsoll plan --compose compose.yaml --contexts a,b --model model.json -o plan.json")
	}
	t := &Target{Deployment: *doc.Deployment}
	problems := t.check()
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	for range t.Services {
		t.counts = append(t.counts, make([]int, len(t.Engines)))
	}
	wrong := func(format string, args ...any) {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf(format, args...),
			Remedy: "make the plan again"})
	}
	for _, filled := range doc.Plan.Hosts {
		for _, host := range filled.Hosts {
			e := slices.IndexFunc(t.Engines, func(e Engine) bool { return e.Name == host })
			for _, stands := range filled.Containers {
				s := t.serviceIndex(stands.Containers)
				if e < 0 || s < 0 || stands.Count < 0 || stands.Count > mostReplicas {
					wrong("%d of %q on host %q: the plan knows no such service, or no such engine", stands.Count,
						stands.Containers, host)
					continue
				}
				t.counts[s][e] += stands.Count
			}
		}
	}
	for i, s := range t.Services {
		if n := sum(t.counts[i]); n != s.Replicas {
			wrong("the plan has places for %d of %d containers of service %q", n, s.Replicas, s.Name)
		}
	}
	t.Digest = digest([]any{t.Deployment, t.counts})
	return t, problems.Err()
}

func (d *Deployment) check() (problems problem.List) {
	wrong := func(what string) { problems = append(problems, problem.Problem{Kind: problem.Invalid, What: what}) }
	if !projectName.MatchString(d.Project) {
		wrong(fmt.Sprintf("project %q: this is no name", d.Project))
	}
	names := map[string]bool{}
	for _, e := range d.Engines {
		if !plainName.MatchString(e.Name) || names[e.Name] || e.ID == "" || names["ID "+e.ID] {
			wrong(fmt.Sprintf("engine %q: this is no name, or one is there twice", e.Name))
		}
		names[e.Name], names["ID "+e.ID] = true, true
		if err := checkHost(e.Host); err != nil {
			wrong(err.Error())
		}
		if _, err := netip.ParseAddr(e.Address); e.Address != "" && err != nil {
			wrong(fmt.Sprintf("engine %q: %q is no address", e.Name, e.Address))
		}
	}
	names = map[string]bool{}
	for _, s := range d.Services {
		problems = append(problems, s.check()...)
		if names[s.Name] {
			wrong(fmt.Sprintf("service %q is there twice", s.Name))
		}
		names[s.Name] = true
	}
	return problems
}

// Nothing returns the target at which no container of the project stands.
func (t *Target) Nothing() *Target {
	none := &Target{Deployment: t.Deployment}
	none.Services = nil
	none.Digest = digest([]any{none.Deployment})
	return none
}

func sum(all []int) (n int) {
	for _, i := range all {
		n += i
	}
	return n
}
