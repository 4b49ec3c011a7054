package elasticity

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/model"
	"plimsoll/internal/runview"
)

// What it takes for a model of the run to be believed.
const (
	offAtMost  = 0.1 // on average, for points that it was not fitted to
	timesTried = 4   // of the most instances that were measured is up to where a load line is looked for
)

// doubled predicts the load line with twice of each limit, by a model of this run alone; nil where
// the run does not make one that is good enough.
func doubled(v *runview.View, varied *runview.Varied) *Doubled {
	var objective fact.Objective
	s, i := scalingOf(v, varied)
	if i >= 0 {
		objective = v.Objective(s)
	}
	if varied.Host == nil || objective.Standalone > 0 {
		return nil
	}
	m := runview.Once(v, "model", func() *model.Model {
		m, _ := model.Fit(model.Options{Seed: v.Run.Seed}, v.Run) // why it cannot be is no finding
		return m
	})
	if m == nil {
		return nil
	}
	for i := range m.Classes {
		c := &m.Classes[i]
		if c.Stack != varied.Of.Stack.Name || !c.Has(varied.Of.Workload.Name) {
			continue
		}
		off := float64(max(c.Check.Between.MAPE, c.Check.Beyond.MAPE))
		if !(off <= offAtMost) {
			return nil
		}
		largest := 0
		for _, p := range c.Points {
			largest = max(largest, timesTried*p.Instances)
		}
		line := func(h model.Host) (model.LoadLine, bool) {
			ask := model.Ask{Host: h, Tenants: []model.Tenant{{Class: c.Name, Count: varied.Count, Think: -1}}}
			l, err := m.LoadLine(ask, largest, objective.P99NS/1e9)
			return l, err == nil && l.Instances > 0
		}
		host := c.Measured()
		current, ok := line(host)
		if !ok {
			return nil
		}
		d := &Doubled{Off: off, Line: current.Instances, Measured: measuredOn(c, host)}
		type moved struct {
			host  model.Host
			index int // in d.Moved
		}
		var hosts []moved
		farthest := current.Instances
		for _, limit := range limitsVaried {
			twice, limited := host.Times(limit.key, 2)
			if !limited {
				continue
			}
			if l, ok := line(twice); ok {
				d.Moved = append(d.Moved, Moved{Limit: limit.key, Resource: limit.resource, Instances: l.Instances, Low: l.Low,
					High: l.High, Most: largest})
				hosts = append(hosts, moved{twice, len(d.Moved) - 1})
				farthest = max(farthest, l.High)
			}
		}
		// As far as to see where it falls again.
		numbers := spread(min(largest, farthest+farthest/2))
		curve := func(h model.Host) (points []Carried) {
			for _, n := range numbers {
				a, err := m.Predict(model.Ask{Host: h, Tenants: []model.Tenant{{Class: c.Name, Count: n, Think: -1}}})
				if err == nil {
					points = append(points, Carried{Instances: n, Rate: float64(a.Rate.Value), Low: float64(a.Rate.Low),
						High: float64(a.Rate.High)})
				}
			}
			return points
		}
		d.Curve = curve(host)
		for _, h := range hosts {
			d.Moved[h.index].Curve = curve(h.host)
		}
		return d
	}
	return nil
}

// measuredOn are the points of a class that were measured on a host.
func measuredOn(c *model.Fitted, host model.Host) (points []Carried) {
	for _, p := range c.Points {
		if p.Host == host {
			points = append(points, Carried{Instances: p.Instances, Rate: p.Rate()})
		}
	}
	return points
}

// spread are numbers from 1 to most: all of them, or some where they are many.
func spread(limit int) (numbers []int) {
	const enough = 20
	for n := 1; n <= limit; n += 1 + limit/enough {
		numbers = append(numbers, n)
	}
	return numbers
}
