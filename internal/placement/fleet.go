// Package placement says which containers stand on which host and drive, by what a model predicts
// that they would do there together.
//
// What is placed on a host, so many of each demand on each of its drives, is a filling. Equal hosts
// are of one kind, and what a filling does on a kind is predicted once. A plan is so many hosts of
// each kind with each filling: a small fleet's is found exactly, by dynamic programming over what is
// left to place; a larger one's by column generation (Gilmore and Gomory, A linear programming
// approach to the cutting-stock problem, 1961), rounded, and then improved move by move.
//
// The package is pure.
package placement

import (
	"cmp"
	"slices"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
)

// Fleet has the containers to place and the hosts to place them on.
type Fleet struct {
	Hosts      []Hosts
	Containers []Containers
	Objective  Objective
	Headroom   float64    // share of each resource of each host that is left free
	Now        []Standing // where containers stand; nil where none does
	MostMoves  int        // of those that stand somewhere; 0 for as many as it takes
}

// Objective orders plans.
type Objective string

// The objectives.
const (
	Throughput Objective = "throughput" // the most operations a second of all
	FewHosts   Objective = "hosts"      // the fewest hosts, or the cheapest where they have prices
	WorstP99   Objective = "p99"        // the least of the greatest p99
	// the most of what each would do alone on its best host, for the one that keeps least of it
	Fairness Objective = "fairness"
)

// Objectives are all of them, and what each asks for.
func Objectives() [][2]string {
	return [][2]string{{string(Throughput), "the most operations a second of all"},
		{string(FewHosts), "the fewest hosts, or the cheapest where they have prices"},
		{string(WorstP99), "the least of the greatest p99"},
		{string(Fairness), "the most of what each would do alone, for the one that keeps least of it"}}
}

// Hosts are equal hosts.
type Hosts struct {
	Name  string
	Count int
	Is    model.HostKind
	Price float64 // of one, for FewHosts; 0 is 1

	Names []string     // of each; nil for numbers behind the name
	Model *model.Model // of what stands on them, which knows classes by the same names; nil for the fleet's
}

// Containers are equal containers.
type Containers struct {
	Name  string
	Class int // of the model's
	Count int

	Limits    result.Limits // of each
	Weight    float64       // of an operation, beside those of other containers; 0 is 1
	LeastRate float64       // operations a second of each; 0 for any
	MostP99   float64       // s; 0 for any
	Apart     bool          // no two stand on one host: replicas
	Beside    []int         // they stand only where some of these containers do, too
	Away      []int         // they stand nowhere where any of these do
	On        []int         // kinds of hosts that they may stand on; nil for all
	Drives    map[int]int   // of a kind of hosts: the drive that they stand on there, by its number; any without
	Data      int64         // bytes of each, which a move to or from a local drive copies
}

// weight is what an operation counts where all that is done is added up.
func (c *Containers) weight() float64 { return cmp.Or(c.Weight, 1) }

// Standing is some containers on one host.
type Standing struct {
	Host       string // "big-3": the third of the hosts big
	Containers int    // of the fleet's
	Drive      int    // of the host's; -1 where it has none
	Count      int
}

// roomy returns the kinds of hosts without what is to be left free. Those that share a target still do, and nobody else
// uses it: how many do is for the search to say.
func (f *Fleet) roomy() (all []model.HostKind) {
	keep := 1 - f.Headroom
	scale := func(n *int64) { *n = int64(float64(*n) * keep) }
	targets := map[*model.Target]*model.Target{}
	for _, hosts := range f.Hosts {
		k := hosts.Is
		h := &k.Host
		h.CPUs, h.Machine, h.NIC = h.CPUs*keep, h.Machine*keep, h.NIC*keep
		scale(&h.MemoryBytes)
		for _, r := range []*result.Rate{&h.Read, &h.Write, &h.IO} {
			scale(&r.OperationsPerSecond)
			scale(&r.BytesPerSecond)
		}
		k.Drives = slices.Clone(k.Drives)
		for i := range k.Drives {
			d := &k.Drives[i]
			for _, s := range []*model.Side{&d.Is.Read, &d.Is.Write} {
				s.IOPS, s.Bandwidth = s.IOPS*model.Number(keep), s.Bandwidth*model.Number(keep)
			}
			if d.Target == nil {
				continue
			}
			if targets[d.Target] == nil {
				t := *d.Target
				t.CPUs, t.NIC, t.Initiators = t.CPUs*keep, t.NIC*keep, 1
				targets[d.Target] = &t
			}
			d.Target = targets[d.Target]
		}
		all = append(all, k)
	}
	return all
}
