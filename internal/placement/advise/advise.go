// Package advise turns limits that a run measured, a model predicts or a plan has into lines for what sets them:
// Docker, Compose, systemd, Kubernetes, and the kernel's io.cost.
//
// Hazards. Names of containers and classes are other people's: each form quotes them, and comments have them on one
// line. What a form cannot say is left out, and a comment says so.
package advise

import (
	"cmp"
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
	Left   string // which limit was left out, and why; "" for none
}

// spare is the ratio of a derived limit to what a container takes.
const spare = 1.5

// OfRun returns the limits that instances of a run had of their own, with what they cost beside instances without.
func OfRun(run *result.Run) (out []Advice, err error) {
	for _, finding := range policies.Find(runview.New(run)) {
		facts, ok := finding.Facts.(*policies.Facts)
		if !ok {
			continue
		}
		for _, policy := range facts.Policies.Policies {
			index := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == policy.Mix })
			if index < 0 {
				continue
			}
			for _, tenant := range run.Mixes[index].Tenants {
				if !tenant.Limits.None() {
					out = append(out, Advice{Name: tenant.Name + "-" + policy.Name, Limits: tenant.Limits,
						Cost: measured(policy, facts.Policies.Instances)})
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no instances of this run had limits of their own that it compares with none: run one with " +
			"policies (plimsoll run policies), or fit a model of it, and ask that")
	}
	return out, nil
}

// measured returns what a policy cost, as a sentence.
func measured(policy policies.Policy, instances int) string {
	text := fmt.Sprintf("Measured with %d instances: ", instances)
	if policy.Throughput == nil {
		return text + "what it costs is not known."
	}
	text += fmt.Sprintf("throughput %s times that without", units.Times(policy.Throughput.Ratio))
	if !policy.Throughput.Differs {
		text += " (no significant difference)"
	}
	if policy.P99 != nil {
		text += fmt.Sprintf(", p99 %s times", units.Times(policy.P99.Ratio))
	}
	return text + "."
}

// OfModel returns limits for each class of tenants that stand together on a host: half as much again as what an
// instance is predicted to take there, and what they cost by the model.
func OfModel(fitted *model.Model, ask model.Ask) (out []Advice, err error) {
	free, err := fitted.Predict(ask)
	if err != nil {
		return nil, err
	}
	limited := ask
	limited.Tenants = slices.Clone(ask.Tenants)
	for i := range ask.Tenants {
		tenant := &ask.Tenants[i]
		class, err := fitted.Find(tenant.Class)
		if err != nil {
			return nil, err
		}
		rate := float64(free.Tenants[i].Rate.Value) / float64(max(1, tenant.Count))
		limits, cold := derive(class, rate, float64(free.Memories[i]))
		limits = limits.With(tenant.Own)
		limited.Tenants[i].Own = limits
		out = append(out, Advice{Name: tenant.Class, Class: tenant.Class, Limits: limits, Left: cold})
	}
	held, err := fitted.Predict(limited)
	if err != nil {
		for i := range out {
			out[i].Cost = "What they cost is not known: " + err.Error() + "."
		}
		return out, nil
	}
	for i := range out {
		bounded, unbounded := held.Tenants[i], free.Tenants[i]
		out[i].Cost = fmt.Sprintf("Predicted for %d: %s operations/s, %s without.", bounded.Count,
			units.Rate(float64(bounded.Rate.Value)), units.Rate(float64(unbounded.Rate.Value)))
		if bounded.P99.Value > 0 && unbounded.P99.Value > 0 {
			out[i].Cost += fmt.Sprintf(" p99 %s, %s without.", units.Latency(1e9*float64(bounded.P99.Value)),
				units.Latency(1e9*float64(unbounded.P99.Value)))
		}
	}
	return out, nil
}

// coldShare is the least share of its rate that a container keeps under a limit on reads while its page cache is empty.
const coldShare = 0.5

// derive returns limits of spare times what an instance takes at a rate. Unknown values are not limited. Reads are not
// limited if a container with an empty page cache could not start under the limit; left is the sentence on that.
func derive(class *model.Fitted, rate, memory float64) (limits result.Limits, left string) {
	params := &class.Params
	reads := params.Reads.At(memory) * rate
	if params.Inferred {
		reads = math.NaN() // they were not counted
	}
	writes := params.Writes.At(rate) * rate
	if cpus := params.CPU.At(params.Reads.At(memory)) * rate; cpus > 0 && !math.IsInf(cpus, 0) {
		limits.CPUs = math.Ceil(100*spare*cpus) / 100
	}
	limits.MemoryBytes = whole(memory) / 4096 * 4096
	limits.Read.OperationsPerSecond = whole(spare * reads)
	// An operation that finds nothing in the cache reads the device once or more.
	if cold := rate * max(1, params.Reads.At(1)); limits.Read.OperationsPerSecond > 0 && spare*reads < coldShare*cold {
		left = fmt.Sprintf("no limit on reads: it takes %s reads/s once its data are in memory, and up to %s reads/s "+
			"after a start",
			units.Rate(reads), units.Rate(cold))
		limits.Read.OperationsPerSecond = 0
	}
	limits.Write.OperationsPerSecond = whole(spare * writes)
	return limits, left
}

// whole returns a number rounded up; 0 for NaN, for numbers below 1 and for numbers beyond int64.
func whole(v float64) int64 {
	if !(v >= 1) || v > 1<<62 {
		return 0
	}
	return int64(math.Ceil(v))
}

// OfPlan returns the limits of each kind of container of a plan: those of the fleet, or, if the fleet has none, spare
// times what one container is predicted to take on its host.
func OfPlan(document placement.Document, fleet *placement.Fleet, fitted *model.Model) (out []Advice, err error) {
	if document.Plan == nil {
		return nil, errors.New("it has no plan")
	}
	for _, containers := range fleet.Containers {
		if containers.Class < 0 || containers.Class >= len(fitted.Classes) {
			return nil, fmt.Errorf("container %s: the model has no class for it", containers.Name)
		}
		class := &fitted.Classes[containers.Class]
		advice := Advice{Name: containers.Name, Class: class.Name, Limits: containers.Limits}
		for _, host := range document.Plan.Hosts {
			for _, stands := range host.Stands {
				if stands.Containers != containers.Name {
					continue
				}
				source := "by the fleet"
				if containers.Limits.None() {
					derived, cold := derive(class, float64(stands.Rate.Value), stands.Memory)
					advice.Limits, advice.Left = atLeast(advice.Limits, derived), cmp.Or(advice.Left, cold)
					source = "half as much again as it is predicted to take"
				}
				advice.Cost = fmt.Sprintf("Limits %s. Planned on %s: %s operations/s", source, host.Kind,
					units.Rate(float64(stands.Rate.Value)))
				if stands.P99.Value > 0 {
					advice.Cost += ", p99 " + units.Latency(1e9*float64(stands.P99.Value))
				}
				advice.Cost += fmt.Sprintf("; %s of what it would do alone on its best host.", units.Percent(stands.Kept))
			}
		}
		if advice.Limits.None() {
			continue // it stands nowhere
		}
		if advice.Left != "" {
			advice.Limits.Read.OperationsPerSecond = 0
		}
		out = append(out, advice)
	}
	if len(out) == 0 {
		return nil, errors.New("the plan places no container")
	}
	return out, nil
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
