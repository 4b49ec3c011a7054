package elasticity

import (
	"plimsoll/internal/finding/fact"
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
func doubled(v *runview.View, of *runview.Varied, objective fact.Objective) *Doubled {
	if of.Host == nil || objective.Standalone > 0 {
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
		if c.Stack != of.Of.Stack.Name || !c.Has(of.Of.Workload.Name) {
			continue
		}
		off := float64(max(c.Check.Between.MAPE, c.Check.Beyond.MAPE))
		if !(off <= offAtMost) {
			return nil
		}
		most := 0
		for _, p := range c.Points {
			most = max(most, timesTried*p.Instances)
		}
		line := func(h model.Host) (model.LoadLine, bool) {
			ask := model.Ask{Host: h, Tenants: []model.Tenant{{Class: c.Name, Count: of.Count, Think: -1}}}
			l, err := m.LoadLine(ask, most, objective.P99NS/1e9)
			return l, err == nil && l.Instances > 0
		}
		host := c.Measured()
		as, ok := line(host)
		if !ok {
			return nil
		}
		d := &Doubled{Off: off, Line: as.Instances, Measured: measuredOn(c, host)}
		type moved struct {
			host model.Host
			at   int // in d.Moved
		}
		var hosts []moved
		farthest := as.Instances
		for _, limit := range limitsVaried {
			twice, limited := host.Times(limit.key, 2)
			if !limited {
				continue
			}
			if l, ok := line(twice); ok {
				d.Moved = append(d.Moved, Moved{Limit: limit.key, Resource: limit.of, Instances: l.Instances, Low: l.Low,
					High: l.High, Most: most})
				hosts = append(hosts, moved{twice, len(d.Moved) - 1})
				farthest = max(farthest, l.High)
			}
		}
		// As far as to see where it falls again.
		numbers := spread(min(most, farthest+farthest/2))
		curve := func(h model.Host) (all []Carried) {
			for _, n := range numbers {
				a, err := m.Predict(model.Ask{Host: h, Tenants: []model.Tenant{{Class: c.Name, Count: n, Think: -1}}})
				if err == nil {
					all = append(all, Carried{Instances: n, Rate: float64(a.Rate.Value), Low: float64(a.Rate.Low),
						High: float64(a.Rate.High)})
				}
			}
			return all
		}
		d.Curve = curve(host)
		for _, h := range hosts {
			d.Moved[h.at].Curve = curve(h.host)
		}
		return d
	}
	return nil
}

// measuredOn are the points of a class that were measured on a host.
func measuredOn(c *model.Fitted, host model.Host) (all []Carried) {
	for _, p := range c.Points {
		if p.Host == host {
			all = append(all, Carried{Instances: p.Instances, Rate: p.Rate()})
		}
	}
	return all
}

// spread are numbers from 1 to most: all of them, or some where they are many.
func spread(most int) (all []int) {
	const enough = 20
	for n := 1; n <= most; n += 1 + most/enough {
		all = append(all, n)
	}
	return all
}
