// Package advise turns limits that a run measured, a model predicts or a plan has into lines for what sets them:
// Docker, Compose, systemd, Kubernetes, and the kernel's io.cost.
//
// Hazards. Names of containers and classes are other people's: each form quotes them, and comments have them on one
// line. What a form cannot say is left out, and a comment says so.
package advise

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/policies"
	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
)

// Advice is the limits of one container.
type Advice struct {
	Name   string // of the container
	Class  string // of the model; "" for none
	Limits result.Limits
	Cost   string // of the limits, as a sentence
}

// spare is how many times what a container takes a limit is that was derived from it.
const spare = 1.5

// OfRun returns the limits that instances of a run had of their own, with what they cost beside instances without.
func OfRun(run *result.Run) (all []Advice, err error) {
	for _, f := range policies.Find(runview.New(run)) {
		facts, ok := f.Facts.(*policies.Facts)
		if !ok {
			continue
		}
		for _, p := range facts.Policies.Policies {
			at := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == p.Mix })
			if at < 0 {
				continue
			}
			for _, t := range run.Mixes[at].Tenants {
				if !t.Limits.None() {
					all = append(
						all,
						Advice{Name: t.Name + "-" + p.Name, Limits: t.Limits, Cost: measured(p, facts.Policies.Instances)},
					)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no instances of this run had limits of their own that it compares with none: run one with " +
			"policies (plimsoll run policies), or fit a model of it, and ask that")
	}
	return all, nil
}

// measured says what a policy cost.
func measured(p policies.Policy, instances int) string {
	text := fmt.Sprintf("Measured with %d instances: ", instances)
	if p.Throughput == nil {
		return text + "what it costs is not known."
	}
	text += fmt.Sprintf("throughput %s times that without", units.Times(p.Throughput.Ratio))
	if !p.Throughput.Differs {
		text += " (no significant difference)"
	}
	if p.P99 != nil {
		text += fmt.Sprintf(", p99 %s times", units.Times(p.P99.Ratio))
	}
	return text + "."
}

// OfModel returns limits for each class of tenants that stand together on a host: half as much again as what an
// instance is predicted to take there, and what they cost by the model.
func OfModel(m *model.Model, ask model.Ask) (all []Advice, err error) {
	free, err := m.Predict(ask)
	if err != nil {
		return nil, err
	}
	limited := ask
	limited.Tenants = slices.Clone(ask.Tenants)
	for i := range ask.Tenants {
		t := &ask.Tenants[i]
		f, err := m.Find(t.Class)
		if err != nil {
			return nil, err
		}
		rate := float64(free.Tenants[i].Rate.Value) / float64(max(1, t.Count))
		l := derive(f, rate, float64(free.Memories[i])).With(t.Own)
		limited.Tenants[i].Own = l
		all = append(all, Advice{Name: t.Class, Class: t.Class, Limits: l})
	}
	held, err := m.Predict(limited)
	if err != nil {
		for i := range all {
			all[i].Cost = "What they cost is not known: " + err.Error() + "."
		}
		return all, nil
	}
	for i := range all {
		with, without := held.Tenants[i], free.Tenants[i]
		all[i].Cost = fmt.Sprintf("Predicted for %d: %s operations/s, %s without.", with.Count,
			units.Rate(float64(with.Rate.Value)), units.Rate(float64(without.Rate.Value)))
		if with.P99.Value > 0 && without.P99.Value > 0 {
			all[i].Cost += fmt.Sprintf(" p99 %s, %s without.", units.Latency(1e9*float64(with.P99.Value)),
				units.Latency(1e9*float64(without.P99.Value)))
		}
	}
	return all, nil
}

// derive returns limits that leave an instance as much as it takes at a rate, and half as much again. What nobody knows
// is not limited.
func derive(f *model.Fitted, rate, memory float64) (l result.Limits) {
	p := &f.Params
	reads := p.Reads.At(memory) * rate
	if p.Inferred {
		reads = math.NaN() // nobody counted them
	}
	writes := p.Writes.At(rate) * rate
	if cpus := p.CPU.At(p.Reads.At(memory)) * rate; cpus > 0 && !math.IsInf(cpus, 0) {
		l.CPUs = math.Ceil(100*spare*cpus) / 100
	}
	l.MemoryBytes = whole(memory) / 4096 * 4096
	l.Read.OperationsPerSecond = whole(spare * reads)
	l.Write.OperationsPerSecond = whole(spare * writes)
	return l
}

// whole returns a number rounded up, and 0 for one that is none, or that says nothing.
func whole(v float64) int64 {
	if !(v >= 1) || v > 1<<62 {
		return 0
	}
	return int64(math.Ceil(v))
}

// OfPlan returns the limits of each kind of container of a plan: those of the fleet; where it has none, what one is
// predicted to take where it stands, and half as much again.
func OfPlan(d placement.Document, fleet *placement.Fleet, m *model.Model) (all []Advice, err error) {
	if d.Plan == nil {
		return nil, errors.New("it has no plan")
	}
	for _, c := range fleet.Containers {
		if c.Class < 0 || c.Class >= len(m.Classes) {
			return nil, fmt.Errorf("container %s: the model has no class for it", c.Name)
		}
		f := &m.Classes[c.Class]
		a := Advice{Name: c.Name, Class: f.Name, Limits: c.Limits}
		for _, host := range d.Plan.Hosts {
			for _, s := range host.Stands {
				if s.Containers != c.Name {
					continue
				}
				own := "by the fleet"
				if c.Limits.None() {
					l := derive(f, float64(s.Rate.Value), s.Memory)
					a.Limits = atLeast(a.Limits, l)
					own = "half as much again as it is predicted to take"
				}
				a.Cost = fmt.Sprintf("Limits %s. Planned on %s: %s operations/s", own, host.Kind, units.Rate(float64(s.Rate.Value)))
				if s.P99.Value > 0 {
					a.Cost += ", p99 " + units.Latency(1e9*float64(s.P99.Value))
				}
				a.Cost += fmt.Sprintf("; %s of what it would do alone on its best host.", units.Percent(s.Kept))
			}
		}
		if a.Limits.None() {
			continue // it stands nowhere
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.New("no container of the plan stands anywhere")
	}
	return all, nil
}

// atLeast returns limits that leave as much as both.
func atLeast(a, b result.Limits) result.Limits {
	rate := func(a, b result.Rate) result.Rate {
		return result.Rate{BytesPerSecond: max(a.BytesPerSecond, b.BytesPerSecond),
			OperationsPerSecond: max(a.OperationsPerSecond, b.OperationsPerSecond)}
	}
	return result.Limits{CPUs: max(a.CPUs, b.CPUs), MemoryBytes: max(a.MemoryBytes, b.MemoryBytes),
		Read: rate(a.Read, b.Read), Write: rate(a.Write, b.Write)}
}
