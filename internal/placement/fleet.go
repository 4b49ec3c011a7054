// Package placement plans which containers stand on which host and drive, by a model's prediction of
// what they would do there together.
//
// The containers of a host, a number of each demand on each of its drives, are a filling. Equal hosts
// are of one kind, and a filling is predicted once for a kind. A plan is a number of hosts of each
// kind with each filling. The plan of a small fleet is exact, by dynamic programming over what is
// left to place. The plan of a larger one is made by column generation (Gilmore and Gomory, A linear
// programming approach to the cutting-stock problem, 1961), rounded, and then improved move by move.
//
// The package is pure.
package placement

import (
	"cmp"
	"fmt"
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
	Down       []string   // hosts and drives that failed, and are not among Hosts
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

// Objectives returns each objective and its meaning.
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

// weight returns the weight of an operation in the sum of all.
func (c *Containers) weight() float64 { return cmp.Or(c.Weight, 1) }

// Standing is equal containers that run on one host now.
type Standing struct {
	Host       string // "big-3": the third of the hosts big
	Containers int    // of the fleet's
	Drive      int    // of the host's; -1 where it has none
	Count      int
}

// roomy returns the kinds of hosts without their headroom. Hosts that share a target still do, and a target has one
// initiator: the search sets how many there are.
func (f *Fleet) roomy() (kinds []model.HostKind) {
	keep := 1 - f.Headroom
	scale := func(n *int64) { *n = int64(float64(*n) * keep) }
	targets := map[*model.Target]*model.Target{}
	for _, hosts := range f.Hosts {
		kind := hosts.Is
		host := &kind.Host
		host.CPUs, host.Machine, host.NIC = host.CPUs*keep, host.Machine*keep, host.NIC*keep
		scale(&host.MemoryBytes)
		for _, r := range []*result.Rate{&host.Read, &host.Write, &host.IO} {
			scale(&r.OperationsPerSecond)
			scale(&r.BytesPerSecond)
		}
		kind.Drives = slices.Clone(kind.Drives)
		for i := range kind.Drives {
			drive := &kind.Drives[i]
			for _, s := range []*model.Side{&drive.Is.Read, &drive.Is.Write} {
				s.IOPS, s.Bandwidth = s.IOPS*model.Number(keep), s.Bandwidth*model.Number(keep)
			}
			if drive.Target == nil {
				continue
			}
			if targets[drive.Target] == nil {
				target := *drive.Target
				target.CPUs, target.NIC, target.Initiators = target.CPUs*keep, target.NIC*keep, 1
				targets[drive.Target] = &target
			}
			drive.Target = targets[drive.Target]
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// fail takes a host out of the fleet, or, for the name of a drive, only that drive. Its containers have no host then.
// fail returns a reason if the fleet does not have the host or the drive; "" otherwise.
func (f *Fleet) fail(host, drive string) (why string) {
	k, number := f.find(host)
	if k < 0 {
		return "the fleet has no host " + host
	}
	hosts := &f.Hosts[k]
	driveNumber := -1
	if drive != "" {
		driveNumber = slices.IndexFunc(hosts.Is.Drives, func(d model.HostDrive) bool { return d.Name == drive })
		if driveNumber < 0 {
			return fmt.Sprintf("host %s has no drive %q", host, drive)
		}
		f.Down = append(f.Down, drive+" on "+host)
	} else {
		f.Down = append(f.Down, host)
	}
	var names []string
	for i := range hosts.Count {
		if i != number {
			names = append(names, hostName(hosts, i+1))
		}
	}
	var now []Standing
	for _, st := range f.Now {
		if st.Host == host && (driveNumber < 0 || st.Drive == driveNumber) {
			continue
		}
		if st.Host == host && st.Drive > driveNumber {
			st.Drive--
		}
		now = append(now, st)
	}
	f.Now = now
	rest := *hosts
	hosts.Names, hosts.Count = append([]string{}, names...), len(names)
	if driveNumber < 0 || len(rest.Is.Drives) == 1 { // nothing stands on a host without drives
		f.Now = slices.DeleteFunc(f.Now, func(st Standing) bool { return st.Host == host })
		return ""
	}
	// The host with its other drives is a kind of its own, which takes the same containers.
	rest.Names, rest.Count = []string{host}, 1
	rest.Is.Drives = slices.Delete(slices.Clone(rest.Is.Drives), driveNumber, driveNumber+1)
	f.Hosts = append(f.Hosts, rest)
	for i := range f.Containers {
		containers := &f.Containers[i]
		if containers.On != nil && slices.Contains(containers.On, k) {
			containers.On = append(slices.Clone(containers.On), len(f.Hosts)-1)
		}
	}
	return ""
}

// find returns the kind and the number, from 0, of a host; -1 for none.
func (f *Fleet) find(host string) (kind, number int) {
	for k := range f.Hosts {
		for i := range f.Hosts[k].Count {
			if hostName(&f.Hosts[k], i+1) == host {
				return k, i
			}
		}
	}
	return -1, -1
}

// sorted returns the fleet with its hosts and containers in an order that depends on what they are, and on their names
// only where they are equal; with the number of each in the fleet.
func (f *Fleet) sorted() (out *Fleet, hosts, containers []int) {
	for k := range f.Hosts {
		hosts = append(hosts, k)
	}
	for d := range f.Containers {
		containers = append(containers, d)
	}
	slices.SortStableFunc(hosts, func(a, b int) int { return f.Hosts[a].compare(&f.Hosts[b]) })
	slices.SortStableFunc(containers, func(a, b int) int { return f.Containers[a].compare(&f.Containers[b]) })
	newHost, newContainer := inverse(hosts), inverse(containers)
	numbers := func(values, places []int) (out []int) {
		for _, n := range values {
			out = append(out, places[n])
		}
		slices.Sort(out)
		return out
	}
	copied := *f
	copied.Hosts, copied.Containers, copied.Now = nil, nil, slices.Clone(f.Now)
	for _, k := range hosts {
		copied.Hosts = append(copied.Hosts, f.Hosts[k])
	}
	for _, d := range containers {
		containers := f.Containers[d]
		containers.On = numbers(containers.On, newHost)
		containers.Beside = numbers(containers.Beside, newContainer)
		containers.Away = numbers(containers.Away, newContainer)
		if containers.Drives != nil {
			drives := map[int]int{}
			for k, drive := range containers.Drives {
				drives[newHost[k]] = drive
			}
			containers.Drives = drives
		}
		copied.Containers = append(copied.Containers, containers)
	}
	for i := range copied.Now {
		copied.Now[i].Containers = newContainer[copied.Now[i].Containers]
	}
	return &copied, hosts, containers
}

// inverse returns the place of each number in a permutation.
func inverse(order []int) []int {
	out := make([]int, len(order))
	for i, n := range order {
		out[n] = i
	}
	return out
}

func (h *Hosts) compare(other *Hosts) int {
	drives := func(hosts *Hosts) string {
		text := ""
		for _, d := range hosts.Is.Drives {
			text += fmt.Sprintf("%+v %v %v\n", d.Is, d.Delay, d.Target != nil)
		}
		return text
	}
	return cmp.Or(cmp.Compare(h.Is.Host.CPUs, other.Is.Host.CPUs),
		cmp.Compare(h.Is.Host.MemoryBytes, other.Is.Host.MemoryBytes),
		cmp.Compare(h.Count, other.Count), cmp.Compare(h.price(), other.price()), cmp.Compare(drives(h), drives(other)),
		cmp.Compare(fmt.Sprintf("%+v", h.Is.Host), fmt.Sprintf("%+v", other.Is.Host)), cmp.Compare(h.Name, other.Name),
		slices.Compare(h.Names, other.Names))
}

func (c *Containers) compare(other *Containers) int {
	switches := func(containers *Containers) string {
		return fmt.Sprint(containers.Apart, len(containers.Beside), len(containers.Away), len(containers.On),
			len(containers.Drives), containers.Data, containers.Limits)
	}
	return cmp.Or(cmp.Compare(c.Class, other.Class), cmp.Compare(c.Count, other.Count),
		cmp.Compare(c.weight(), other.weight()), cmp.Compare(c.LeastRate, other.LeastRate),
		cmp.Compare(c.MostP99, other.MostP99), cmp.Compare(switches(c), switches(other)),
		cmp.Compare(c.Name, other.Name))
}
